"""From a finished turn to what is learned of it: who hands what to whom, and where a scope is told.

Above the engine travel a turn, the conversation's id and a ticket; never a scope. It is decided
once, where the turn is queued, and kept with it.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from astrbot.api.provider import LLMResponse

from astrbot_plugin_scoped_memory.core.deepmind import DeepMind
from astrbot_plugin_scoped_memory.core.services.feedback_service import FeedbackService
from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    CognitiveService,
    ConversationId,
    Feedback,
    MemoryDraft,
    NotObserved,
    Stored,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Contradiction, Merge
from astrbot_plugin_scoped_memory.llm_memory.recall.use_counts import UseCounts
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import ChatModel, Completion
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.house.source import ROOT, files, imports, module_at
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FAMILY, COMPANY = group(777), group(888)
MOVED = {**MAP, FAMILY.umo: "公司"}
SAID, LEARNED = "我吃花生会起疹子，从小就这样", "小明对花生过敏"
ANSWER = json.dumps({"new_memories": [{"judgment": LEARNED, "turn": 1, "who": "s1"}]})
SHELL = (
    "core/deepmind.py",
    "core/turn/turn_reader.py",
    "core/turn/group_chatter.py",
    "core/host/chat_provider.py",
    "core/commands/reflection_commands.py",
    "core/services/feedback_service.py",
    "core/services/primer_injection.py",
)
"""What a turn, and what is asked of it, goes through above the engine."""
SHOWN = {
    "core/services/primer_injection.py": {"scope_name"},
    "core/deepmind.py": {"scope", "scope_name", "_scope"},
}
"""What was recalled says where it stands, lest the same be told twice; and the log of an injection
names the scope."""
ACCESS = {
    *("scopes/access.py", "service/scope_admin.py"),
    *("migration/former_scopes.py", "scopes/origins.py"),
    "migration/legacy_reading.py",
}
"""In the engine: which modules ask which scope a conversation has. Those of the second line keep it
in the state, with what a person's message told of a conversation. The reader of other plugins'
records asks, too: their conversations are long over."""


class Below:
    """An engine that notes what it is handed."""

    def __init__(self) -> None:
        self.handed: list[tuple[Turn, ConversationId]] = []
        self.woken = 0
        self.service = self
        self.loop = SimpleNamespace(reflection=self)

    async def observe(self, turn: Turn, *, conversation_id: ConversationId) -> Ticket:
        """As the cognitive service."""
        self.handed.append((turn, conversation_id))
        return Ticket("t-0001")

    def wake(self) -> None:
        """As the reader of turns."""
        self.woken += 1


class Deaf(Below):
    """One that queues nothing."""

    async def observe(  # type: ignore[override]
        self, turn: Turn, *, conversation_id: ConversationId
    ) -> NotObserved:
        await super().observe(turn, conversation_id=conversation_id)
        return NotObserved(note="paused")


async def finish(plugin: TurnPlugin, event: FakeEvent, reply: str = "记下了") -> None:
    """The end of a turn, as AstrBot's hook brings it."""
    mind = DeepMind(cast("Any", plugin))
    response = LLMResponse(role="assistant", completion_text=reply)
    await mind.finished(cast("Any", event), response)
    await plugin.settled()


def rows(root: Path) -> list[Mapping[str, Any]]:
    """The queue as it stands on disk, the oldest first."""
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as base:
        base.row_factory = sqlite3.Row
        return [dict(row) for row in base.execute("SELECT * FROM turn ORDER BY place")]


async def test_what_a_hook_hands_down_is_a_turn_and_the_conversations_id(tmp_path: Path) -> None:
    below = Below()
    async with running(tmp_path) as rig:
        plugin = TurnPlugin(rig)
        plugin.feedback = FeedbackService(cast("Any", below))
        await finish(plugin, FakeEvent.in_group(777, SAID))
        await finish(plugin, FakeEvent.in_private(1002, SAID))
    assert [conversation_id for _, conversation_id in below.handed] == [
        FAMILY,
        replace(private(1002), peer="1002"),
    ]
    turn, _ = below.handed[0]
    assert (turn.actor.person, turn.user_text) == ("aiocqhttp:10001", SAID)
    assert turn.reply_text == "记下了"
    assert below.woken == 2


async def test_who_reads_turns_hears_of_a_ticket_and_of_nothing_else() -> None:
    deaf = Deaf()
    outcome = await FeedbackService(cast("Any", deaf)).queue(Turn(person(1), SAID, ""), FAMILY)
    assert outcome == NotObserved(note="paused")
    assert (len(deaf.handed), deaf.woken) == (1, 0)


async def test_the_queued_payload_has_conversation_ticket_and_the_scope_of_that_moment(
    tmp_path: Path,
) -> None:
    for scope_map in (MAP, MOVED):
        async with running(tmp_path, scope_map) as rig:
            await finish(TurnPlugin(rig), FakeEvent.in_group(777, SAID))
    first, second = rows(tmp_path)
    assert first["ticket_id"].startswith("t-")
    assert first["ticket_id"] != second["ticket_id"]
    assert first["conversation"] == second["conversation"] == FAMILY.umo
    assert (first["scope"], second["scope"]) == ("家人", "公司")


