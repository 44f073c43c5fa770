"""The last recalls: bounded, and shown to those alone who may see what they show."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.recall import Told, Trace
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.recall.trace_log import KEPT, SHOWN, TraceLog

pytestmark = pytest.mark.unit

HOME = ScopeFilter.reading_as(Scope.parse("家人"))
WORK = ScopeFilter.reading_as(Scope.parse("公司"))


def told(number: int, conversation: str = "a:GroupMessage:1", view: ScopeFilter = HOME) -> Told:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    return Told(conversation, f"第{number}问", at, Trace(scopes=view.names))


def test_the_newest_come_first_and_the_oldest_go() -> None:
    log = TraceLog()
    for number in range(KEPT + 7):
        log.note(told(number))
    assert len(log.all()) == KEPT
    assert [one.query for one in log.all()][:2] == [f"第{KEPT + 6}问", f"第{KEPT + 5}问"]
    assert len(log.of("a:GroupMessage:1", HOME)) == SHOWN
    log.clear()
    assert log.all() == []


def test_another_conversation_of_the_same_scope_sees_nothing_of_it() -> None:
    log = TraceLog()
    log.note(told(1))
    assert log.of("a:GroupMessage:2", HOME) == []


def test_a_changed_map_hides_what_was_recalled_under_the_old_one() -> None:
    log = TraceLog()
    log.note(told(1))
    assert log.of("a:GroupMessage:1", WORK) == []
    assert log.of("a:GroupMessage:1", ScopeFilter((PUBLIC,))) == []
    assert [one.query for one in log.of("a:GroupMessage:1", HOME)] == ["第1问"]
    everything = ScopeFilter((PUBLIC,), everything=True)
    assert [one.query for one in log.of("a:GroupMessage:1", everything)] == ["第1问"]
