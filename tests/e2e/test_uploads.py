"""The plugin uninstalled, and uploaded as a zip: these leave little of a bot's memory."""

import zipfile
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.panel import PanelError
from astrbot_plugin_scoped_memory.harness.places import group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.test_missing_packages import (
    ABSENT,
    FACT,
    QUESTION,
    ROOM,
    SPEAKER,
    said,
    works,
)
from astrbot_plugin_scoped_memory.tests.house.source import script

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]


def with_another(archive: Path, ending: str, more: str) -> None:
    """Add ``more`` to the file of the zip that ends so."""
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(archive, "w") as new:
        for name, content in files.items():
            new.writestr(name, content + more.encode() if name.endswith(ending) else content)


async def test_an_uninstall_that_keeps_the_data_loses_nothing_and_the_map_stays(
    owners: Rig, tmp_path: Path
) -> None:
    running = owners
    mapped = (await running.panel.config())["conversation_scope_map"]
    await running.panel.map_scopes(mapped | {ROOM.umo: "邻里"})
    await running.panel.ready()
    await works(running)
    for slim in (True, False):
        await running.panel.uninstall(config=False, data=False)
        assert not (running.bot.plugins / PLUGIN).exists()
        assert scopes_with(running.memory, FACT) == {"邻里"}
        await running.panel.install(script("make_zip").make_zip(tmp_path, slim=slim))
        await running.panel.activated()
        await running.panel.ready()
        assert FACT in (await running.turn(ROOM, SPEAKER, QUESTION)).injected
        assert FACT not in (await running.turn(group(223), SPEAKER, QUESTION)).injected


async def upload_without_packages(running: Rig, root: Path) -> None:
    """An upload whose packages failed is loaded by the first start after it."""
    folder = running.bot.plugins / PLUGIN
    await running.panel.uninstall(config=True, data=True)
    assert not folder.exists()
    archive = script("make_zip").make_zip(root, slim=True)
    with_another(archive, "/requirements.txt", f"{ABSENT}>=1\n")
    with pytest.raises(PanelError):
        await running.panel.install(archive)
    running.bot.kill9()
    await running.start()
    await works(running)
    await said(running, ABSENT, "安装 pip 库")


async def test_after_an_upload_whose_packages_failed_the_first_start_loads_it(
    owners: Rig, tmp_path: Path
) -> None:
    await upload_without_packages(owners, tmp_path)
