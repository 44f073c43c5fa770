"""Whatever is asked of the front door, in whatever words, names and places: each call answers with
a value or an error of ours, no word of another scope is in it, and neither `shared/`, the roles'
folders nor anything outside the root changes by a byte.

Nor by what a model answers when it reads, or by a night.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import batched, cycle
from typing import Any, get_args

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    EnginePaths,
    Feedback,
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    ScopedMemoryError,
    TaskAction,
    TaskChange,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.models.roles import RoleLease, RoleNote
from astrbot_plugin_scoped_memory.llm_memory.roles.role_seat import RoleSeat
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.deciding import (
    Accept,
    ListDecisions,
    Reject,
    Withdraw,
)
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

pytestmark = [pytest.mark.engine, pytest.mark.property, pytest.mark.asyncio(loop_scope="module")]

CANARY = "zqxcanary"
"""Stands in a private scope and in a file outside the root."""
LINKED, HARD_LINKED, PUBLIC, SECRET = group(777), group(888), group(999), group(1001)
SCOPES = {
    f"{ADAPTER}:GroupMessage:{number}": name
    for number, name in enumerate(("../shared", "@shared", "shared", "roles/qa", "Shared"), 3001)
}
WHOLE_MAP = {**MAP, **SCOPES, SECRET.umo: "秘密"}
ADMIN, NOW = person(9, "站长", admin=True), datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
SECRET_ID = "m-0123456789abcdef"
"""Also what some of the hostile names point to."""
ODD = (
    SECRET_ID, f"entities.md#{SECRET_ID}", "\0", "\ud800", "a/../../shared", "..", "@shared",
    "@role:qa", "x" * 5_000, "秘密", *TWINS,
)  # fmt: skip
texts = st.sampled_from((*TEXTS, *ODD)) | st.text(st.characters(), max_size=30)
places = st.sampled_from(
    (LINKED, HARD_LINKED, PUBLIC, *(group(umo.rpartition(":")[2], persona="qa") for umo in SCOPES))
) | st.builds(group, texts, persona=texts)


@dataclass
class House:
    """An engine over a tree with places that nobody may write, and links there from two scopes."""

    rig: Rig
    chat: ScriptedChat

    def foreign(self) -> dict[str, bytes]:
        """What no call may change: in the memory root, and beside the bot's folder."""
        root = self.rig.root
        there = bytes_in(root / "memory", but=("scopes", ".pauses.json"))
        secret = (root / "memory" / "scopes" / "秘密" / "entities.md").read_bytes()
        return there | bytes_in(root.parent, but=(root.name,)) | {"secret": secret}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    root = tmp_path_factory.mktemp("house") / "data"
    memory, chat = root / "memory", ScriptedChat()
    plant(memory, TWINS)
    plant_links(memory, memory / "scopes" / "家人")
    plant_links(memory, memory / "scopes" / "公司", hard=True)
    (root.parent / "outside.md").write_text(f"## {CANARY} ^m-00000000000000aa\n", "utf-8")
    (memory / "scopes" / "秘密").mkdir()
    said, by = f"保险箱的密码是 {CANARY}", Provenance("站长", ADMIN.person)
    secret = Memory(SECRET_ID, said, NOW, provenance=by)
    (memory / "scopes" / "秘密" / "entities.md").write_text(render(secret), "utf-8")
    (memory / "scopes" / "家人" / "entities-9.md").symlink_to(root.parent / "outside.md")
    qa = RoleSeat(EnginePaths.under(root).leases, "qa", lambda: datetime.now(UTC))
    qa.take("tester")
    async with running(root, WHOLE_MAP, chat=chat, follow=False) as rig:
        assert await rig.texts("保险箱的密码是什么", SECRET)
        yield House(rig, chat)
    qa.release()


async def turn(service: Any, name: str, at: dict[str, Any], actor: Actor) -> None:
    """As the plugin does it, and what a reader of it may send back."""
    asked = {"seconds": 60, "limit": 5, "token_budget": 500, "history": name, "primed": True}
    start = await service.begin_turn(name, **at, actor=actor, **asked)
    assert not start.faults
    await start.contact
    ticket = await service.observe(Turn(actor, name, name, (name,), history=name), **at)
    if isinstance(ticket, Ticket):
        found = Feedback((name,), (MemoryDraft(name, actor=actor),), (name,))
        await service.feedback(found, ticket=ticket)


