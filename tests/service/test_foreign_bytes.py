"""Whatever is asked of the engine, `shared/` and the roles' folders keep every byte.

No call but an accept writes there: none of a conversation's or an owner's, no answer that a model
gives when it reflects, no night, no import. The agents' tools: `mcp_server/test_foreign_places.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import batched, islice, product
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    EnginePaths,
    Imported,
    MemoryDraft,
    MemoryKind,
    ScopedMemoryError,
    TaskAction,
    TaskChange,
)
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import restore_store
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import (
    Accept,
    ListDecisions,
    Reject,
    Withdraw,
)
from astrbot_plugin_scoped_memory.llm_memory.models.roles import RoleLease, RoleNote
from astrbot_plugin_scoped_memory.llm_memory.roles.role_seat import RoleSeat
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    ADAPTER,
    MAP,
    Rig,
    group,
    person,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.foreign import (
    TEXTS,
    TWINS,
    bytes_in,
    plant,
    plant_links,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import answer, learned, reflect, say

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

LINKED, HARD_LINKED, PUBLIC = group(777), group(888, persona="backend"), group(999)
ODD = ("\0", "\ud800", "a/../../shared", "..", "@shared", "@role:qa", "x" * 5_000, *TWINS)
NAMES = (*TEXTS, *ODD)
SCOPES = {
    f"{ADAPTER}:GroupMessage:{number}": name
    for number, name in enumerate(("../shared", "@shared", "shared", "roles/qa", "Shared"), 3001)
}
ADMIN = person(9, "站长", admin=True)


@dataclass
class House:
    """An engine over a tree with such places, and links that lead there from two scopes."""

    rig: Rig
    chat: ScriptedChat

    def foreign(self) -> dict[str, bytes]:
        return bytes_in(self.rig.root / "memory")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    root = tmp_path_factory.mktemp("house")
    memory, chat = root / "memory", ScriptedChat()
    plant(memory, TWINS)
    plant_links(memory, memory / "scopes" / "家人")
    plant_links(memory, memory / "scopes" / "公司", hard=True)
    qa = RoleSeat(EnginePaths.under(root).leases, "qa", lambda: datetime.now(UTC))
    qa.take("tester")
    async with running(root, {**MAP, **SCOPES}, chat=chat, follow=False) as rig:
        yield House(rig, chat)
    qa.release()


def calls(service: Any, where: ConversationId, number: int) -> Iterator[Awaitable[object]]:
    """Every call of both ports, and those of the bot's own beside them, with one hostile name."""
    name, topics = NAMES[number % len(NAMES)], tuple(Topic)
    at: dict[str, Any] = {"conversation_id": where}
    by = {**at, "actor": ADMIN}
    draft = MemoryDraft(
        f"{name} is number {number}",
        name,
        tags=(name,),
        kind=tuple(MemoryKind)[number % len(MemoryKind)],
        topic=topics[number % len(topics)],
        actor=Actor(name, name, admin=True),
        proposed=number % 2 == 0,
        key=name,
    )
    yield service.remember(draft, **at)
    yield service.recall(name, **at, limit=5, token_budget=500)
    for action in TaskAction:
        change = TaskChange(action, (name, f"{number} {name}"), name, name)
        yield service.update_tasks(change, **at, actor=Actor(name, name))
    yield service.read(name, **at)
    yield service.expand(name, **at)
    yield service.overview(**at, actor=ADMIN, token_budget=500)
    for folder, token in ((name, name), ("qa", name), ("../shared", "x" * 43)):
        yield service.note_role(RoleNote(RoleLease(folder, token), name, name), **at)
    yield service.forget(name, **by)
    yield service.forget(name, **by, for_good=True)
    yield service.edit(name, name, **by)
    yield service.move(name, name, **by)
    yield service.restore(name, **by)
    yield service.import_(name, **by)
    for decided in (ListDecisions(), Accept(name, unseen=True), Reject(name, name), Withdraw(2)):
        yield service.decide(decided, **by)


async def answered(call: Awaitable[object]) -> object:
    """What is answered, or the words of a refusal. Another error is not caught."""
    try:
        return await call
    except ScopedMemoryError as error:
        assert str(error).strip()
        return error


@pytest.mark.parametrize(
    "where",
    [LINKED, HARD_LINKED, PUBLIC, *(group(umo.rpartition(":")[2], persona="qa") for umo in SCOPES)],
    ids=lambda where: where.umo,
)
async def test_no_call_writes_there_and_each_is_answered(
    house: House, where: ConversationId
) -> None:
    before, service = house.foreign(), house.rig.engine.service
    begin, step = {LINKED: (0, 3), HARD_LINKED: (1, 3)}.get(where, (2, 9))
    for number in range(begin, len(NAMES), step):
        for call in calls(service, where, number):
            await answered(call)
        assert house.foreign() == before, NAMES[number]


