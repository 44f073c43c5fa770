"""A statement is its words in their order: what may differ, and that nothing else may."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.numerals import han_number, narrowed, number
from astrbot_plugin_scoped_memory.llm_memory.text.statements import agree, extends, statement
from astrbot_plugin_scoped_memory.tests.support.words import rows

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, 18, tzinfo=UTC)


def says_the_same(one: str, other: str, *, later: timedelta = timedelta()) -> bool:
    return agree(statement(one, NOW).words, statement(other, NOW + later).words)


def test_known_harmless_differences_are_forgiven_and_all_others_are_differences() -> None:
    for one, other in rows("same"):
        assert says_the_same(one, other) and says_the_same(other, one), (one, other)
    for one, other in rows("different"):
        assert not says_the_same(one, other), (one, other)


def test_tomorrow_said_on_two_days_is_two_days() -> None:
    assert says_the_same("明天去医院", "今天去医院", later=timedelta(days=1))
    assert not says_the_same("明天去医院", "明天去医院", later=timedelta(days=1))


def test_what_begins_with_all_of_it_and_only_adds_extends_it() -> None:
    for section in ("extends", "not_extends"):
        for short, long in rows(section):
            extended = extends(statement(long, NOW), statement(short, NOW))
            assert extended is (section == "extends"), long


WORDS = st.lists(
    st.sampled_from(["我", "不", "喜欢", "猫", "也", "会", "已经", "12", "三", "，", " a's"])
)


@given(WORDS, st.text(max_size=80), st.data())
def test_agreeing_goes_both_ways_and_every_text_agrees_with_itself(
    words: list[str], text: str, data: st.DataObject
) -> None:
    other = [word for word in words if data.draw(st.booleans())]
    one, short = "".join(words), "".join(other)
    assert says_the_same(one, short) == says_the_same(short, one)
    assert says_the_same(text, text)


def test_a_text_of_possessives_and_commas_is_only_long() -> None:
    words = statement("a" + "'s" * 5_000 + ",猫" * 2_000, NOW)
    assert agree(words.words, words.words)
    assert not extends(words, words)


def test_chinese_numerals_have_their_value() -> None:
    for text, value in rows("numerals"):
        assert han_number(text) == (int(value) if value else None), text
    assert han_number("") is None


@given(st.integers(1, 99_999), st.text())
def test_a_number_written_in_chinese_is_that_number_and_narrow_text_keeps_its_places(
    value: int, text: str
) -> None:
    digits, units, said = "零一二三四五六七八九", ["", "十", "百", "千", "万"], ""
    for place in range(len(str(value)) - 1, -1, -1):
        digit = value // 10**place % 10
        said += digits[digit] + (units[place] if digit else "")
    while "零零" in said:
        said = said.replace("零零", "零")
    assert han_number(said.rstrip("零")) == value
    assert len(narrowed(text)) == len(text)


def test_digits_and_english_words_are_numbers_too() -> None:
    words = ("42", "twelve", "Forty", "cat", "9" * 19)
    assert [number(word) for word in words] == [42, 12, 40, None, None]
