"""Small functions over texts: what is invisible, what is the same or shared, what it costs."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    Provenance,
    Refused,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import (
    clean,
    embedded_text,
    estimate_tokens,
    normalise,
    one_line,
    preview,
    same_words,
)
from astrbot_plugin_scoped_memory.llm_memory.text.overlap import shortlist
from astrbot_plugin_scoped_memory.llm_memory.text.refusal_words import refusal_words
from astrbot_plugin_scoped_memory.llm_memory.text.safe_text import cut, safe
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold
from astrbot_plugin_scoped_memory.llm_memory.texts import catalogue

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, tzinfo=UTC)
any_text = st.text(st.characters(), max_size=80)


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("\u200b奶\u2060奶\ufeff", "奶奶"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x00\x1b[31mred\x7f", "[31mred"),
        ("\u202etxt.exe\u202c", "txt.exe"),
        ("a\U000e0041\U000e007fb", "ab"),
        ("半\ud83d个", "半个"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        (" \t x \n ", "x"),
        ("a\tb", "a\tb"),
    ],
)
def test_what_nobody_can_see_is_taken_out(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


@given(any_text)
def test_a_cleaned_text_is_clean_and_can_be_encoded(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    once.encode("utf-8")
    assert not set("\x00\r\u200b\u202e\ufeff") & set(once)


@given(any_text)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert one_line(one_line(text)) == one_line(text)


@given(any_text, st.integers(0, 100))
def test_a_preview_is_one_line_of_at_most_its_length(text: str, limit: int) -> None:
    shown = preview(text, limit)
    assert len(shown) <= max(limit, 1)
    assert len(shown.splitlines()) <= 1
    assert shown == one_line(text) or shown.endswith("…")


@pytest.mark.parametrize(
    ("text", "letters"),
    [("奶奶，对花生 过敏！", "奶奶对花生过敏"), ("ＡＢ c", "abc"), ("……！？", ""), ("\u200b", "")],
)
def test_normalised_texts_are_letters_and_digits(text: str, letters: str) -> None:
    assert normalise(text) == letters


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("奶奶对花生过敏", "奶奶对花生过敏。"),
        ("奶奶  对花生过敏\n", "奶奶 对花生过敏"),
        ("The door is green.", "The door is green"),
        ("周五开会！", "周五开会"),
    ],
)
def test_the_same_words_are_the_same_without_the_full_stop_and_blanks(one: str, other: str) -> None:
    assert same_words(one) == same_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("每次吃3.5毫克", "每次吃35毫克"),
        ("冷库是-5度", "冷库是5度"),
        ("门牌是1/2号", "门牌是12号"),
        ("面积10²米", "面积102米"),
        ("小明喜欢C++", "小明喜欢C#"),
        ("小明喜欢C#", "小明喜欢C"),
        ("密码是Abc", "密码是abc"),
        ("今天的心情😀", "今天的心情😢"),
        ("奶奶对花生过敏", "奶奶对花生过敏？"),
        ("他说“不”，行", "他说不行"),
        ("不，可以", "不可以"),
        ("a b", "ab"),
    ],
)
def test_what_may_mean_something_else_is_not_the_same(one: str, other: str) -> None:
    assert same_words(one) != same_words(other)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("奶奶", 2), ("abcd", 1), ("abcde", 2), ("奶ab", 2), ("カナ", 2)]
)
def test_tokens_are_one_a_han_character_and_one_for_four_others(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_the_speaker_and_the_tags_are_embedded_and_the_reasoning_is_not() -> None:
    memory = Memory(
        "m-0000", "对猫毛\n过敏", NOW, "因为", ("健康",), provenance=Provenance(who="小明")
    )
    assert embedded_text(memory) == "小明: 对猫毛 过敏 健康"
    assert embedded_text(Memory("m-0000", "x", NOW)) == "x"


TEXTS = [
    "奶奶对花生过敏",
    "图书馆周一闭馆",
    "Anna is allergic to shellfish",
    "花生酱在冰箱里",
    "😀",
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("给奶奶做饭，菜里能放花生吗", 0),
        ("图书馆哪天不开门", 1),
        ("Does ANNA have allergies", 2),
        ("ｓｈｅｌｌｆｉｓｈ", 2),
        ("冰箱里有什么", 3),
    ],
)
def test_what_shares_the_most_comes_first(query: str, first: int) -> None:
    assert shortlist(query, [fold(text) for text in TEXTS], 10)[0] == first


def test_a_number_is_compared_as_a_whole() -> None:
    texts = [f"第{number}号用户喜欢第{number}种茶" for number in range(1000)]
    assert shortlist("第3号用户喜欢第几种茶", texts, 50)[0] == 3
    assert shortlist("电话13812345678是谁的", ["13812345678", "13812345679"], 5) == [0]


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=10), st.integers(0, 5))
def test_places_are_different_in_range_and_within_the_limit(
    query: str, texts: list[str], limit: int
) -> None:
    places = shortlist(query, texts, limit)
    assert len(places) <= limit
    assert len(set(places)) == len(places)
    assert all(0 <= place < len(texts) for place in places)


@given(
    st.text(alphabet="奶花生过敏猫狗ab ", min_size=1, max_size=12), st.lists(st.text(), max_size=5)
)
def test_the_same_words_are_always_on_a_long_enough_list(text: str, others: list[str]) -> None:
    if text.strip():
        assert len(others) in shortlist(text, [*others, fold(text)], len(others) + 1)


HAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


REASONS = [
    code.removeprefix("reject.") for code in catalogue("zh-CN") if code.startswith("reject.")
]


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_is_told_in_one_language_with_what_is_filled_in(reason: str) -> None:
    said = refusal_words(Refused(reason, detail="{0.__class__}"))
    zh, en = said.text("zh"), said.text("en")
    assert HAN.search(zh)
    assert not HAN.search(en)
    assert zh.count("{0.__class__}") == en.count("{0.__class__}") == zh.count("{")


@given(st.text(max_size=120), st.integers(1, 100))
def test_what_is_cut_shows_its_end_and_forges_nothing(text: str, most: int) -> None:
    shown = cut(text, most)
    assert shown == (safe(text) if len(safe(text)) <= most else f"{shown[:-1]}…")
    assert len(shown) <= most
    assert safe(shown) == shown
