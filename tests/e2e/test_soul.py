"""One evolution of a persona's manner in a real AstrBot, from a wish to its rollback.
docs/soul.md tells this very one."""

import re
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.release import CHECKOUT
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER
from astrbot_plugin_scoped_memory.tests.support.agents.told_session import retold, told_in

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

PAGE = CHECKOUT / "docs" / "soul.md"
ROOM, OTHER = group(5971), group(5972)
WISH = "回答短一点"
DAY = re.compile(r"\d{4}-\d\d-\d\d")
TIME = re.compile(r"(?<=2026-11-27 )\d\d:\d\d")


class Talk:
    """Speaks in one group, and notes what was said."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.lines: list[str] = []

    async def command(self, words: str, who: Person = ADMIN) -> str:
        """Returns the bot's answer to ``/记忆 人格 <words>``."""
        line = f"/记忆 人格 {words}".rstrip()
        said = await self._rig.onebot.ask(ROOM, who, line)
        self.lines.append(f"{who.nickname}> {line}\n{said}")
        return said

    async def system(self, words: str) -> str:
        """Returns the system prompt of a turn. The transcript has what it ends with."""
        system = (await self._rig.turn(ROOM, MEMBER, words)).first.system
        _, heading, learned = system.partition("\n# 学到的说话习惯\n")
        tail = f"{heading.strip()}\n{learned}".strip() if heading else "（没有学到的说话习惯）"
        self.lines.append(f"{MEMBER.nickname}> {words}\n〔这一轮系统提示词的最后〕\n{tail}")
        return system

    @property
    def told(self) -> str:
        """The transcript; each day is 2026-11-27, each time 12:40."""
        text = "\n\n".join(self.lines) + "\n"
        return TIME.sub("12:40", DAY.sub("2026-11-27", text))


async def test_a_wish_comes_into_force_and_is_taken_back_as_the_page_tells(
    tmp_path: Path,
) -> None:
    async with Rig(tmp_path, admins=[ADMIN.user_id]) as rig:
        talk = Talk(rig)
        before = await talk.system("周末去哪里玩")
        assert "管理员" in await rig.onebot.ask(ROOM, MEMBER, f"/记忆 人格 提议 {WISH}")
        await talk.command(f"提议 {WISH}")
        assert f"+- {WISH}" in await talk.command("改动")
        await talk.command("生效")
        learned = await talk.system("那下周呢")
        assert learned.startswith(before)
        assert learned[len(before) :].strip().endswith(f"- {WISH}")
        elsewhere = await rig.turn(OTHER, MEMBER, "在吗")
        assert elsewhere.first.system.endswith(learned[len(before) :])
        await talk.command("", MEMBER)
        await talk.command("退回")
        assert await talk.system("下下周呢") == before
        await talk.command("记录")
        await talk.command("核对")
        page = PAGE.read_text("utf-8")
        if told_in(page) != [talk.told]:
            fresh = tmp_path / PAGE.name
            fresh.write_text(retold(page, [talk.told]), "utf-8", newline="\n")
            pytest.fail(f"{PAGE.name} tells another evolution; the page of this one: {fresh}")
