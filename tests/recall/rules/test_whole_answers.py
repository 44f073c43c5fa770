"""All of a topic, all that is known of a person: before everything else, and nothing is lost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import Memory, MemoryKind, Provenance, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Passage
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import Candidate, sift
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.whole_answers import (
    MOST,
    in_front,
    known_of,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import embedded_text
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold

pytestmark = pytest.mark.unit

DAY = datetime(2026, 11, 21, tzinfo=UTC)


def stored(
    number: int, text: str = "事", who: str = "", kind: MemoryKind = MemoryKind.KNOWLEDGE
) -> StoredMemory:
    memory = Memory(f"m-{number:010}", text, DAY, kind=kind, provenance=Provenance(who))
    return StoredMemory(PUBLIC, "TASKS.md", memory)


def number(passage: Passage) -> int:
    assert isinstance(passage, StoredMemory)
    return int(passage.memory.memory_id[2:])


@given(
    st.dictionaries(
        st.integers(0, 30),
        st.tuples(st.floats(-1, 1), st.floats(0, 2, allow_subnormal=False)),
        max_size=12,
    ),
    st.lists(st.integers(0, 30), unique=True, max_size=12),
)
def test_all_of_it_stands_before_the_rest_in_its_own_order(
    found: dict[int, tuple[float, float]], read: list[int]
) -> None:
    before = [Candidate(stored(n), floor, score=score) for n, (floor, score) in found.items()]
    after = in_front(before, {stored(n): 1.0 + n / 1000 for n in read})
    assert sorted(number(one.passage) for one in after) == sorted({*found, *read})
    best = [number(one.passage) for one in sift(after).best]
    assert best[: len(read)] == sorted(read, reverse=True)
    untouched = [one for one in after if number(one.passage) not in read]
    assert untouched == [one for one in before if number(one.passage) not in read]


def test_of_a_long_file_the_best_take_part() -> None:
    after = in_front([], {stored(n): 1.0 + n / 1000 for n in range(3 * MOST)})
    assert [number(one.passage) for one in sift(after).best][:2] == [3 * MOST - 1, 3 * MOST - 2]
    assert len(after) == MOST


def known(name: str, *memories: StoredMemory) -> list[int]:
    found = known_of(
        memories,
        lambda one: fold(embedded_text(one.memory)) if isinstance(one, StoredMemory) else "",
        {name},
        (),
    )
    return [number(one) for one in sorted(found, key=lambda one: -found[one])]


def test_facts_that_begin_with_a_name_come_first_and_events_last() -> None:
    memories = (
        stored(2, "Yesterday Ann came", kind=MemoryKind.EVENT),
        stored(3, "the cat likes Ann"),
        stored(4, "Ann is a nurse"),
        stored(5, "Annabel sings"),
    )
    assert known("ann", *memories) == [4, 3, 2]
    assert known("ann", memories[1]) == []
    assert known("ann", memories[1], stored(1, "花开了", "Ann")) == [3, 1]


def test_what_merely_holds_a_word_makes_no_person_of_it() -> None:
    assert known("灯泡", stored(1, "厨房的灯泡是暖光的")) == []
