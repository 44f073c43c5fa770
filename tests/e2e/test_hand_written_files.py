"""A person drops a large file of entries without ids into a running bot's folder."""

import re
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MAP, MEMBER, ROOM_A

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]
MANY = 5_000
_ID = re.compile(r" \^(m-[0-9a-z]{16})$", re.MULTILINE)


async def test_each_of_thousands_of_entries_gets_an_id_of_its_own(tmp_path: Path) -> None:
    config = {"conversation_scope_map": MAP}
    async with Rig(tmp_path, admins=[ADMIN.user_id], config=config) as running:
        await running.onebot.ask(ROOM_A, MEMBER, "/memory add 备用钥匙放在门卫那里")
        path = running.memory / "scopes/测试甲/decisions.md"
        path.write_text("".join(f"- 第{n}号货架摆放零件{n * 7}\n" for n in range(MANY)), "utf-8")

        async def named() -> list[str] | None:
            found = _ID.findall(path.read_text("utf-8"))
            return found if len(found) >= MANY else None

        found = await until(named, within=120, what="ids in the file")
        assert len(set(found)) == len(found) == MANY
        last = f"第{MANY - 1}号货架"

        async def searched() -> str | None:
            answer = await running.onebot.ask(ROOM_A, MEMBER, f"/memory search {last}")
            return answer if last in answer else None

        assert found[-1] in await until(searched, within=60, what="the last entry")
        status = await running.onebot.ask(ROOM_A, ADMIN, "/memory status")
        assert str(MANY + 1) in status
