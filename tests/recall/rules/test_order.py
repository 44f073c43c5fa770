"""From candidates to hits: the fitted order and the decision to speak, with the weights that are
shipped and fixed ones; what moves a candidate beside its words; floor, limit and budget, and one
line for one fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    MemoryKind,
    Source,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Hit
from astrbot_plugin_scoped_memory.llm_memory.recall.patterns import says
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import (
    BEYOND_CHANCE,
    FEATURES,
    LONG,
    Candidate,
    choose,
    decide,
    in_time,
    salience,
    stated,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.tell_once import (
    merge_same_facts,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.weights import RecallWeights, shipped
from astrbot_plugin_scoped_memory.llm_memory.text.dates.expressions import find_times
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import hit_line
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.memories import NOW, stored

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

SHARE = st.floats(0, 1)
NOTHING = dict.fromkeys(FEATURES, 0.0)
DRAWN = st.fixed_dictionaries(
    NOTHING
    | dict.fromkeys(("nearest", "covered", "words", "text", "recent", "stated"), SHARE)
    | {
        "near": st.floats(0, 8),
        "time": st.sampled_from([0.0, 0.26, 0.69, 1.39]),
        "speaker": st.sampled_from([0.0, 1.0]),
        "salient": st.floats(-1, 1),
        "verbatim": st.just(0.0),
    }
)
QUESTION = {"asks": 1.0, "length": 0.3, "probe": 0.0}


def decided(
    weights: RecallWeights, trust: float, rows: Sequence[Mapping[str, float]], **more: Any
) -> list[Candidate]:
    """The candidates of such features."""
    found = [Candidate(stored("话", n), features=NOTHING | row) for n, row in enumerate(rows)]
    decide(weights, trust, QUESTION, found, **more)
    return found


@given(st.lists(DRAWN, min_size=1, max_size=8), SHARE, SHARE)
def test_what_is_shown_unasked_is_found_by_a_search(
    rows: list[dict[str, float]], trust: float, floor: float
) -> None:
    unasked, searched = (decided(shipped(floor), trust, rows, in_talk=one) for one in (True, False))
    for row, told, found in zip(rows, unasked, searched, strict=True):
        assert max(told.relevance, found.relevance) <= 1
        assert (told.relevance >= 0) is not told.weak
        related = row["covered"] > 0 or row["near"] >= BEYOND_CHANCE
        assert (found.relevance >= 0) is (related or floor <= 0)


@given(st.lists(DRAWN, min_size=1, max_size=8))
def test_the_higher_the_floor_the_less_is_said_and_nothing_with_the_highest(
    rows: list[dict[str, float]],
) -> None:
    shown = [
        sum(one.relevance >= 0 for one in decided(shipped(floor), 1.0, rows, in_talk=True))
        for floor in (0.0, 0.3, 0.5, 0.9, 1.01)
    ]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] > 0
    assert shown[-1] == 0


def test_every_weight_is_of_something_that_is_known_and_speaks_for_an_answer() -> None:
    chance, told = decide(shipped(), 1.0, QUESTION, [])
    assert chance == 0.0
    orders = shipped().order, shipped().order_of_long
    for pair, known in (*((order, FEATURES) for order in orders), (shipped().speak, told)):
        assert pair.words.weights.keys() | pair.both.weights.keys() <= set(known)
    for order in orders:
        assert min(*order.words.weights.values(), *order.both.weights.values()) >= 0


@pytest.mark.parametrize("trust", [0.0, 1.0])
def test_a_long_message_is_ordered_by_what_texts_share_with_it_and_not_by_shares_of_it(
    trust: float,
) -> None:
    rows = ({"covered": 0.3, "stated": 1.0}, {"text": 1.0})
    of_a_question, of_a_long_message = (
        decided(shipped(), trust, rows, is_long=is_long) for is_long in (False, True)
    )
    assert of_a_question[0].score > of_a_question[1].score
    assert of_a_long_message[0].score < of_a_long_message[1].score


def test_a_line_that_states_more_counts_more_up_to_a_bound_and_what_it_asks_not() -> None:
    def of(text: str) -> float:
        return stated(stored(text), is_unread=True)

    assert 0 < of("好的") < of("好的，周六上午十点在北门集合") <= 1
    assert 0 < of("Wow!") < of("Wow, we met at the north gate at ten") <= 1
    assert of("长" * LONG) == of("长" * 10_000) == 1
    for asked in ("周六去哪里？", "Where to?", "What? When?"):
        assert of(asked) == 0
        assert of(f"去南门。{asked}") == of("去南门。")


def test_what_somebody_made_a_memory_of_states_however_short_it_is() -> None:
    said, imported = (
        stored("好的", source=source) for source in (Source.REFLECTION, Source.IMPORT)
    )
    assert stated(said, is_unread=False) == 1
    assert stated(imported, is_unread=False) == stated(said, is_unread=True) < 1


def test_a_question_of_oneself_is_known() -> None:
    own = "我喜欢什么|俺的钥匙呢|咱的车在哪|what do I like|is it mine|I'm where?"
    others = "我们喜欢什么|咱们去哪|他喜欢什么|what is it"
    for questions, is_own in ((own, True), (others, False)):
        assert {says("first_person", one) for one in questions.split("|")} == {is_own}


def test_what_speaks_of_the_time_meets_it_whenever_it_was_said() -> None:
    asked, before = find_times("昨天发生了什么", NOW), NOW - timedelta(days=400)
    assert in_time(stored("2026-11-20 交了房租", path="journal/2025-10-17.md", at=before), asked)
    assert not in_time(stored("交了房租", path="journal/2025-10-17.md", at=before), asked)


@given(st.integers(1, 99), st.integers(0, 40), st.integers(0, 10**9))
def test_the_stronger_is_more_salient_and_the_useful_each_time_a_little_less(
    strength: int, uses: int, many: int
) -> None:
    for used in (uses, many):
        own, more = (salience(stored(strength=strength + n), used) for n in (0, 1))
        assert -1 <= own < more <= 1
    never, one, two = (salience(stored(strength=strength), uses + n) for n in (0, 1, 2))
    assert never < one < two
    assert two - one < one - never


def chosen(best: Sequence[Candidate], limit: int, budget: int = 999, width: int = 240) -> list[Hit]:
    """What is told of them costs its length."""
    more: dict[str, Any] = {"token_budget": budget, "preview_chars": width}
    return choose(best, limit=limit, cost=lambda hit: len(hit.preview), **more)


numbers = st.lists(st.tuples(st.floats(-1, 2), st.text(max_size=300)), max_size=20)


@given(numbers, st.integers(-5, 8), st.integers(-10, 400), st.integers(1, 240))
def test_hits_keep_within_limit_budget_and_preview(
    drawn: list[tuple[float, str]], limit: int, budget: int, width: int
) -> None:
    best = [Candidate(stored(f"{n} {text}", n), score) for n, (score, text) in enumerate(drawn)]
    hits = chosen(best, limit, budget, width)
    assert len(hits) <= max(limit, 0)
    assert sum(len(hit.preview) for hit in hits) <= max(budget, 0)
    assert all(len(hit.preview) <= width and 0 <= hit.relevance <= 1 for hit in hits)
    assert len(hits) == sum(one.dropped is None for one in best)


FACT = "供应商的联系人换成了林小姐"
TEXTS = Texts("zh-CN")


def told(who: str, text: str = FACT, **more: Any) -> StoredMemory:
    """Somebody's words."""
    return stored(text, abs(hash((who, text))) % 10**8, who=who, **more)


