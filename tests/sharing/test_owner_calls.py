"""What the owner of a home asks of the program that has it open, and who cannot ask that."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.home.owner_door import PERSON, OwnerDoor
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Edited,
    Forgotten,
    NotAllowed,
    NotVisible,
    Rejected,
    Restored,
    Undone,
)
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import (
    Accept,
    Decisions,
    Draft,
    ListDecisions,
    NotRecorded,
    Recorded,
    Reference,
    Reject,
    Withdraw,
)
from astrbot_plugin_scoped_memory.llm_memory.sharing.ports import OwnerMemory, SharedMemory
from astrbot_plugin_scoped_memory.llm_memory.sharing.remote_memory import RemoteMemory
from astrbot_plugin_scoped_memory.llm_memory.sharing.server import SharingServer
from astrbot_plugin_scoped_memory.tests.support.agents.agents import (
    AgentRig,
    agent_home,
    pointer_in,
    tools_of,
)

pytestmark = pytest.mark.engine

SHOP = ConversationId.parse("mcp:project:shop")
OTHER = ConversationId.parse("mcp:project:other")
HOME = ConversationId.parse("mcp:global:home")


@dataclass
class Shared:
    """A home that one program has open, and the owner's calls of another."""

    rig: AgentRig
    owner: OwnerMemory

    async def log(self, content: str, type_: str = "decision", project: str = "shop") -> str:
        """Returns the id of what an agent logs."""
        said = await self.rig.say("memory_log", project, content=content, type=type_)
        return pointer_in(said).rpartition("#")[2]


@pytest_asyncio.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Shared]:
    async with agent_home(tmp_path) as rig:
        door = OwnerDoor(rig.engine, lambda: "no key")
        server = SharingServer(rig.engine.service, tmp_path / "state", owner=door)
        remote = RemoteMemory(await server.open())
        try:
            yield Shared(rig, remote.owner)
        finally:
            await server.close()


async def test_what_an_agent_logged_is_forgotten_edited_and_brought_back(shared: Shared) -> None:
    port = await shared.log("The staging port is 6432")
    gone = await shared.owner.forget(port, conversation_id=SHOP)
    assert isinstance(gone, Forgotten)
    assert isinstance(await shared.owner.restore(port, conversation_id=SHOP), Restored)
    edited = await shared.owner.edit(port, "The staging port is 7000", conversation_id=SHOP)
    assert isinstance(edited, Edited)
    assert (edited.before, edited.memory.memory.judgment) == (
        "The staging port is 6432",
        "The staging port is 7000",
    )
    assert edited.memory.memory.reworded
    assert not edited.memory.memory.provenance.trusted  # words are not a voucher
    assert isinstance(await shared.owner.restore(conversation_id=SHOP), Undone)
    assert isinstance(await shared.owner.edit(port, " ", conversation_id=SHOP), Rejected)
    assert await shared.owner.restore(conversation_id=SHOP) == NotVisible("")


async def test_nothing_of_another_project_is_reached(shared: Shared) -> None:
    theirs = await shared.log("The staging port is 6432", project="other")
    for conversation in (SHOP, HOME):
        assert (await shared.owner.listed(conversation_id=conversation, limit=9)).memories == ()
        for answer in (
            await shared.owner.forget(theirs, conversation_id=conversation),
            await shared.owner.edit(theirs, "x y z", conversation_id=conversation),
            await shared.owner.restore(theirs, conversation_id=conversation),
        ):
            assert answer == NotVisible(theirs)
    assert isinstance(await shared.owner.forget(theirs, conversation_id=OTHER), Forgotten)
    for conversation in (SHOP, HOME):
        assert await shared.owner.restore(conversation_id=conversation) == NotVisible("")
    assert isinstance(await shared.owner.restore(conversation_id=OTHER), Restored)


async def test_what_holds_everywhere_changes_at_its_own_level(shared: Shared) -> None:
    everywhere = await shared.log("I prefer short answers", "preference")
    assert isinstance(await shared.owner.forget(everywhere, conversation_id=SHOP), NotAllowed)
    assert isinstance(await shared.owner.forget(everywhere, conversation_id=HOME), Forgotten)
    # The last that the owner did, also at the other level of this store.
    back = await shared.owner.restore(conversation_id=SHOP)
    assert isinstance(back, Restored)
    assert back.memory.scope.name == "public"


async def test_a_list_has_the_newest_and_says_that_there_are_more(shared: Shared) -> None:
    for number in range(2):
        await shared.log(f"Drawer {number} holds the keys of shelf {number * 7}")
        await shared.log(f"I prefer tea number {number} in the morning", "preference")
    whole = await shared.owner.listed(conversation_id=SHOP, limit=4)
    assert (len(whole.memories), whole.more) == (4, False)
    some = await shared.owner.listed(conversation_id=SHOP, limit=2)
    assert (some.memories, some.more) == (whole.memories[:2], True)
    mine = await shared.owner.listed(conversation_id=SHOP, limit=1, public=False)
    assert [stored.scope.name for stored in mine.memories] == ["project-shop"]
    named = await shared.owner.listed(conversation_id=SHOP, limit=9, naming="TEA 1")
    assert len(named.memories) == 1


async def test_a_status_counts_what_there_is(shared: Shared) -> None:
    await shared.log("Write the release notes", "task")
    await shared.rig.until_ready()
    status = await shared.owner.status(conversation_id=SHOP)
    assert dict(status.memories) == {"project-shop": 1}
    assert (status.notes, status.tasks, status.vectors) == (0, 1, None)
    assert (status.embedder, status.refused) == ("lexical", "no key")


async def test_each_decision_goes_over_as_what_it_is(shared: Shared) -> None:
    """`tests/decisions` tells what becomes of one."""
    proposal = await shared.log("Orders are kept in PostgreSQL")
    for change, kind in (
        (Accept(proposal, Reference("12")), Draft),
        (Accept(proposal, unseen=True), Recorded),
        (Reject(proposal), NotRecorded),
        (ListDecisions(), Decisions),
        (Withdraw(1, unseen=True), Recorded),
    ):
        outcome = await shared.owner.decide(change, conversation_id=SHOP)
        assert type(outcome) is kind, outcome


async def test_no_tool_of_an_agent_reaches_an_owners_call() -> None:
    """Whatever a client writes into the arguments."""
    owners = {name for name in vars(OwnerMemory) if not name.startswith("_")}
    asked: list[str] = []

    class Asked:
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            raise RuntimeError(name)

    memory: Any = Asked()
    assert not owners & set(vars(SharedMemory))
    tools = tools_of(memory)
    for name, tool in tools.offered.items():
        for text in (*owners, "owner:cli", json.dumps([{"title": "forget", "status": "done"}])):
            await tools.call(name, dict.fromkeys(signature(tool).parameters, text), PERSON)
    assert asked
    assert not set(asked) & owners
