"""One home for all tests of a module: each takes a project of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.tests.support.agents.agents import AgentRig, agent_home


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AgentRig]:
    async with agent_home(tmp_path_factory.mktemp("home")) as opened:
        await opened.until_ready()
        yield opened
