"""The last recalls: bounded, and shown to those alone who may see what they show."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.passages import Passages
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Explained, Trace
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.recall.explanations import KEPT, SHOWN, Explanations

pytestmark = pytest.mark.unit

HOME = ScopeFilter.reading_as(Scope.parse("家人"))
WORK = ScopeFilter.reading_as(Scope.parse("公司"))


HERE, THERE = "a:GroupMessage:1", "a:GroupMessage:2"


def explanations(*numbers: int) -> Explanations:
    """Of so many recalls of one conversation, which named no candidate that is looked up."""
    none = cast(Passages, None)
    made = Explanations(none, 240, lambda: datetime(2026, 11, 21, tzinfo=UTC))
    for number in numbers:
        made.note(HERE, f"第{number}问", Trace(scopes=HOME.names, candidates=1))
    return made


def queries(found: list[Explained]) -> list[str]:
    return [one.told.query for one in found]


def test_the_newest_come_first_and_the_oldest_go() -> None:
    log = explanations(*range(KEPT + 7))
    assert len(log.all()) == KEPT
    assert [one.query for one in log.all()][:2] == [f"第{KEPT + 6}问", f"第{KEPT + 5}问"]
    assert len(log.of(HERE, HOME)) == SHOWN
    log.clear()
    assert log.all() == []


def test_another_conversation_of_the_same_scope_sees_nothing_of_it() -> None:
    assert explanations(1).of(THERE, HOME) == []


def test_a_changed_map_hides_what_was_recalled_under_the_old_one() -> None:
    log = explanations(1)
    assert log.of(HERE, WORK) == log.of(HERE, ScopeFilter((PUBLIC,))) == []
    for view in (HOME, ScopeFilter((PUBLIC,), everything=True)):
        assert queries(log.of(HERE, view)) == ["第1问"]
