"""A person drops a large file of entries without ids into a running bot's folder."""

import re

import pytest

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, ROOM_B

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]
MANY = 5_000
_ID = re.compile(r" \^(m-[0-9a-z]{16})$", re.MULTILINE)


async def test_each_of_thousands_of_entries_gets_an_id_of_its_own(rig: Rig) -> None:
    before = (await rig.panel.ready())["memories"]["total"]
    await rig.onebot.ask(ROOM_B, MEMBER, "/memory add 备用钥匙放在门卫那里")
    path = rig.memory / "scopes/测试乙/decisions.md"
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"\n- 第{n}号货架摆放零件{n * 7}\n" for n in range(MANY))

    async def named() -> list[str] | None:
        found = _ID.findall(path.read_text("utf-8"))
        return found if len(found) >= MANY else None

    found = await until(named, within=120, what="ids in the file")
    assert len(set(found)) == len(found)
    last = f"第{MANY - 1}号货架"

    async def searched() -> str | None:
        answer = await rig.onebot.ask(ROOM_B, MEMBER, f"/memory search {last}")
        return answer if last in answer else None

    assert found[-1] in await until(searched, within=60, what="the last entry")
    assert (await rig.panel.ready())["memories"]["total"] == before + MANY + 1