def calls(service: Any, where: ConversationId, name: str) -> Iterator[Awaitable[object]]:
    """Every call that a conversation can make, with one hostile name in each argument."""
    at: dict[str, Any] = {"conversation_id": where}
    by, stranger = {**at, "actor": ADMIN}, Actor(name, name)
    for number, (topic, kind) in enumerate(zip(Topic, cycle(MemoryKind), strict=False)):
        said, who = f"{name} is number {number} of {topic}", Actor(name, name, admin=True)
        draft = MemoryDraft(said, name, tags=(name,), kind=kind, topic=topic, actor=who)
        proposed = topic is Topic.DECISIONS
        yield service.remember(replace(draft, proposed=proposed, key=f"{topic} {name}"), **at)
    yield service.recall(name, **at, limit=5, token_budget=500, actor=stranger, on=name)
    yield turn(service, name, at, stranger)
    for action in get_args(TaskAction):
        change = TaskChange(action, (name, f"2 {name}"), name, name)
        yield service.update_tasks(change, **at, actor=stranger)
    yield service.read(name, **at)
    yield service.expand(name, **at)
    yield service.talk_of(name, **at)
    yield service.transcript(name, name, **at)
    yield service.newest(**at, naming=name)
    yield service.overview(**by, token_budget=500)
    yield service.explain(**at)
    yield service.describe(**at)
    yield service.export(**by)
    for folder, token in ((name, name), ("qa", name), ("../shared", "x" * 43)):
        yield service.note_role(RoleNote(RoleLease(folder, token), name, name), **at)
    yield service.forget(name, **by)
    yield service.forget(name, **by, for_good=True)
    yield service.edit(name, name, **by)
    yield service.move(name, name, **by)
    yield service.vouch(name, **by)
    yield service.restore(name, **by)
    yield service.import_(name, **by)
    yield service.bring((name,), **by)
    yield service.change_map({**WHOLE_MAP, name: name}, **by)
    settled = Accept(name, unseen=True), Reject(name, why=name), Withdraw(2)
    for decided in (ListDecisions(), *settled):
        yield service.decide(decided, **by)
    yield service.pause(**by)
    yield service.resume(**by)


async def answered(call: Awaitable[object]) -> object:
    """What is answered, or the words of a refusal. Another error is not caught."""
    try:
        return await call
    except ScopedMemoryError as error:
        assert str(error).strip()
        return error


@given(where=places, name=texts)
@settings(max_examples=max(20, settings().max_examples // 2))
async def test_each_call_is_answered_and_touches_nothing_foreign(
    house: House, where: ConversationId, name: str
) -> None:
    before = house.foreign()
    for call in calls(house.rig.engine.service, where, name):
        assert CANARY not in repr(await answered(call))
    assert house.foreign() == before


async def test_what_was_asked_for_was_done_where_it_may_be(house: House) -> None:
    """Else the test before would prove nothing."""
    for name in (*TEXTS[::30], ODD[0]):
        for call in calls(house.rig.engine.service, HARD_LINKED, name):
            await answered(call)
    places = {stored.path for stored in house.rig.living() if stored.scope.name == "公司"}
    assert {f"{topic.value}.md" for topic in Topic if topic is not Topic.JOURNAL} <= places


async def test_no_answer_of_a_model_leads_there_and_no_night_writes_there(house: House) -> None:
    before, chat = house.foreign(), house.chat
    stored = [one.memory.memory_id for one in house.rig.living()][:12]
    for some in batched([*TEXTS[::2], *ODD, *stored], 16):
        new = [
            learned(f"{name} 的规矩", reasoning=name, tags=[name], asks=[name], kind=name)
            | {"path": name, "scope": "@shared", "topic": name, "decision": True, "who": name}
            for name in some
        ]
        against = [{"old_id": name, "new": new[0]} for name in some]
        merges = [{"ids": some, "new": new[0]}]
        fates = {"useful_ids": some, "useless_ids": some}
        chat.add(answer(*new, **fates, contradictions=against, merges=merges))
        for where in (LINKED, HARD_LINKED):
            await say(house.rig, " ".join(some[:3]), where=where, recalled=tuple(some))
            await reflect(house.rig, where)
    assert len(chat.calls) >= 6
    await house.rig.engine.reconcile()
    await house.rig.night()
    for where in (LINKED, HARD_LINKED, PUBLIC):
        await answered(house.rig.engine.service.refresh_overview(conversation_id=where))
    assert house.foreign() == before
