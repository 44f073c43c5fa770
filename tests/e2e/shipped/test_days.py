"""A day of a bot whose owner has installed the plugin and set nothing. And what happens to the
plugin there: uploads, an uninstall, a kill.

Recall has its 800 ms, the bundled model makes the vectors, and turns are read when it is time.
"""

import zipfile
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.panel import PanelError
from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import ABSENT, stored, warned
from astrbot_plugin_scoped_memory.tests.house.source import script

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

OWNER, MOTHER, SON = Person(9400, "房主"), Person(8501, "妈妈"), Person(8502, "儿子")
HOME, COUSINS, WORK = group(660_001), group(660_002), group(660_003)
FACT, QUESTION = "爷爷对芒果过敏", "爷爷能吃芒果吗"
PASSING = "排队排得我直喝燕麦奶，别的奶我都喝不惯"
LEARNED, WHICH_MILK = "妈妈只喝得惯燕麦奶", "妈妈喝得惯什么奶"


async def in_step(rig: Rig) -> None:
    """The index has caught up, by the bundled model."""

    async def probe() -> bool:
        status = await rig.panel.ready()
        return (status["embedder"], status["index"], status["backlog"]) == ("bundled", "ready", 0)

    await until(probe, within=120, what="an index by the bundled model")


@through_a_kill
async def test_an_owners_first_day_and_all_is_known_after_a_kill(rig: Rig) -> AsyncGenerator[None]:
    """From the map to what was learned in passing."""
    for place in (HOME, COUSINS):
        assert "好了" in await rig.onebot.ask(place, OWNER, "/记忆 域 老家")
    remember = call("core_memory_remember", {"judgment": FACT})
    rig.model.on(f"记住，{FACT}", remember, then="好。")
    await rig.turn(HOME, MOTHER, f"记住，{FACT}")
    assert scopes_with(rig.memory, FACT) == {"老家"}
    await in_step(rig)
    turns = [await rig.turn(COUSINS, SON, QUESTION) for _ in range(20)]
    in_time = [turn for turn in turns if FACT in turn.injected]
    assert len(in_time) >= 19, "within the shipped deadline; none is asked again"
    elsewhere = await rig.turn(WORK, SON, QUESTION)
    assert "过敏" not in elsewhere.first.everything

    learned = {"judgment": LEARNED, "kind": "knowledge", "turn": 1, "who": "s1"}
    rig.model.on_reflection(PASSING, {"new_memories": [learned]})
    await rig.turn(HOME, MOTHER, PASSING)
    for number in range(9):
        await rig.turn(HOME, MOTHER, f"今天的晚霞真好看，第{number}次说")

    async def read() -> bool:
        return scopes_with(rig.memory, LEARNED) == {"老家"}

    await until(read, within=120, what="the memory of what was said in passing")
    assert files_with(rig.memory / "scopes" / "public", LEARNED) == []
    assert FACT in await rig.onebot.ask(HOME, MOTHER, "/记忆 忘记 芒果")
    assert scopes_with(rig.memory, FACT) == set()
    assert FACT in await rig.onebot.ask(HOME, MOTHER, "/记忆 撤销")
    assert "这里看得到" in await rig.onebot.ask(HOME, OWNER, "/记忆 状态")
    warnings = (await rig.panel.ready())["warnings"]
    assert [one for one in warnings if "私聊机器人" not in one] == []  # of the tour's father
    yield
    await rig.panel.indexed()
    assert FACT in await rig.recall(COUSINS, SON, QUESTION)
    assert LEARNED in await rig.recall(COUSINS, SON, WHICH_MILK)


def with_more(archive: Path, ending: str, more: str) -> Path:
    """The zip, with ``more`` behind the file that ends so."""
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(archive, "w") as new:
        for name, content in files.items():
            new.writestr(name, content + more.encode() if name.endswith(ending) else content)
    return archive


@through_a_kill
async def test_uploads_and_uninstalls_lose_nothing_and_what_could_not_be_installed_loads_later(
    rig: Rig, room: Place, person: Person, tmp_path: Path
) -> AsyncGenerator[None]:
    """An upload replaces what is there, and the slim one asks for nothing more; an uninstall keeps
    the data; and behind an upload whose packages failed the next start loads the plugin."""
    await stored(rig, room, person, "备用钥匙在门口第三个花盆底下")
    installed = rig.bot.plugins / PLUGIN
    (installed / "core" / "of_an_older_version.py").touch()
    before = len(rig.bot.logs())
    slim = script("make_zip").make_zip(tmp_path, slim=True)
    await rig.panel.install(slim)
    await rig.panel.activated()
    status = await rig.panel.ready()
    assert not (installed / "core" / "of_an_older_version.py").exists()
    said = rig.bot.logs()[before:] + "".join(status["warnings"])
    assert [words for words in ("缺少依赖", "sentence-transformers") if words in said] == []

    await rig.panel.uninstall(config=False, data=False)
    assert not installed.exists()
    with pytest.raises(PanelError):
        await rig.panel.install(with_more(slim, "/requirements.txt", f"{ABSENT}>=1\n"))
    yield
    assert "第三个花盆底下" in await rig.recall(room, person, "备用钥匙在门口哪里")
    await stored(rig, room, person, "雨伞在门口的铁桶里")
    await warned(rig, ABSENT)
