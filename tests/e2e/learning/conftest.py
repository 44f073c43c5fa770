"""A bot that learns, also what was decided, under ``soul_evolution: auto``, beside services that
answer in the place of AstrBot. Days pass."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.bots import BOTS
from astrbot_plugin_scoped_memory.tests.e2e.clock import MovedClock
from astrbot_plugin_scoped_memory.tests.e2e.learning.services import Mind, Services


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def services() -> AsyncIterator[Services]:
    async with Services() as running:
        yield running


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory, services: Services) -> AsyncIterator[Rig]:
    def redirected(rig: Rig) -> None:
        # The one service whose address AstrBot's settings do not hold.
        rig.bot.environment = {**rig.bot.environment, "DASHSCOPE_HTTP_BASE_URL": services.url}

    root = tmp_path_factory.mktemp("learning-bot")
    clock, workflow = MovedClock(root / "ahead"), root / "workflow.toml"
    workflow.write_text("[memory]\nauto_inject_topk = 3\n", encoding="utf-8")
    owners = BOTS["learning"]
    config = owners["config"] | {"advanced": {"workflow_file": str(workflow)}}
    rig = Rig(root, clock=clock, before_start=redirected, **owners | {"config": config})
    async with rig as running:
        await running.panel.ready()
        running.model.script = Mind()
        clock.set_to(10, days=1)  # no midnight comes by itself
        yield running


@pytest.fixture
def mind(rig: Rig) -> Mind:
    assert isinstance(rig.model.script, Mind)
    return rig.model.script
