"""How much of a question a record speaks of: the measure behind the floor of relevance, and what a
scan by it finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.question import Question, says
from astrbot_plugin_scoped_memory.llm_memory.index.records import WordQuery, WordRecord
from astrbot_plugin_scoped_memory.llm_memory.index.scoring import AROUND, LEAST, LONG, coverage
from astrbot_plugin_scoped_memory.llm_memory.index.words import coverages
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

pytestmark = pytest.mark.unit

WEIGHT = st.floats(0.1, 20)
SHORT = 10.0


def covered(weights: list[float], holds: list[float], length: float = SHORT) -> float:
    """Of one document; all tokens are asked for."""
    (share,) = coverage(
        np.array(weights),
        np.ones(len(weights), dtype=bool),
        np.array(holds).reshape(-1, 1),
        np.array([length]),
    )
    return float(share)


@given(st.lists(WEIGHT, min_size=1, max_size=12), st.data())
def test_who_says_more_of_a_question_covers_more_of_it(
    weights: list[float], data: st.DataObject
) -> None:
    flags = st.lists(st.booleans(), min_size=len(weights), max_size=len(weights))
    said = [float(flag) for flag in data.draw(flags)]
    more = [max(a, float(b)) for a, b in zip(said, data.draw(flags), strict=True)]
    assert 0.0 <= covered(weights, said) <= covered(weights, more) <= 1.0


@given(WEIGHT, st.floats(1, 100_000), st.floats(1, 100_000))
def test_a_long_text_covers_less_with_the_same_words_but_never_nothing(
    weight: float, one: float, other: float
) -> None:
    short, long = sorted((one, other))
    assert covered([weight], [1.0], short) >= covered([weight], [1.0], long)
    assert covered([weight], [1.0], 20 * LONG) == pytest.approx(LEAST * covered([weight], [1.0]))
    assert covered([weight], [1.0], 2 * LONG) < covered([weight], [1.0], LONG)
    if long <= LONG:
        assert covered([weight], [1.0], long) == covered([weight], [1.0])


def test_one_word_is_never_a_whole_question() -> None:
    assert covered([3.0], [1.0]) < covered([3.0] * 3, [1.0] * 3) < 1.0


def test_what_is_asked_about_a_time_alone_nothing_covers() -> None:
    share = coverage(np.array([3.0]), np.array([False]), np.ones((1, 2)), np.array([5.0, 5.0]))
    assert list(share) == [0.0, 0.0]


@given(text=st.text())
def test_every_token_says_something_and_none_all(text: str) -> None:
    assert all(0.0 < says(token) < 1.0 for token in Tokenizer(use_jieba=False).tokens(text))
    assert says("lisbon") > says("tim") > says("the")


@given(st.integers(1, 400), st.integers(0, 300))
def test_the_rarer_a_word_among_what_is_seen_the_more_it_weighs(among: int, holding: int) -> None:
    question = Question.read(Tokenizer(use_jieba=False), WordQuery("pottery", "pottery"))
    holding = min(holding, among - 1)
    (often,), (seldom,) = (question.weights(among, [n]) for n in (holding + 1, holding))
    assert 0 <= often < seldom


MEMORIES = (
    "奶奶对花生过敏",
    "图书馆周一闭馆",
    "小明喜欢喝美式咖啡",
    "公司周五下午三点开周会",
    "服务器的端口是8443",
    "Anna prefers green tea over coffee",
)
FLOOR = 0.36


def found(query: str) -> list[str]:
    """Memories that speak of much of the question, best first."""
    records = [WordRecord(Key("家", text), text, text) for text in MEMORIES]
    shares = coverages(WordQuery(query, query), records)
    ranked = sorted(zip(shares, MEMORIES, strict=True), reverse=True)
    return [text for share, text in ranked if share >= FLOOR]


@pytest.mark.parametrize(
    ("query", "memories"),
    [
        ("奶奶能吃花生吗", ["奶奶对花生过敏"]),
        ("图书馆哪天闭馆", ["图书馆周一闭馆"]),
        ("服务器用哪个端口", ["服务器的端口是8443"]),
        ("小明喜欢喝什么", ["小明喜欢喝美式咖啡"]),
        ("does Anna take coffee or TEA?", ["Anna prefers green tea over coffee"]),
        *((talk, []) for talk in ("你好", "哈哈哈哈", "今天天气怎么样", "好的谢谢")),
        *((talk, []) for talk in ("what's up", "👍", "", "？！")),
    ],
)
def test_a_question_finds_its_memory_and_small_talk_none(query: str, memories: list[str]) -> None:
    assert found(query) == memories


def test_what_stands_around_a_record_counts_less_than_what_it_says() -> None:
    said = WordRecord(Key("家", "1"), "1", "pottery class starts")
    around = WordRecord(Key("家", "2"), "2", "sounds lovely", context="pottery class starts")
    query = WordQuery("when is the pottery class", "when is the pottery class")
    shares = coverages(query, [said, around])
    assert 0 < shares[1] == pytest.approx(AROUND * shares[0])
    assert coverages(query, []) == []