def lines(*stored: StoredMemory, limit: int = 5) -> list[str]:
    candidates = [Candidate(one, 0.9 - n / 100) for n, one in enumerate(stored)]
    hits = chosen(merge_same_facts(candidates), limit)
    return [hit_line(hit, TEXTS).partition("] ")[0] for hit in hits]


@pytest.mark.parametrize(
    ("others", "names"),
    [
        ([told("阿杰", FACT + "。")], "小雯、阿杰 · 未核实"),
        # Who can be vouched for leads, and then it is not doubtful.
        ([told("阿杰", trusted=True)], "阿杰、小雯 · "),
        # It leaves room for another.
        ([told("阿杰"), told("老何", "老何管仓库")], "小雯、阿杰 · 未核实"),
    ],
)
def test_one_fact_of_two_speakers_is_one_line_with_both_names(
    others: list[StoredMemory], names: str
) -> None:
    line, *rest = lines(told("小雯"), *others, limit=2)
    assert names in line
    assert ("未核实" in line) is ("未核实" in names)
    assert len(rest) == len(others) - 1


OF_ONESELF = "我对花生过敏|用户喜欢喝普洱茶|本人的生日是五月三日|女儿今年三岁了|wife is ill today"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (FACT, told("阿杰", "供应商的联系人换成了王小姐")),
        (FACT, told("阿杰", "供应商的联系人没换成林小姐")),
        (FACT, told("阿杰", "林小姐换成了供应商的联系人")),
        (FACT, told("阿杰", quoted=True)),
        (FACT, told("阿杰", kind=MemoryKind.TASK)),
        (FACT, replace(told("阿杰"), memory=closed(told("阿杰").memory, "m-00000001"))),
        (FACT, told("小雯", FACT + "。")),
        ("明天盘点", told("阿杰", "明天盘点", at=NOW + timedelta(days=1))),
        *((text, told("阿杰", text)) for text in OF_ONESELF.split("|")),
    ],
)
def test_whatever_differs_stays_a_line_of_its_own(text: str, other: StoredMemory) -> None:
    assert len(lines(told("小雯", text), other)) == 2
