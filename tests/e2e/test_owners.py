"""An owner's first days in the newest AstrBot: the story, an hour, uploads and uninstalls."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Place
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e import story
from astrbot_plugin_scoped_memory.tests.e2e.bots import bot, through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, saves
from astrbot_plugin_scoped_memory.tests.e2e.packages import (
    ABSENT,
    FACT,
    QUESTION,
    told,
    upload_without_packages,
    works,
)
from astrbot_plugin_scoped_memory.tests.house.source import script

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

rig = bot("owners")


async def test_the_story_holds_in_the_newest_astrbot(rig: Rig) -> None:
    assert await story.play(rig) == [], await rig.bot.logged("AstrBot v")

    async def has_model() -> bool:
        """What an owner has who has set nothing: the bundled model, and an index."""
        status = await rig.panel.status()
        return (status["embedder"], status["index"], status["backlog"]) == ("bundled", "ready", 0)

    await until(has_model, within=90, what="an index by the bundled model")


async def test_the_first_hour_goes_well(rig: Rig, tmp_path: Path) -> None:
    await story.first_hour(rig, tmp_path)


async def test_an_uninstall_that_keeps_the_data_loses_nothing_and_the_map_stays(
    rig: Rig, room: Place, tmp_path: Path
) -> None:
    mapped = (await rig.panel.config())["conversation_scope_map"]
    await saves(rig, conversation_scope_map=mapped | {room.umo: "邻里"})
    await works(rig, room)
    await rig.panel.uninstall(config=False, data=False)
    assert not (rig.bot.plugins / PLUGIN).exists()
    assert scopes_with(rig.memory, FACT) == {"邻里"}
    await rig.panel.install(script("make_zip").make_zip(tmp_path, slim=False))
    await rig.panel.activated()
    await rig.panel.ready()
    assert FACT in (await rig.turn(room, MEMBER, QUESTION)).injected
    assert FACT not in (await rig.turn(story.WORK, MEMBER, QUESTION)).injected


async def test_an_upload_replaces_what_is_there_and_the_slim_one_asks_for_nothing_more(
    rig: Rig, tmp_path: Path
) -> None:
    installed = rig.bot.plugins / PLUGIN
    (installed / "core" / "of_an_older_version.py").touch()
    before = len(rig.bot.logs())
    await rig.panel.install(script("make_zip").make_zip(tmp_path, slim=True))
    await rig.panel.activated()
    status = await rig.panel.ready()
    log = rig.bot.logs()[before:]
    assert not (installed / "core" / "of_an_older_version.py").exists()
    assert "sentence-transformers" not in (installed / "requirements.txt").read_text("utf-8")
    assert "缺少依赖" not in log
    assert "sentence-transformers" not in log + "".join(status["warnings"])


@through_a_kill
async def test_after_an_upload_whose_packages_failed_the_first_start_loads_it(
    rig: Rig, room: Place, tmp_path: Path
) -> AsyncGenerator[None]:
    await upload_without_packages(rig, tmp_path)
    yield
    await works(rig, room)
    await told(rig, ABSENT, "安装 pip 库")
