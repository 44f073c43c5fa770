"""Whole words: what forgets by a word forgets nothing that only has its letters. What shares words
with a question. And what somebody said of himself, as it is told to others."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.text.overlap import holds, shortlist
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold
from astrbot_plugin_scoped_memory.llm_memory.text.third_person import third_person
from astrbot_plugin_scoped_memory.tests.support.words import rows

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("text", "words", "parts"), rows("holds"))
def test_only_whole_words_and_numbers_are_held(text: str, words: str, parts: str) -> None:
    assert [one for one in words.split() if not holds(fold(text), fold(one))] == []
    assert [one for one in parts.split() if holds(fold(text), fold(one))] == []


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
        ("圖書館哪天不開門", 1),
        ("Does ANNA have allergies", 2),
        ("ｓｈｅｌｌｆｉｓｈ", 2),
        ("冰箱里有什么", 3),
    ],
)
def test_what_shares_the_most_comes_first(query: str, first: int) -> None:
    assert shortlist(query, [fold(text) for text in TEXTS], 10)[0] == first
    numbered = [f"第{number}号用户喜欢第{number}种茶" for number in range(1000)]
    assert shortlist("第3号用户喜欢第几种茶", numbered, 50)[0] == 3


@pytest.mark.parametrize(
    ("who", "text", "told"), [*rows("third_person"), ("", "我的车险到期", "我的车险到期")]
)
def test_the_first_person_is_the_speaker_where_no_word_is_bent(
    who: str, text: str, told: str
) -> None:
    assert third_person(text, who) == told
    assert third_person("我的车", "[老板] 说过：") == "老板 说过的车"
