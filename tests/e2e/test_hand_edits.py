"""A person edits the files while the bot runs, and the bot follows."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Place
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, ROOM_A

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]


async def until_found(rig: Rig, place: Place, words: str, text: str) -> str:
    """Search until the text is found: the answer."""

    async def probe() -> str | None:
        answer = await rig.onebot.ask(place, MEMBER, f"/memory search {words}")
        return answer if text in answer else None

    return await until(probe, within=30, what=text)


async def test_an_edit_by_hand_is_recalled_and_what_is_written_anew_gets_an_id(rig: Rig) -> None:
    old, new = "体检的报告在抽屉第一格", "体检的报告在抽屉第四格"
    await rig.onebot.ask(ROOM_A, MEMBER, f"/memory add {old}")
    path = rig.memory / files_with(rig.memory, old)[0]
    text = path.read_text("utf-8").replace(old, new)
    path.write_text(f"{text}\n## 除湿机每周三倒水\n", "utf-8")
    answer = await until_found(rig, ROOM_A, "体检 报告", new)
    assert old not in answer
    await until_found(rig, ROOM_A, "除湿机 倒水", "除湿机每周三倒水")
    assert "## 除湿机每周三倒水 ^m-" in path.read_text("utf-8")
    assert scopes_with(rig.memory, "除湿机每周三倒水") == {"测试甲"}
