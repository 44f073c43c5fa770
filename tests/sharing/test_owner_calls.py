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

from astrbot_plugin_scoped_memory.llm_memory import ConversationId, DeedKind, is_changed
from astrbot_plugin_scoped_memory.llm_memory.composition.owner import PERSON, Owner
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    is_denied,
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
        server = SharingServer(rig.engine.service, tmp_path / "state", owner=Owner(rig.engine))
        remote = RemoteMemory(await server.open())
        try:
            yield Shared(rig, remote.owner)
        finally:
            await server.close()


async def test_what_holds_everywhere_changes_at_its_own_level(shared: Shared) -> None:
    everywhere = await shared.log("I prefer short answers", "preference")
    assert is_denied(await shared.owner.forget(everywhere, conversation_id=SHOP))
    assert is_changed(
        await shared.owner.forget(everywhere, conversation_id=HOME), DeedKind.FORGOTTEN
    )
    back = await shared.owner.restore(everywhere, conversation_id=HOME)
    assert is_changed(back, DeedKind.FORGOTTEN, undone=True)
    assert back.memory.scope.name == "public"


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
