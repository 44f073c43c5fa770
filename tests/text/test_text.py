"""Small functions over texts: what is invisible, what is the same, what it costs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Provenance
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import (
    clean,
    content_hash,
    embedded_text,
    estimate_tokens,
    normalise,
    one_line,
    preview,
    same_words,
)

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


@given(any_text)
def test_every_text_has_a_hash(text: str) -> None:
    assert len(content_hash(text)) == 64
    assert content_hash(text) != content_hash(text + "x")
