"""One evolution of a persona's manner, from a wish to its rollback, as docs/soul.md tells it."""

import re
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.release import CHECKOUT
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER
from astrbot_plugin_scoped_memory.tests.support.agents.told_session import retold, told_in

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

PAGE = CHECKOUT / "docs" / "soul.md"
ROOM, OTHER = group(5971), group(5972)
WISH = "回答短一点"
DAY = re.compile(r"\d{4}-\d\d-\d\d")
TIME = re.compile(r"(?<=2026-11-27 )\d\d:\d\d")


async def system(rig: Rig, place: Place, person: Person, words: str = "今天天气不错") -> str:
    """The system prompt of a turn."""
    return (await rig.turn(place, person, words)).first.system


async def test_a_wish_comes_into_force_and_is_taken_back_as_the_page_tells(
    rig: Rig, tmp_path: Path
) -> None:
    lines: list[str] = []

    async def command(words: str, who: Person = ADMIN) -> str:
        """The bot's answer, which the transcript has, too."""
        line = f"/记忆 语气 {words}".rstrip()
        said = await rig.onebot.ask(ROOM, who, line)
        lines.append(f"{who.nickname}> {line}\n{said}")
        return said

    async def turn(words: str) -> str:
        """The system prompt; the transcript has what it ends with."""
        whole = await system(rig, ROOM, MEMBER, words)
        _, heading, learned = whole.partition("\n# 学到的说话习惯\n")
        tail = f"{heading.strip()}\n{learned}".strip() if heading else "（没有学到的说话习惯）"
        lines.append(f"{MEMBER.nickname}> {words}\n〔这一轮系统提示词的最后〕\n{tail}")
        return whole

    before = await turn("周末去哪里玩")
    assert "管理员" in await rig.onebot.ask(ROOM, MEMBER, f"/记忆 语气 提议 {WISH}")
    await command(f"提议 {WISH}")
    assert f"+- {WISH}" in await command("改动")
    await command("生效")
    learned = await turn("那下周呢")
    assert learned.startswith(before)
    assert learned[len(before) :].strip().endswith(f"- {WISH}")
    assert (await system(rig, OTHER, MEMBER)).endswith(learned[len(before) :])
    await command("", MEMBER)
    await command("撤销")
    assert await turn("下下周呢") == before
    await command("记录")
    await command("核对")
    told = TIME.sub("12:40", DAY.sub("2026-11-27", "\n\n".join(lines) + "\n"))
    page = PAGE.read_text("utf-8")
    if told_in(page) != [told]:
        fresh = tmp_path / PAGE.name
        fresh.write_text(retold(page, [told]), "utf-8", newline="\n")
        pytest.fail(f"{PAGE.name} tells another evolution; the page of this one: {fresh}")
