"""A bot under ``soul_evolution: auto``, beside services that answer in the place of AstrBot."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.bots import rig_of
from astrbot_plugin_scoped_memory.tests.e2e.soul.services import Mind, Services


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def services() -> AsyncIterator[Services]:
    async with Services() as running:
        yield running


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory, services: Services) -> AsyncIterator[Rig]:
    def redirected(bot: Rig) -> None:
        # The one service whose address AstrBot's settings do not hold.
        bot.bot.environment = {**bot.bot.environment, "DASHSCOPE_HTTP_BASE_URL": services.url}

    root = tmp_path_factory.mktemp("soul-bot")
    async with rig_of("soul", root, before_start=redirected) as running:
        running.model.script = Mind()
        running.clock.set_to(10, days=1)  # no midnight comes by itself
        yield running


@pytest.fixture
def mind(rig: Rig) -> Mind:
    assert isinstance(rig.model.script, Mind)
    return rig.model.script
