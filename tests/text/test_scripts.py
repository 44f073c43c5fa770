"""Traditional and simplified Chinese meet wherever texts are compared or read by patterns."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import MemoryKind
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryDraft
from astrbot_plugin_scoped_memory.llm_memory.recall.patterns import HEADS
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.asked import asked_for, asked_of_days
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules import due, figures, grounding, guards
from astrbot_plugin_scoped_memory.llm_memory.remember.rules import contradiction, gate, private
from astrbot_plugin_scoped_memory.llm_memory.text import overlap, same_meaning, stated, stop_words
from astrbot_plugin_scoped_memory.llm_memory.text.dates import (
    date_annotation,
    expressions,
    lasting,
    words,
)
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold, normalise, simplified
from astrbot_plugin_scoped_memory.llm_memory.text.statements import statement
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.support.dictionary import digested_dictionary
from astrbot_plugin_scoped_memory.tests.support.words import traditional

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DATA = Path(__file__).parents[1] / "data"
TOKENIZER = Tokenizer(cache=digested_dictionary())

WORDS = [
    *HEADS["zh"], *stop_words.CHINESE, *same_meaning.SYNONYMS, *same_meaning.TURNS,
    *words.DAY_WORDS, *words.VAGUE, *words.FEASTS,
]  # fmt: skip
"""By which the engine reads what people write."""


def sentences(name: str) -> list[str]:
    """What people and programs say."""
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    found = (one for line in lines for one in json.loads(line).values())
    return sorted({one for one in found if isinstance(one, str) and not one.isascii()})[::4]


ASKED = [
    *("今天我们聊了什么", "上周我们做了什么", "我有什么偏好", "还有哪些待办", "做了什么决定"),
    *("你知道我什么", "介绍一下大伟", "最近发生了什么", "大伟现在住哪", "后天有什么安排", "那他呢"),
    *("谁对花生过敏", "前天下午三点开会了吗", "下个月几号还钱", "以后回答不要超过三句话"),
]


def readings(text: str) -> dict[str, object]:
    """All that is read in a text."""
    spans = expressions.find_times(text, NOW)
    return {
        "asks": stated.asks(text),
        "moods": [(fold(clause), mood) for clause, mood in stated.read(text)],
        "supposes": stated.supposes(text),
        "times": [(one.start, one.end, one.first, one.last) for one in spans],
        "towards": expressions.towards(text),
        "lasts": lasting.end_of(text, NOW),
        "dated": fold(date_annotation.resolve_dates(text, NOW, weekdays=True)),
        "statement": statement(text, NOW),
        "content": overlap.content(text),
        "tokens": TOKENIZER.query_tokens(text),
        "asked for": asked_for(fold(text)),
        "of days": asked_of_days(fold(text), asks=True, ahead=True),
        "order": gate.order_like(text),
        "quotation": gate.is_quotation([text], trusted=True),
        "confidence": gate.is_confidence(text),
        "off the record": gate.is_off_the_record(text),
        "of the last": gate.drops_the_last(text),
        "forget": gate.asks_to_forget(text),
        "nothing": gate.says_nothing(text),
        "passing": {why: fold(words) for why, words in gate.passing(text).items()},
        "topic": gate.route(MemoryKind.KNOWLEDGE, text, trusted=True),
        "private": private.find(text),
        "taken back": fold(repr(contradiction.takes_back(MemoryDraft(text)))),
        "rules": [fold(one) for one in guards.rules_said(text)],
        "figures": figures.figures(text, NOW),
        "denials": grounding.denials(text),
        "tells": due.tells_something(text),
    }  # fmt: skip


@pytest.mark.parametrize(
    "texts",
    [ASKED, WORDS, *map(sentences, ("privacy", "attacks", "dedup_pairs", "soul_harmless"))],
    ids=("asked", "words", "privacy", "attacks", "pairs", "wishes"),
)
def test_a_text_is_read_alike_in_both_scripts(texts: list[str]) -> None:
    wrong = []
    for text in texts:
        mine, yours = readings(text), readings(traditional(text))
        wrong += [(text, kind) for kind in mine if mine[kind] != yours[kind]]
    assert not wrong


@given(st.text())
def test_the_other_script_takes_as_many_characters_and_is_left_once(text: str) -> None:
    plain = simplified(text)
    assert len(plain) == len(text) and simplified(plain) == plain
    assert fold(traditional(plain)) == fold(plain) == fold(fold(text))
    assert normalise(traditional(text)) == normalise(text)


def test_the_words_of_the_engine_are_written_in_the_script_that_texts_are_read_in() -> None:
    assert [one for one in WORDS if simplified(one) != one] == []


def test_one_character_stands_for_several() -> None:
    assert fold("後天幹嘛，乾杯，裡裏，甚麼，妳牠，一隻貓在臺灣著涼") == fold(
        "后天干嘛，干杯，里里，什么，你它，一只猫在台湾着凉"
    )
