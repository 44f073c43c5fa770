"""A topic's memories beside what the arms found: who comes first, and that nobody is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Passage
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import Candidate, sift
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.topic_candidates import MOST, with_topic

pytestmark = pytest.mark.unit

DAY = datetime(2026, 11, 21, tzinfo=UTC)


def stored(number: int) -> StoredMemory:
    return StoredMemory(PUBLIC, "TASKS.md", Memory(f"m-{number:010}", f"事{number}", DAY))


def number(passage: Passage) -> int:
    assert isinstance(passage, StoredMemory)
    return int(passage.memory.memory_id[2:])


def rank(passage: Passage) -> float:
    """The higher its number, the better."""
    return 1.0 + number(passage) / 1000


def order(candidates: Iterable[Candidate]) -> list[int]:
    return [number(candidate.passage) for candidate in sift(candidates).best]


found_ones = st.dictionaries(
    st.integers(0, 30),
    # Of scores below the smallest normal number a thousandth more is the same number.
    st.tuples(st.floats(-1, 1), st.floats(0, 2, allow_subnormal=False)),
    max_size=12,
)
read_ones = st.lists(st.integers(0, 30), unique=True, max_size=12)


def candidates(found: dict[int, tuple[float, float]]) -> list[Candidate]:
    return [Candidate(stored(n), floor, score=score) for n, (floor, score) in found.items()]


@given(found_ones, read_ones, st.booleans())
def test_whoever_stands_in_the_topic_passes_the_floor_and_nobody_is_lost_or_doubled(
    found: dict[int, tuple[float, float]], read: Sequence[int], narrowed: bool
) -> None:
    before = candidates(found)
    after = with_topic(before, map(stored, read), narrowed=narrowed, factor=rank)
    assert sorted(number(one.passage) for one in after) == sorted({*found, *read})
    assert set(read) <= set(order(after))
    untouched = [one for one in after if number(one.passage) not in read]
    assert untouched == [one for one in before if number(one.passage) not in read]


@given(found_ones, read_ones)
def test_all_of_a_topic_stands_before_the_rest_in_its_own_order(
    found: dict[int, tuple[float, float]], read: Sequence[int]
) -> None:
    after = with_topic(candidates(found), map(stored, read), narrowed=False, factor=rank)
    assert order(after)[: len(read)] == sorted(read, reverse=True)


@given(found_ones, read_ones)
def test_for_a_part_of_it_the_order_of_the_arms_stays_and_the_others_come_behind(
    found: dict[int, tuple[float, float]], read: Sequence[int]
) -> None:
    before = candidates(found)
    relevant = order(before)
    after = order(with_topic(before, map(stored, read), narrowed=True, factor=rank))
    if relevant:
        assert [n for n in after if n in relevant and n not in read] == [
            n for n in relevant if n not in read
        ]
        new = [n for n in read if n not in found]
        assert all(after.index(n) > after.index(relevant[0]) for n in new)
    elif read:
        assert set(after[: len(read)]) == set(read)


def test_of_a_long_file_the_best_take_part() -> None:
    after = with_topic([], map(stored, range(3 * MOST)), narrowed=False, factor=rank)
    assert order(after) == list(range(3 * MOST - 1, 2 * MOST - 1, -1))