async def test_what_was_asked_for_was_done_where_it_may_be(house: House) -> None:
    """Else the test before would prove nothing."""
    found = list(house.rig.engine.rooms.catalogue.all())
    places = {(stored.scope.name, stored.path) for stored in found}
    assert {
        ("公司", f"{topic.value}.md") for topic in Topic if topic is not Topic.JOURNAL
    } <= places
    assert any(scope == "家人" for scope, _ in places)
    assert len(found) > len(TEXTS) / 3


async def test_no_answer_of_a_model_leads_there(house: House) -> None:
    before, chat = house.foreign(), house.chat
    stored = (one.memory.memory_id for one in house.rig.engine.rooms.catalogue.all())
    for some in batched([*NAMES[::2], *islice(stored, 12)], 16):
        new = [
            learned(f"{name} 的规矩", reasoning=name, tags=[name], asks=[name], kind=name)
            | {"path": name, "scope": "@shared", "topic": name, "decision": True, "who": name}
            for name in some
        ]
        chat.add(
            answer(
                *new,
                useful_ids=some,
                useless_ids=some,
                contradictions=[{"old_id": name, "new": new[0]} for name in some],
                merges=[{"ids": some, "new": new[0]}],
            )
        )
        for where in (LINKED, HARD_LINKED):
            await say(house.rig, " ".join(some[:3]), where=where, recalled=tuple(some))
            await reflect(house.rig, where)
    assert house.foreign() == before
    assert len(chat.calls) >= 6


async def test_no_night_writes_there(house: House) -> None:
    before = house.foreign()
    await house.rig.engine.reconcile()
    await house.rig.engine.loop.sleep.run_once("nightly")
    for where in (LINKED, HARD_LINKED, PUBLIC):
        await answered(house.rig.engine.service.refresh_overview(conversation_id=where))
    assert house.foreign() == before


def archive(names: Iterable[tuple[str, str]]) -> bytes:
    """A file of memories and files, each with a scope and a path."""
    lines: list[dict[str, object]] = [
        {"type": "header", "format": "scoped-memory", "version": 1, "whole": True}
    ]
    for number, (scope, path) in enumerate(names):
        at = {"scope": scope, "path": path}
        lines.append({"type": "file", **at, "modified": 0, "text": f"# {number}\n"})
        lines.append({"type": "memory", **at, "judgment": f"第 {number} 条带进来的话"})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


PLACES = (
    "@shared",
    "@role:qa",
    "@Shared",
    "@SHARED",
    "@role:../shared",
    "@role:qa/../../shared",
    "@role:QA/",
    "shared",
    "roles",
    "../shared",
    "scopes/../shared",
    "@person:x",
    "家人",
)
PATHS = (
    "DECISIONS.md",
    "MEMORY.md",
    "2026-11-27.md",
    "../shared/DECISIONS.md",
    "up/shared/x.md",
    "links/CONSTITUTION.md",
    "shared/new.md",
    "/shared/x.md",
    ".x.md",
    "a/../../x.md",
    "x.txt",
)


async def test_an_import_goes_into_the_own_scope_whatever_its_entries_name(house: House) -> None:
    before, imports = house.foreign(), house.rig.root / "imports"
    imports.mkdir(exist_ok=True)
    (imports / "in.jsonl").write_bytes(archive(product(PLACES, PATHS)))
    for where in (LINKED, HARD_LINKED):
        service = house.rig.engine.service
        told = await service.import_("in.jsonl", conversation_id=where, actor=ADMIN)
        assert isinstance(told, Imported)
        assert house.foreign() == before


async def test_a_restore_by_the_owner_brings_missing_files_and_changes_none(tmp_path: Path) -> None:
    """docs/transfer.md: what stands there stays; what a link leads to, or lies outside, is none."""
    paths, file = EnginePaths.under(tmp_path / "data"), tmp_path / "whole.jsonl"
    plant(paths.memory, TWINS)
    plant_links(paths.memory, paths.memory / "scopes" / "家人")
    before = bytes_in(paths.memory)
    file.write_bytes(archive(product(PLACES, PATHS)))
    told = await asyncio.to_thread(restore_store, paths, file)
    after = bytes_in(paths.memory)
    assert {path: after[path] for path in before} == before
    news = {path for path in after.keys() - before.keys() if after[path]}
    assert news == {
        *(f"shared/{name}" for name in ("MEMORY.md", "2026-11-27.md")),
        *(
            f"{top}/{name}"
            for top in ("shared", "roles/qa")
            for name in ("up/shared/x.md", "links/CONSTITUTION.md", "shared/new.md")
        ),
        "roles/qa/DECISIONS.md",
    }
    assert told.refused
    assert not (tmp_path / "shared").exists()
