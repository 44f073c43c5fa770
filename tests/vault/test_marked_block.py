"""Between its marks the bot writes what it likes; not a byte of a person's beside them changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.marked_block import (
    BEGIN,
    END,
    Damaged,
    Marked,
    Unmarked,
    content_of,
    harmless,
    outside,
    persons_text,
    put,
    read,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

words = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\n\r\t #-<>!^\ufeff")),
    max_size=80,
)
marks = st.sampled_from(
    [BEGIN, END, f"{BEGIN}\n", f"\n{END}\n", "<!-- scoped-memory:end", "<!--scoped-memory:begin-->"]
)
contents = st.lists(st.one_of(words, marks), max_size=5).map("".join)
own = st.lists(words, max_size=4).map("".join)
files = st.lists(st.one_of(words, marks), max_size=6).map("".join)


@given(own, contents)
def test_a_file_without_marks_keeps_all_it_had_and_gets_a_block_behind(
    text: str, content: str
) -> None:
    if not isinstance(read(text), Unmarked):
        return
    whole = put(text, content, title="")
    assert whole is not None
    assert whole.startswith(text)
    assert isinstance(read(whole), Marked)
    assert content_of(whole) == harmless(content)


@given(
    own, own, contents, contents, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"])
)
def test_what_stands_beside_the_marks_stays_byte_by_byte(
    before: str, after: str, first: str, second: str, newline: str, bom: str
) -> None:
    text = f"{bom}{before}{newline}{BEGIN}{newline}{END}{newline}{after}"
    if not isinstance(read(text), Marked):
        return
    once = put(text, first)
    assert once is not None
    twice = put(once, second)
    assert twice is not None
    head, tail = f"{bom}{before}{newline}{BEGIN}{newline}", f"{END}{newline}{after}"
    for whole in (once, twice):
        assert whole.encode().startswith(head.encode())
        assert whole.encode().endswith(tail.encode())
    assert content_of(twice) == harmless(second)
    assert put(once, first) == once
    assert outside(once) == outside(twice)


@given(files, contents)
def test_a_file_with_damaged_marks_is_left_alone(text: str, content: str) -> None:
    whole = put(text, content)
    if isinstance(read(text), Damaged):
        assert whole is None
        assert outside(text) is None
    else:
        assert whole is not None
        assert isinstance(read(whole), Marked)


@pytest.mark.parametrize(
    "text",
    [
        f"{BEGIN}\nx\n",
        f"x\n{END}\n",
        f"{END}\n{BEGIN}\n",
        f"{BEGIN}\n{BEGIN}\n{END}\n",
        f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n",
    ],
)
def test_half_a_pair_two_pairs_and_a_pair_in_the_wrong_order_are_damage(text: str) -> None:
    assert isinstance(read(text), Damaged)


@given(own.filter(lambda text: text.strip()), own, contents)
def test_what_a_person_wrote_keeps_its_line_and_the_block_leaves_none(
    before: str, after: str, content: str
) -> None:
    whole = put(f"第一行\n{before}\n{BEGIN}\n{END}\n{after}", content)
    if whole is None or not isinstance(read(whole), Marked):
        return
    shown = persons_text(whole)
    assert shown is not None
    pairs = list(zip(whole.split("\n"), shown.split("\n"), strict=True))
    assert all(line in ("", said) for said, line in pairs)
    assert "\n".join(line for _, line in pairs if line.strip()) == "\n".join(
        line for line in f"第一行\n{before}\n{after}".split("\n") if line.strip()
    )


def test_a_page_with_only_a_title_of_its_own_says_nothing() -> None:
    text = f"\ufeff# 记忆\r\n\r\n{BEGIN}\r\n机器人的\r\n{END}\r\n"
    assert persons_text(text) == ""
    assert persons_text("# 记忆\n") == "# 记忆\n"
    assert persons_text(f"{BEGIN}\n机器人的\n") is None


def test_what_a_person_wrote_beside_the_block_can_be_told_from_it() -> None:
    text = f"\ufeff# 我的\r\n{BEGIN}\r\n机器人的\r\n{END}\r\n也是我的\r\n"
    assert outside(text) == "# 我的\n也是我的\n"
    assert content_of(text) == "机器人的\n"
