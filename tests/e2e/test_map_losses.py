"""A map that does not reach its groups: short and mistyped keys, a renamed account, a copied
folder."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import ADAPTER, Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

ADMIN = Person(9100, "管理员")
MEMBER = Person(8811, "阿家")
FAMILY, WORK, CLUB = group(777_001), group(888_002), group(999_003)
RENAMED = "xiaobao"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """A bot of this file's own, whose map is written short, and once wrongly."""
    config = {
        "conversation_scope_map": {
            f"{ADAPTER}:group:{FAMILY.number}": "家人",
            f"{WORK.number}": "公司",
            f"{ADAPTER}:friend:{MEMBER.user_id}": "家人",
        }
    }
    root = tmp_path_factory.mktemp("map-bot")
    async with Rig(root, admins=[ADMIN.user_id], config=config) as rig:
        yield rig


async def warnings(rig: Rig) -> str:
    """What the status warns of."""
    return "\n".join((await rig.panel.ready())["warnings"])


async def add(rig: Rig, place: Place, text: str) -> set[str]:
    """Adds a memory by command; the scopes that have it then."""
    await rig.onebot.ask(place, MEMBER, f"/memory add {text}")
    return scopes_with(rig.memory, text)


async def test_short_keys_are_understood_and_an_unreadable_one_publishes_nothing(
    running: Rig,
) -> None:
    assert await add(running, FAMILY, "奶奶对花生过敏，别放坚果") == {"家人"}
    assert await add(running, WORK, "报表每周五下午四点交") == set()
    said = await running.onebot.ask(WORK, MEMBER, "/memory scope")
    assert "只能读公共记忆" in said
    assert str(WORK.number) in said
    assert f"{WORK.umo} → 公司" in await warnings(running)
    assert await add(running, CLUB, "图书馆每周一闭馆") == {"public"}


async def test_a_mended_typo_raises_no_alarm(running: Rig) -> None:
    mistyped = f"{ADAPTER}:GroupMessage:{WORK.number}0"
    await running.panel.map_scopes({mistyped: "公司"})
    await running.panel.ready()
    await running.onebot.ask(WORK, ADMIN, "/memory scope confirm")  # the family's key went, too
    await running.panel.map_scopes({WORK.umo: "公司"})
    assert "会话表" not in await warnings(running)
    assert await add(running, WORK, "会议室钥匙在前台抽屉") == {"公司"}
    await running.panel.map_scopes({WORK.umo: "公司", FAMILY.umo: "家人"})
    await running.panel.ready()


async def rename(rig: Rig, name: str) -> None:
    """The owner gives the bot account another name, between two starts."""
    await asyncio.to_thread(rig.bot.sigterm)
    file = rig.bot.data / "cmd_config.json"
    settings = json.loads(file.read_text(encoding="utf-8-sig"))
    settings["platform"][0]["id"] = name
    file.write_text(json.dumps(settings, ensure_ascii=False), encoding="utf-8")
    await rig.start()


async def test_a_renamed_account_publishes_no_family_and_the_repaired_lines_bring_it_back(
    running: Rig,
) -> None:
    await rename(running, RENAMED)
    text = "爷爷的降压药在床头柜"
    for place in (FAMILY, WORK, CLUB):
        assert await add(running, place, text) == set()
    told = await warnings(running)
    lines = [line for line in told.split("\n") if line.startswith(f"{RENAMED}:") and "→" in line]
    repaired = dict(line.split(" → ") for line in lines)
    assert repaired == {
        f"{RENAMED}:GroupMessage:{FAMILY.number}": "家人",
        f"{RENAMED}:GroupMessage:{WORK.number}": "公司",
    }
    seen = await running.onebot.ask(CLUB, MEMBER, "/memory search 图书馆 闭馆")
    assert "图书馆每周一闭馆" in seen
    await running.panel.map_scopes(repaired)
    assert "会话表" not in await warnings(running)
    assert await add(running, FAMILY, text) == {"家人"}
    assert "花生" in await running.onebot.ask(FAMILY, MEMBER, "/memory search 花生 过敏")


async def test_a_folder_that_comes_without_map_and_state_publishes_nothing_until_confirmed(
    running: Rig,
) -> None:
    await asyncio.to_thread(running.bot.sigterm)
    shutil.rmtree(running.bot.plugin_data / "state")
    config = json.loads(running.bot.plugin_config.read_text(encoding="utf-8-sig"))
    config["conversation_scope_map"] = {}
    running.bot.plugin_config.write_text(json.dumps(config), encoding="utf-8")
    await running.start()
    assert await add(running, FAMILY, "叔叔下个月搬回老家住") == set()
    told = await warnings(running)
    assert f"{RENAMED}:GroupMessage:{FAMILY.number} → 家人" in told
    await running.onebot.ask(CLUB, MEMBER, "/memory scope confirm")
    assert await add(running, CLUB, "球馆周三停电检修") == set()
    await running.onebot.ask(CLUB, ADMIN, "/memory scope confirm")
    assert "会话表" not in await warnings(running)
    assert await add(running, CLUB, "球馆周三停电检修") == {"public"}
