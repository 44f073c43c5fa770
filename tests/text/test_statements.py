"""A statement is its words in their order: what may differ, and that nothing else may."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.numerals import han_number, narrowed, number
from astrbot_plugin_scoped_memory.llm_memory.text.statements import agree, extends, statement

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, 18, tzinfo=UTC)


def says_the_same(one: str, other: str, *, later: timedelta = timedelta()) -> bool:
    return agree(statement(one, NOW).words, statement(other, NOW + later).words)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("小明对花生过敏", "小明吃花生会过敏"),
        ("我很喜欢猫", "我喜欢猫"),
        ("妈妈的生日是五月二号", "妈妈的生日是5月2号"),
        ("报名费是１２０元", "报名费120块钱"),
        ("房租1,200元", "房租1200元"),
        ("公司离家5km", "公司离家5公里"),
        ("明天我去医院", "我明天去医院"),
        ("我明天去医院", "我明天（2026-11-22）去医院"),
        ("2026年5月2日结婚", "2026-05-02 结婚"),
        ("Ben doesn't eat meat", "Ben does not eat meat."),
        ("请记住：我的房间号是301", "我的房间号是301"),
        ("Remember that my room is 301", "My room is 301"),
        ("明天会下雨", "明天下雨"),
        ("The Cat is red", "the Cat is red"),
        ("I’m happy", "I am happy"),
        ("My mom can't swim", "My mother cannot swim"),
    ],
)
def test_known_harmless_differences_are_forgiven(one: str, other: str) -> None:
    assert says_the_same(one, other)
    assert says_the_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("版本2.0.1", "版本2.01"),
        ("密码aB3x9", "密码AB3x9"),
        ("I met May", "I met may"),
        ("C++", "C#"),
        ("气温-5度", "气温5度"),
        ("3:30开会", "330开会"),
        ("我不很喜欢他", "我不喜欢他"),
        ("我不是很喜欢他", "我不喜欢他"),
        ("我们都不喜欢他", "我们不都喜欢他"),
        ("我不会游泳", "我不游泳"),
        ("我没记住密码", "我没密码"),
        ("I do not remember Anna", "I do not Anna"),
        ("他会来", "他已经来"),
        ("他来?", "他来"),
        ("昨天买今天退", "今天买昨天退"),
        ("😀", "😡"),
    ],
)
def test_what_is_not_known_to_be_harmless_is_a_difference(one: str, other: str) -> None:
    assert not says_the_same(one, other)


def test_tomorrow_said_on_two_days_is_two_days() -> None:
    assert says_the_same("明天去医院", "今天去医院", later=timedelta(days=1))
    assert not says_the_same("明天去医院", "明天去医院", later=timedelta(days=1))


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        ("我住在杭州", "我住在杭州，小区叫桂花苑", True),
        ("我喜欢猫，也喜欢狗", "我喜欢猫，喜欢狗，喜欢鸟", True),
        ("I live in Oslo", "I live in Oslo. It is cold", True),
        ("我住在杭州", "我住在杭州", False),
        ("我住在杭州", "听说，我住在杭州", False),
        ("我住在杭州", "我住在杭州的时候，喜欢爬山", False),
        ("我喜欢猫", "我喜欢猫，但是现在养狗", False),
        ("我喜欢猫", "我喜欢猫，不是", False),
        ("I like cats", "I like cats, not dogs", False),
        ("房间301", "房间302，在三楼", False),
    ],
)
def test_what_begins_with_all_of_it_and_only_adds_extends_it(
    short: str, long: str, expected: bool
) -> None:
    assert extends(statement(long, NOW), statement(short, NOW)) is expected


@given(st.text(max_size=80))
def test_every_text_agrees_with_itself(text: str) -> None:
    assert says_the_same(text, text)


WORDS = st.lists(
    st.sampled_from(["我", "不", "喜欢", "猫", "也", "会", "已经", "12", "三", "，", " a's"])
)


@given(WORDS, st.data())
def test_agreeing_goes_both_ways(words: list[str], data: st.DataObject) -> None:
    other = [word for word in words if data.draw(st.booleans())]
    one, short = "".join(words), "".join(other)
    assert says_the_same(one, short) == says_the_same(short, one)


def test_a_text_of_possessives_and_commas_is_only_long() -> None:
    words = statement("a" + "'s" * 5_000 + ",猫" * 2_000, NOW)
    assert agree(words.words, words.words)
    assert not extends(words, words)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("零", 0), ("十", 10), ("二十一", 21), ("一百零五", 105), ("一百五", 150), ("两千", 2000),
        ("三万五", 35_000), ("三万零五", 30_005), ("一万五千", 15_000), ("二〇二六", 2026),
        ("一亿", 100_000_000), ("千", 1000), ("十万", 100_000), ("", None), ("三五百", None),
        ("猫", None),
    ],
)  # fmt: skip
def test_chinese_numerals_have_their_value(text: str, value: int | None) -> None:
    assert han_number(text) == value


@given(st.integers(1, 99_999))
def test_a_number_written_in_chinese_is_that_number(value: int) -> None:
    assert han_number(in_chinese(value)) == value


def in_chinese(value: int) -> str:
    """The textbook form, ``10010`` as 一万零一十."""
    digits = "零一二三四五六七八九"
    units = ["", "十", "百", "千", "万"]
    text = ""
    for place in range(len(str(value)) - 1, -1, -1):
        digit = value // 10**place % 10
        text += digits[digit] + (units[place] if digit else "")
    while "零零" in text:
        text = text.replace("零零", "零")
    return text.rstrip("零")


def test_digits_and_english_words_are_numbers_too() -> None:
    assert [number(word) for word in ("42", "twelve", "Forty", "cat", "9" * 19)] == [
        42, 12, 40, None, None,
    ]  # fmt: skip


@given(st.text())
def test_narrow_text_keeps_its_places(text: str) -> None:
    assert len(narrowed(text)) == len(text)
