"""A person writes memories and notes into the folder while the bot runs, and the bot follows."""

import re

import pytest

from astrbot_plugin_scoped_memory.harness.places import Place
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, ROOM_A, ROOM_B

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

MANY = 1_000
_ID = re.compile(r" \^(m-[0-9a-z]{16})$", re.MULTILINE)
HANDBOOK = (
    "# 鱼缸手册\n\n## 换水\n\n每次换三分之一，水先晒一天。\n\n```sh\n# 定时\ncron 换水\n```\n"
)
PLAN = "# 钓鱼计划\n\n八月去密云水库的东岸。\n"


async def until_found(rig: Rig, place: Place, words: str, text: str) -> str:
    """Search until the text is found: the answer."""

    async def probe() -> str | None:
        answer = await rig.onebot.ask(place, MEMBER, f"/memory search {words}")
        return answer if text in answer else None

    return await until(probe, within=60, what=text)


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


async def test_each_of_many_entries_gets_an_id_of_its_own(rig: Rig) -> None:
    before = (await rig.panel.ready())["memories"]["by_scope"].get("测试乙", 0)
    path = rig.memory / "scopes/测试乙/decisions.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"\n- 第{n}号货架摆放零件{n * 7}\n" for n in range(MANY))

    async def named() -> list[str] | None:
        found = _ID.findall(path.read_text("utf-8"))
        return found if len(found) >= MANY else None

    found = await until(named, within=120, what="ids in the file")
    assert len(set(found)) == len(found) == MANY
    last = f"第{MANY - 1}号货架"
    assert found[-1] in await until_found(rig, ROOM_B, last, last)
    assert (await rig.panel.ready())["memories"]["by_scope"]["测试乙"] == before + MANY


async def pointer_of(rig: Rig, place: Place, query: str, text: str) -> str:
    """Recall until the text is found: its pointer."""

    async def probe() -> str | None:
        answer = await rig.recall(place, MEMBER, query)
        line = next((line for line in answer.splitlines() if text in line), "")
        found = re.search(r"\[笔记 · [^\]]*?([^ ]+\.md#n-[0-9a-f]+)\]", line)
        return found[1] if found else None

    return await until(probe, within=30, what=text)


async def test_notes_are_found_and_opened_by_those_who_see_their_folder(rig: Rig) -> None:
    for path, text in {"shared/鱼缸.md": HANDBOOK, "scopes/测试甲/钓鱼.md": PLAN}.items():
        (rig.memory / path).parent.mkdir(parents=True, exist_ok=True)
        (rig.memory / path).write_text(text, "utf-8")
    plan = await pointer_of(rig, ROOM_A, "去密云水库钓鱼的计划", "密云水库的东岸")
    assert plan.startswith("钓鱼.md#n-")
    handbook = await pointer_of(rig, ROOM_B, "鱼缸怎么换水", "水先晒一天")
    assert handbook.startswith("shared/鱼缸.md#n-")
    whole = await rig.use_tool(ROOM_B, MEMBER, "expand_memory", {"pointer": handbook})
    assert whole.startswith(f"ok 笔记 {handbook}")
    assert "    # 定时\n    cron 换水\n" in whole
    assert "密云" not in await rig.recall(ROOM_B, MEMBER, "去密云水库钓鱼的计划")
    denied = await rig.use_tool(ROOM_B, MEMBER, "expand_memory", {"pointer": plan})
    assert denied.startswith("error")
    assert (rig.memory / "shared/鱼缸.md").read_text("utf-8") == HANDBOOK
