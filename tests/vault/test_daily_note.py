"""A role's daily note: blocks that a person can read, each found as it was written."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.normalising import normalise
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.appended_block import open_fence
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.daily_note import (
    MOST_LINES,
    day_title,
    holds,
    memory_lines,
    note_block,
    note_name,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

AT = datetime(2026, 11, 27, 14, 5, tzinfo=timezone(timedelta(hours=8)))
words = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        st.sampled_from(
            ["\n## 09:00 · qa · x\n", "```\n", "<!--", "\nx\n=\n", "\n", "<pre>", "- "]
        ),
    ),
    max_size=5,
).map("".join)
newlines = st.sampled_from(["\n", "\r\n"])


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
    assert file == "# 2026-11-27\n\n## 14:05 · 后端 · cc\n接好了；跑了 300 个用例。\n剩下的。\n"


def test_the_memory_of_a_role_is_the_newest_first_sentences() -> None:
    day = day_title(AT) + "\n" + note_block("改了 v1.2. Then more.", AT, "b", "c")
    day += "\n## 15:00 · b · c\n" + "长" * 200 + "\n"
    files = {"2026-11-27.md": day, "2026-11-26.md": "## 09:00 · b\n第一句。第二句。\n"}
    assert memory_lines({**files, "plans.md": "## 10:00 · b\nx\n"}) == (
        f"- 2026-11-27 15:00 {'长' * 119}… (2026-11-27.md)\n"
        "- 2026-11-27 14:05 改了 v1.2. (2026-11-27.md)\n"
        "- 2026-11-26 09:00 第一句。 (2026-11-26.md)\n"
    )
    many = "\n".join(f"## 10:{minute} · b\nx\n" for minute in range(10, 50))
    assert memory_lines({"2026-11-27.md": many}).count("\n") == MOST_LINES
