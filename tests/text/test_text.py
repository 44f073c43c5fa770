"""Small functions over texts: what is invisible, the same or shared, what it costs, and what
somebody said of himself, as it is told to others."""

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
from astrbot_plugin_scoped_memory.llm_memory.text.overlap import holds, shortlist
from astrbot_plugin_scoped_memory.llm_memory.text.refusal_words import refusal_words
from astrbot_plugin_scoped_memory.llm_memory.text.safe_text import cut, safe
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold
from astrbot_plugin_scoped_memory.llm_memory.text.third_person import third_person
from astrbot_plugin_scoped_memory.llm_memory.texts import catalogue
from astrbot_plugin_scoped_memory.tests.support.words import rows

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, tzinfo=UTC)
HAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
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


@given(any_text, st.integers(1, 100))
def test_a_cleaned_text_can_be_encoded_and_a_short_one_is_one_line_that_forges_nothing(
    text: str, most: int
) -> None:
    once = clean(text)
    assert clean(once) == once
    assert once.encode("utf-8").isascii() or not set("\x00\r\u200b\u202e\ufeff") & set(once)
    assert len(one_line(text).splitlines()) <= 1
    for shown, whole in ((preview(text, most), one_line(text)), (cut(text, most), safe(text))):
        assert len(shown) <= most
        assert shown == whole or shown.endswith("…")
    assert safe(cut(text, most)) == cut(text, most)


def test_normalised_texts_are_letters_and_digits_and_tokens_are_counted() -> None:
    for text, letters in (("奶奶，對花生 过敏！", "奶奶对花生过敏"), ("ＡＢ c", "abc"), ("……", "")):
        assert normalise(text) == letters
    for text, tokens in (("", 0), ("奶奶", 2), ("abcd", 1), ("abcde", 2), ("奶ab", 2), ("カナ", 2)):
        assert estimate_tokens(text) == tokens


def test_the_same_words_are_the_same_without_the_full_stop_script_and_blanks() -> None:
    for one, other in (
        ("奶奶对花生过敏", "奶奶對花生過敏。"),
        ("奶奶  对花生过敏\n", "奶奶 对花生过敏"),
        ("The door is green.", "The door is green"),
        ("周五开会！", "周五开会"),
    ):
        assert same_words(one) == same_words(other)
    for one, other in rows("not_same_words"):
        assert same_words(one) != same_words(other)


def test_the_speaker_and_the_tags_are_embedded_in_one_script_and_the_reasoning_is_not() -> None:
    told = Memory(
        "m-0000", "對貓毛\n过敏", NOW, "因为", ("健康",), provenance=Provenance(who="小明")
    )
    assert embedded_text(told) == "小明: 对猫毛 过敏 健康"
    assert embedded_text(Memory("m-0000", "x", NOW)) == "x"


@pytest.mark.parametrize("code", [one for one in catalogue("zh-CN") if one.startswith("reject.")])
def test_each_reason_is_told_in_one_language_with_what_is_filled_in(code: str) -> None:
    said = refusal_words(Refused(code.removeprefix("reject."), detail="{0.__class__}"))
    zh, en = said.text("zh"), said.text("en")
    assert HAN.search(zh) and not HAN.search(en)
    assert zh.count("{0.__class__}") == en.count("{0.__class__}") == zh.count("{")


def test_only_whole_words_and_numbers_are_held() -> None:
    for text, words, parts in rows("holds"):
        assert [one for one in words.split() if not holds(fold(text), fold(one))] == []
        assert [one for one in parts.split() if holds(fold(text), fold(one))] == []


TEXTS = [
    "奶奶对花生过敏",
    "图书馆周一闭馆",
    "Anna is allergic to shellfish",
    "花生酱在冰箱里",
    "😀",
]


def test_what_shares_the_most_comes_first() -> None:
    for query, first in rows("shares"):
        assert shortlist(query, [fold(text) for text in TEXTS], 10)[0] == int(first)
    numbered = [f"第{number}号用户喜欢第{number}种茶" for number in range(1000)]
    assert shortlist("第3号用户喜欢第几种茶", numbered, 50)[0] == 3


def test_the_first_person_is_the_speaker_where_no_word_is_bent() -> None:
    for who, text, told in rows("third_person"):
        assert third_person(text, who) == told
    assert third_person("我的车险到期", "") == "我的车险到期"
    assert third_person("我的车", "[老板] 说过：") == "老板 说过的车"
