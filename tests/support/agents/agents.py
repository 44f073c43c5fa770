"""A home as coding agents see it: a real engine over a folder, and the six tools over that."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import (
    Engine,
    Refused,
)
from astrbot_plugin_scoped_memory.llm_memory.composition.engine import build_engine
from astrbot_plugin_scoped_memory.llm_memory.home.owned_store import engine_settings
from astrbot_plugin_scoped_memory.llm_memory.home.settings import HomeSettings
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.answers import Answer
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.levels import (
    GLOBAL,
    PROJECT,
    Level,
    Levels,
    global_conversation,
    project_conversation,
)
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.models.settings import PrivacyMode
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.sharing.ports import SharedMemory
from astrbot_plugin_scoped_memory.llm_memory.text.refusal_words import refusal_words
from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary

_POINTER = re.compile(r"(?:project|global)/[\w/.-]+\.md#m-[0-9a-z]+")


def pointer_in(text: str) -> str:
    """The first pointer of an answer."""
    found = _POINTER.search(text)
    assert found, text
    return found[0]


def refusal(reason: str, detail: str = "", *private: str) -> str:
    """What an agent is told of a refusal."""
    return refusal_words(Refused(reason, detail=detail, private=private)).text("en")


def levels(memory: SharedMemory, project: str = "shop") -> Levels:
    """What an agent of a project in the home sees; outside projects for an empty name."""
    global_level = Level(GLOBAL, memory, global_conversation())
    if not project:
        return Levels(global_level)
    return Levels(global_level, Level(PROJECT, memory, project_conversation(project)))


def tools_of(memory: SharedMemory, project: str = "shop") -> MemoryTools:
    """The tools of an agent that works on a project."""
    return MemoryTools(levels(memory, project))


@dataclass
class AgentRig:
    """An open home."""

    engine: Engine
    root: Path

    @property
    def scopes(self) -> Path:
        """The folder with a folder for each scope."""
        return self.root / "memory" / "scopes"

    def tools(self, project: str = "shop") -> MemoryTools:
        """The tools of an agent that works on a project."""
        return tools_of(self.engine.service, project)

    async def until_ready(self) -> None:
        """Wait for the index of words."""
        async with asyncio.timeout(30):
            while True:
                if (await self.engine.status()).words == "ready":
                    return
                await asyncio.sleep(0.01)

    async def say(self, name: str, project: str = "shop", **arguments: object) -> str:
        """What a tool answers that must not fail."""
        answer = await self.call(name, project, **arguments)
        assert not answer.failed, answer.text
        return answer.text

    async def call(self, name: str, project: str = "shop", **arguments: object) -> Answer:
        """What a tool answers."""
        return await self.tools(project).call(name, arguments, "tester")

    def texts(self) -> dict[str, str]:
        """Every file of the memory, by its path below the scopes."""
        return {
            path.relative_to(self.scopes).as_posix(): path.read_text("utf-8")
            for path in self.scopes.rglob("*.md")
        }


@contextlib.asynccontextmanager
async def agent_home(
    root: Path, privacy: PrivacyMode = PrivacyMode.REDACT
) -> AsyncIterator[AgentRig]:
    """A home with an engine as ``serve`` makes it, that finds by words."""
    settings = engine_settings(HomeSettings(root, embedding="lexical", privacy_mode=privacy))
    put_dictionary(root)
    engine = build_engine(EnginePaths.under(root), settings, version="0.0.1", remembers=True)
    task: asyncio.Task[None] | None = None
    try:
        await engine.open()
        task = asyncio.create_task(engine.run(None))
        yield AgentRig(engine, root)
    finally:
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await engine.close()
