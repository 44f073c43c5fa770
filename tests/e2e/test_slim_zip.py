"""The slim zip, uploaded in the panel of a running bot: it replaces what is there and works."""

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.house.source import script

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.timeout(240),
    pytest.mark.asyncio(loop_scope="session"),
]

FACT = "备用钥匙在门卫老张那里"
QUESTION = "备用钥匙在谁那里"


async def test_it_is_installed_by_an_upload_and_asks_for_nothing_more(
    rig: Rig, room: Place, person: Person, tmp_path: Path
) -> None:
    assert (await rig.remember(room, person, FACT)).startswith("ok")
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
    assert "sentence-transformers" not in log
    assert [warning for warning in status["warnings"] if "sentence-transformers" in warning] == []
    assert FACT in await rig.recall(room, person, QUESTION)
    assert FACT in (await rig.turn(room, person, QUESTION)).injected