async def test_a_scope_in_the_reply_is_nobodys_business(tmp_path: Path) -> None:
    new = {"judgment": LEARNED, "turn": 1, "who": "s1", "scope": "public", "memory_scope": "公司"}
    chat = ScriptedChat(json.dumps({"scope": "public", "new_memories": [new]}))
    async with running(tmp_path, chat=chat) as rig:
        await finish(TurnPlugin(rig), FakeEvent.in_group(777, SAID))
        await rig.engine.loop.reflection.reflect(conversation=FAMILY.umo)
        assert (await rig.engine.status()).by_scope == {"家人": 1}


async def test_feedback_counts_what_the_tickets_scope_sees_and_drops_the_rest(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        ids = {
            where.umo: (await rig.remember(f"{where.group}号群的一件小事", where))
            for where in (FAMILY, COMPANY, group(999))
        }
        known = {umo: stored.memory.memory.memory_id for umo, stored in ids.items()}
        ticket = await rig.engine.service.observe(
            Turn(person(1), SAID, "", tuple(known.values())), conversation_id=FAMILY
        )
        assert isinstance(ticket, Ticket)
        useful = (*known.values(), "m-0000000000000000", "", "n-0000")
        report = await rig.engine.service.feedback(
            Feedback(useful_ids=useful, drafts=(MemoryDraft(LEARNED),)), ticket=ticket
        )
        assert set(report.counted) == {known[FAMILY.umo], known[group(999).umo]}
        assert report.dropped == 4
        (outcome,) = report.outcomes
        assert isinstance(outcome, Stored)
        assert outcome.memory.scope.name == "家人"


async def test_an_invented_ticket_settles_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await finish(TurnPlugin(rig), FakeEvent.in_group(777, SAID))
        for ticket in (Ticket("t-unknown"), Ticket(""), Ticket("家人", ("公司",))):
            report = await rig.engine.service.feedback(
                Feedback(drafts=(MemoryDraft(LEARNED),)), ticket=ticket
            )
            assert not report.known
        assert (await rig.engine.status()).total == 0
        assert (await rig.engine.status()).queue == 1


@pytest.mark.parametrize(
    "kind",
    [Actor, Completion, Contradiction, ConversationId, Feedback, MemoryDraft, Merge, Ticket, Turn],
)
def test_nothing_that_travels_above_the_engine_has_a_place_for_a_scope(kind: type) -> None:
    names = [field.name for field in fields(kind)]
    assert names != []
    assert [name for name in names if _speaks_of_scopes(name)] == []


@pytest.mark.parametrize(
    "asked",
    [
        CognitiveService.observe,
        CognitiveService.feedback,
        CognitiveService.prime,
        CognitiveService.update_tasks,
        ChatModel.complete,
        ChatModel.is_there,
    ],
)
def test_nobody_who_calls_the_engine_or_is_called_names_a_scope(asked: Any) -> None:
    names = set(inspect.signature(asked).parameters)
    assert {name for name in names if _speaks_of_scopes(name)} == set()
    assert names & {"conversation_id", "ticket", "conversation"}


def test_feedback_is_told_its_filter_and_asks_for_no_conversation() -> None:
    names = set(inspect.signature(UseCounts.feedback).parameters)
    assert "scope_filter" in names
    assert not names & {"conversation_id", "conversation", "ticket"}


def _speaks_of_scopes(name: str) -> bool:
    words = re.findall(r"[A-Z]?[a-z]+", name)
    return any(word.lower() in ("scope", "scopes") for word in words)


def names_in(tree: ast.AST) -> Iterator[str]:
    """Every name, attribute, argument and keyword."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield name


@pytest.mark.parametrize("path", SHELL)
def test_the_shell_that_a_turn_goes_through_has_no_word_for_a_scope(path: str) -> None:
    found = {name for name in names_in(module_at(ROOT / path).tree) if _speaks_of_scopes(name)}
    assert found <= SHOWN.get(path, set())


def test_a_planted_scope_in_the_shell_is_found() -> None:
    planted = "async def queue(turn, scope): await observe(turn, scope=resolve_scope(turn))"
    assert {n for n in names_in(ast.parse(planted)) if _speaks_of_scopes(n)} == {
        "scope",
        "resolve_scope",
    }


def test_only_the_entry_and_its_access_ask_for_a_conversations_scope() -> None:
    asking = {
        path.relative_to(ROOT / "llm_memory").as_posix()
        for path in files("llm_memory")
        for node in ast.walk(module_at(path).tree)
        if isinstance(node, ast.Attribute) and _resolves_a_conversation(node)
    }
    assert asking == ACCESS


def _resolves_a_conversation(node: ast.Attribute) -> bool:
    """Whether it is the scope book's, or its own: not that of a path."""
    return node.attr == "resolve" and ast.unparse(node.value).endswith(("book", "_scopes", "self"))


def test_what_reads_learns_and_tidies_up_cannot_resolve_a_conversation() -> None:
    forbidden = {"access", "scope_resolution", "scope_map"}
    reading = [
        *files("llm_memory/reflection"),
        *files("llm_memory/consolidation"),
        *files("llm_memory/primer"),
        ROOT / "llm_memory" / "composition" / "consolidation.py",
    ]
    assert len(reading) > 40
    for path in reading:
        found = list(imports(module_at(path).tree))
        sources = {one.source.rpartition(".")[2] for one in found} | {one.name for one in found}
        assert not sources & forbidden, path
