"""What was settled comes behind what settled it, and is open again once that is taken off."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import (
    closed,
    closed_by,
    holding,
    reopened,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import done, is_done
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import reopened as to_do_again
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import passage_id
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.closed_last import closed_last
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.ranking import Candidate, Sifted, as_hit
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import parse, render
from astrbot_plugin_scoped_memory.tests.support.memories import NOW
from astrbot_plugin_scoped_memory.tests.support.memories import memory as said

pytestmark = pytest.mark.unit

HOME = Scope.parse("家人")


def memory(number: int, by: int | None = None, extra: tuple[str, ...] = ()) -> Memory:
    made = said(f"第{number}件事", number, extra=extra)
    return made if by is None else closed(made, f"m-000{by}")


def candidate(number: int, by: int | None = None, scope: Scope = HOME) -> Candidate:
    return Candidate(StoredMemory(scope, "entities.md", memory(number, by)), 1 - number / 10)


def order(best: list[Candidate], *more: Candidate) -> list[str]:
    """The ids in their order; ``more`` lives, too."""
    living = {one.key: one.passage for one in (*best, *more)}
    return [one.key.memory_id for one in closed_last(Sifted(best, []), living.get).best]


@given(st.lists(st.text(st.characters(exclude_characters="·"), max_size=12), max_size=3))
def test_a_person_reads_it_writes_it_and_takes_it_off(fields: list[str]) -> None:
    extra = parse(render(memory(1, extra=tuple(fields))), fallback_time=NOW).extra
    before = memory(1, extra=extra)
    after = parse(render(closed(before, "m-0002")), fallback_time=NOW)
    assert closed_by(after) == "m-0002"
    assert closed_by(closed(after, "m-0003")) == "m-0003"
    assert reopened(after) == reopened(before)


def test_what_settles_it_stands_in_its_place_and_it_comes_last_marked() -> None:
    assert order([candidate(1, by=3), candidate(2)], candidate(3)) == ["m-0003", "m-0002", "m-0001"]
    both = [candidate(1, by=3), candidate(2), candidate(3)]
    assert order(both) == ["m-0003", "m-0002", "m-0001"]
    assert as_hit(both[0], 100).closed
    assert not as_hit(both[1], 100).closed


def test_of_several_the_last_one_holds() -> None:
    chain = [candidate(1, by=2), candidate(2, by=3), candidate(3)]
    assert order(chain) == ["m-0003", "m-0001", "m-0002"]
    ring = [candidate(1, by=2), candidate(2, by=1)]
    assert order(ring) == ["m-0001", "m-0002"]


def test_nothing_of_another_scope_stands_in_its_place() -> None:
    assert order([candidate(1, by=3)], candidate(3, scope=PUBLIC)) == ["m-0001"]


def test_what_settles_it_and_was_not_relevant_is_told_once() -> None:
    found = closed_last(
        Sifted([candidate(1, by=3)], [candidate(3), candidate(4)]),
        lambda key: candidate(int(key.memory_id[-1])).passage,
    )
    assert [passage_id(c.passage) for c in found.best] == ["m-0003", "m-0001"]
    assert [passage_id(c.passage) for c in found.below] == ["m-0004"]


def test_a_task_that_is_to_be_done_again_is_open() -> None:
    task = closed(done(memory(1), "2026-11-22", "小红"), "m-0002")
    assert is_done(StoredMemory(HOME, "TASKS.md", task))
    assert closed_by(to_do_again(task)) == ""
    assert holding([StoredMemory(HOME, "TASKS.md", task)]) == []


def test_another_field_stays() -> None:
    kept = replace(memory(1), extra=("心情：好",), created_at=NOW + timedelta(days=1))
    assert closed(kept, "m-0002").extra == ("了结：m-0002", "心情：好")
