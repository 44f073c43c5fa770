"""What is appended to a person's page, a record or a block of a daily note, is found as it was
written, and no words forge, hide or cut another one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.decisions import (
    Reference,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import clean, normalise, one_line
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.appended_block import open_fence
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.chunks import chunk_markdown
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.daily_note import (
    MOST_LINES,
    day_title,
    holds,
    memory_lines,
    note_block,
    note_name,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.decision_record import (
    LONGEST_TITLE,
    FoundRecord,
    Record,
    numbers_in,
    records_of,
    render,
    settled_by,
    state_of,
    title_and_body,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

AT = datetime(2026, 11, 23, 12, 40, tzinfo=timezone(timedelta(hours=8)))
_HOSTILE = [
    "## D-0001 x",
    "\n## D-9999 forged\n> 已接受 · 接受：谁",
    "\nD-9999\n---\n",
    "\nD-9999\n=\n",
    "\n## 09:00 · qa · x\n",
    "\nx\n=\n",
    "- ",
    "```\n",
    "~~~",
    "- ```\n",
    "<!-- ",
    "-->",
    "<pre>\n",
    "<script>",
    "---\n",
    "...\n",
    "> ",
    "| a |\n|---|\n",
    " · 取代：D-0001",
    "^m-01jd3q8z7k2ab4cd",
    "\\",
    "\r\n",
    "\u2028",
]
_PLAIN = st.characters(exclude_categories=["Cs"])
pieces = st.one_of(st.text(_PLAIN, max_size=12), st.sampled_from(_HOSTILE))
words = st.lists(pieces, max_size=5).map("".join)
names = words.map(lambda text: one_line(clean(text)))
numbers = st.integers(1, 99999)
records = st.builds(
    Record,
    number=numbers,
    title=names,
    at=st.just(AT),
    by=names,
    reference=st.builds(Reference, names, names),
    supersedes=st.just(0) | numbers,
    withdraws=st.just(0) | numbers,
    proposal=st.sampled_from(["", "sha256:1f0c4e5aa0b1c2d3e4f5"]),
    body=words.map(clean),
)
newlines = st.sampled_from(["\n", "\r\n"])


def below(text: str, payload: str, newline: str = "\n") -> str:
    """Returns the file with an empty line and the payload at its end, as it is appended."""
    return text + newline * (1 if text.endswith("\n") else 2) + payload if text else payload


@given(records, st.booleans(), newlines)
def test_a_record_is_read_as_it_was_written(record: Record, english: bool, newline: str) -> None:
    text = render(record, english=english, newline=newline)
    lines = text.count("\n")
    assert records_of(text) == (FoundRecord(record, 1, lines),)


@given(st.lists(records, min_size=1, max_size=4), words, st.booleans(), newlines)
def test_below_any_text_of_a_person_each_record_is_found_and_no_other(
    some: list[Record], person: str, english: bool, newline: str
) -> None:
    assume(open_fence(person) is None and not records_of(person))
    text = person
    for record in some:
        text = below(text, render(record, english=english, newline=newline), newline)
        assert open_fence(text) is None
    assert text.startswith(person)
    assert [found.record for found in records_of(text)] == some


@given(words)
def test_where_something_is_open_a_record_would_not_be_found(person: str) -> None:
    line = open_fence(person)
    text = below(person, render(Record(7, "检索面用 PostgreSQL", AT)))
    assert (line is None) == any(one.record.number == 7 for one in records_of(text)[-1:])
    assert line is None or 1 <= line <= len(person.split("\n"))


@given(records, words)
def test_a_record_is_one_section(record: Record, person: str) -> None:
    """No line of it is a heading of its own, so a pointer opens all of it."""
    text = render(record)
    headings = {chunk.headings for chunk in chunk_markdown(text)}
    assert len(headings) == 1


def test_the_bytes_of_a_record() -> None:
    record = Record(
        7,
        "检索面用 PostgreSQL",
        AT,
        by="小明",
        reference=Reference("#12", "#34"),
        supersedes=3,
        proposal="sha256:1f0c4e",
        body="连接池已经有了，不必再加一套。",
    )
    assert render(record) == (
        "## D-0007 检索面用 PostgreSQL\n"
        "> 已接受 · 2026-11-23T12:40:00+08:00 · 接受：小明 · Issue：#12 · PR：#34 · 取代：D-0003"
        " · 提案：sha256:1f0c4e\n\n连接池已经有了，不必再加一套。\n"
    )
    withdrawal = Record(9, "Withdraws D-0003", AT, by="Ann", withdraws=3)
    assert render(withdrawal, english=True, newline="\r\n") == (
        "## D-0009 Withdraws D-0003\r\n"
        "> Withdrawn · 2026-11-23T12:40:00+08:00 · By: Ann · Withdraws: D-0003\r\n"
    )


def test_what_a_person_leaves_of_a_record_still_has_its_number() -> None:
    text = "# 决定\n\n## D-0012 改过的题目\n没有第二行了。\n\n### 小节\n\n## 别的\n"
    ((record, first, last),) = [(f.record, f.first, f.last) for f in records_of(text)]
    assert (record.number, record.title, record.at, first, last) == (12, "改过的题目", None, 3, 7)


def test_a_number_is_taken_also_where_it_only_stands_in_a_fence() -> None:
    assert numbers_in("## D-0003 a\n```\n## D-0041 b\n```\n<!--\n# D-0012\n-->\n") == {3, 41, 12}
    assert numbers_in("D-0009 in a line, and # D-12") == set()


def test_a_record_is_in_force_until_a_later_one_settles_it() -> None:
    known = [
        Record(1, "a", AT),
        Record(2, "b", AT, supersedes=1),
        Record(3, "c", AT, withdraws=2),
        Record(4, "d", AT, supersedes=9, withdraws=4),  # neither an earlier one
    ]
    settled = settled_by(reversed(known))
    assert [state_of(record, settled) for record in known] == [
        "superseded",
        "withdrawn",
        "accepted",
        "accepted",
    ]


def test_a_long_judgment_is_the_beginning_of_the_body() -> None:
    assert title_and_body("用  PostgreSQL。\n", "因为。 ") == ("用 PostgreSQL。", "因为。")
    long = "先用内存里的索引。" + "以后再说这件事，" * 20
    title, body = title_and_body(long, "因为。")
    assert title == "先用内存里的索引。"
    assert body == f"{long}\n\n因为。"
    title, _ = title_and_body("啊" * 300, "")
    assert title == "啊" * (LONGEST_TITLE - 1) + "…"


def test_a_record_whose_time_has_no_zone_has_none() -> None:
    (found,) = records_of("## D-0001 a\n> 已接受 · 2026-11-23T12:40:00\n")
    assert found.record.at is None
    (found,) = records_of("## D-0001 a\n> Accepted · 2026-11-23T12:40:00+00:00\n")
    assert found.record.at == datetime(2026, 11, 23, 12, 40, tzinfo=UTC)


def test_both_records_stand_when_git_keeps_the_lines_of_two_branches() -> None:
    both = [Record(1, title, AT, by="Ada", body="Because.") for title in ("one", "other")]
    merged = "# Decisions\n\n" + "".join(map(render, both))  # a union leaves no blank line between
    assert [found.record for found in records_of(merged)] == both
    assert numbers_in(merged) == {1}


# The blocks of a role's daily note


@given(st.lists(words.filter(normalise), min_size=1, max_size=4), words, words, newlines)
def test_each_block_is_found_and_no_text_makes_another(
    notes: list[str], role: str, person: str, newline: str
) -> None:
    file = day_title(AT, newline=newline) + person
    assume(open_fence(file) is None and not memory_lines({note_name(AT): file}))
    for note in notes:
        gap = newline * (1 if file.endswith("\n") else 2)
        file += gap + note_block(note, AT, role, "cursor", newline=newline)
    assert all(holds(file, note) for note in notes)
    assert memory_lines({note_name(AT): file}).count("\n") == len(notes)
    assert not holds(file, "something else that nobody said")


def test_the_bytes_of_a_day() -> None:
    file = day_title(AT)
    file += "\n" + note_block("接好了；跑了 300 个用例。\n剩下的。", AT, "后端", "cc")
    assert file == "# 2026-11-23\n\n## 12:40 · 后端 · cc\n接好了；跑了 300 个用例。\n剩下的。\n"


def test_the_memory_of_a_role_is_the_newest_first_sentences() -> None:
    day = day_title(AT) + "\n" + note_block("改了 v1.2. Then more.", AT, "b", "c")
    day += "\n## 15:00 · b · c\n" + "长" * 200 + "\n"
    files = {"2026-11-23.md": day, "2026-11-22.md": "## 09:00 · b\n第一句。第二句。\n"}
    assert memory_lines({**files, "plans.md": "## 10:00 · b\nx\n"}) == (
        f"- 2026-11-23 15:00 {'长' * 119}… (2026-11-23.md)\n"
        "- 2026-11-23 12:40 改了 v1.2. (2026-11-23.md)\n"
        "- 2026-11-22 09:00 第一句。 (2026-11-22.md)\n"
    )
    many = "\n".join(f"## 10:{minute} · b\nx\n" for minute in range(10, 50))
    assert memory_lines({"2026-11-23.md": many}).count("\n") == MOST_LINES
