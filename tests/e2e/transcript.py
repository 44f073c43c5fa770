"""From a memory to the talk it came from, in AstrBot's own history: what it has, and what not."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import saved_history, stored

HERE, ELSEWHERE, MEMBER = group(5901), group(5902), Person(5903, "阿卯")
BEFORE, AFTER = "早上好，院子里的桂花开了", "晚上吃什么好"


async def play(rig: Rig, admin: Person, *, resets: bool = True) -> None:
    """One group's talk, and a reset. ``resets``: this AstrBot has the command for that."""
    await rig.turn(HERE, MEMBER, BEFORE)
    first = await stored(rig, HERE, MEMBER, "阿卯的望远镜借给了邻居")
    await rig.turn(HERE, MEMBER, AFTER)
    shown = await asked(rig, first)
    assert "望远镜借给了邻居" in shown.partition("→ ")[2]
    for words in (BEFORE, AFTER, "system_reminder"):
        assert words not in shown, shown
    assert "已记住" not in shown, "what a tool answered"
    elsewhere = await asked(rig, first, ELSEWHERE)
    assert "望远镜" in elsewhere
    assert "桂花" not in elsewhere
    assert "不是在本会话里说的" in elsewhere

    await rig.turn(HERE, MEMBER, "先这样")
    await saved_history(rig, HERE, "先这样")  # it would write over what is done next
    if resets:
        await rig.onebot.ask(HERE, admin, "/reset")
    else:
        with (
            closing(sqlite3.connect(rig.bot.data / "data_v4.db", timeout=30)) as connection,
            connection,
        ):
            emptied = "UPDATE conversations SET content = '[]' WHERE user_id = ?"
            connection.execute(emptied, (HERE.umo,))
    assert "AstrBot 已经没有这段对话" in await asked(rig, first)


async def asked(rig: Rig, pointer: str, place: Place = HERE) -> str:
    """What the tool answers where the talk is asked for."""
    arguments = {"pointer": pointer, "transcript": True}
    return await rig.use_tool(place, MEMBER, "expand_memory", arguments)
