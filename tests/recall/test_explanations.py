"""The last recalls: bounded, and shown to those alone who may see what they show."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.passages import Passages
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Told, Trace
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.recall.explanations import KEPT, SHOWN, Explanations

pytestmark = pytest.mark.unit

HOME = ScopeFilter.reading_as(Scope.parse("家人"))
WORK = ScopeFilter.reading_as(Scope.parse("公司"))
HERE, THERE = "a:GroupMessage:1", "a:GroupMessage:2"


def explanations(*numbers: int) -> Explanations:
    """Of so many recalls of one conversation, which named no candidate that is looked up."""
    made = Explanations(cast(Passages, None), EngineSettings(), lambda: datetime.now(UTC))
    for number in numbers:
        ask(made, HERE, f"第{number}问")
    return made


def ask(log: Explanations, where: str, query: str) -> None:
    log.note(where, query, Trace(HOME.names, milliseconds=1.0))


def queries(found: list[Told]) -> list[str]:
    return [one.query for one in found]


def test_the_newest_come_first_and_the_oldest_go() -> None:
    log = explanations(*range(SHOWN + 7))
    kept = [f"第{number}问" for number in reversed(range(7, SHOWN + 7))]
    assert queries(log.all()) == queries(log.of(HERE, HOME)) == kept


@pytest.mark.parametrize("others", [1, 200])
def test_however_busy_other_conversations_are_a_quiet_one_can_say_why(others: int) -> None:
    log = explanations(1)
    for number in range(1000):
        ask(log, f"a:GroupMessage:{100 + number % others}", "问")
    assert queries(log.of(HERE, HOME)) == ["第1问"]
    for number in range(2 * KEPT):
        ask(log, f"a:GroupMessage:{1000 + number}", "问")
    assert len(log.all()) == KEPT  # bounded in all, and the newest stay
    assert log.of(HERE, HOME) == []
    assert len(log.of(f"a:GroupMessage:{999 + 2 * KEPT}", HOME)) == 1


def test_another_conversation_of_the_scope_and_a_changed_map_show_nothing_of_it() -> None:
    log = explanations(1)
    assert log.of(THERE, HOME) == log.of(HERE, WORK) == log.of(HERE, ScopeFilter((PUBLIC,))) == []
    for view in (HOME, ScopeFilter((PUBLIC,), everything=True)):
        assert queries(log.of(HERE, view)) == ["第1问"]
