"""From a memory to the talk it came from, in AstrBot's own history: what it has, and what not."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing, redirect_stdout
from io import StringIO
from pathlib import Path

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.tests.e2e.cast import rows, stored

HERE, ELSEWHERE, MEMBER = group(5901), group(5902), Person(5903, "阿卯")
BEFORE, AFTER = "早上好，院子里的桂花开了", "晚上吃什么好"


async def play(rig: Rig, admin: Person, *, resets: bool = True) -> None:
    """One group's days: a talk, a pause, and a reset. ``resets``: this AstrBot has the command for
    that."""
    await rig.turn(HERE, MEMBER, BEFORE)
    first = await stored(rig, HERE, MEMBER, "阿卯的望远镜借给了邻居")
    await rig.turn(HERE, MEMBER, AFTER)
    shown = await asked(rig, first)
    assert "望远镜借给了邻居" in shown.partition("→ ")[2]
    for words, there in ((BEFORE, True), (AFTER, True), ("system_reminder", False)):
        assert (words in shown) is there, shown
    assert "已记住" not in shown, "what a tool answered"
    said = await asyncio.to_thread(at_the_command_line, rig, first)
    assert BEFORE in said
    assert "→ " in said

    elsewhere = await asked(rig, first, ELSEWHERE)
    assert "望远镜" in elsewhere
    assert "桂花" not in elsewhere
    assert "不是在本会话里说的" in elsewhere

    assert "暂停" in await rig.onebot.ask(HERE, admin, "/memory pause")
    await rig.turn(HERE, MEMBER, "其实我打算辞职")
    assert "桂花" not in await asked(rig, first)
    await rig.onebot.ask(HERE, admin, "/memory resume")
    shown = await asked(rig, first)
    assert "→ " in shown
    assert "辞职" not in shown
    assert "桂花" not in shown

    second = await stored(rig, HERE, MEMBER, "阿卯的雨靴放在门廊")
    assert "→ " in await asked(rig, second)
    await settled(rig, "先这样")
    if resets:
        await rig.onebot.ask(HERE, admin, "/reset")
    else:
        with closing(sqlite3.connect(database(rig), timeout=30)) as connection, connection:
            emptied = "UPDATE conversations SET content = '[]' WHERE user_id = ?"
            connection.execute(emptied, (HERE.umo,))
    assert "AstrBot 已经没有这段对话" in await asked(rig, second)


async def asked(rig: Rig, pointer: str, place: Place = HERE) -> str:
    """What the tool answers where the talk is asked for."""
    arguments = {"pointer": pointer, "transcript": True}
    return await rig.use_tool(place, MEMBER, "expand_memory", arguments)


def at_the_command_line(rig: Rig, pointer: str) -> str:
    """What the owner reads, while the bot runs."""
    said = StringIO()
    with redirect_stdout(said):
        assert main(["transcript", pointer, "--data", str(rig.bot.plugin_data)]) == 0
    return said.getvalue()


def database(rig: Rig) -> Path:
    """AstrBot's."""
    return rig.bot.data / "data_v4.db"


async def settled(rig: Rig, words: str) -> None:
    """Have a turn, and wait for AstrBot to write it: it would write over what is done next."""
    await rig.turn(HERE, MEMBER, words)

    async def probe() -> bool:
        query = "SELECT content FROM conversations WHERE user_id = ?"
        ((kept,),) = rows(database(rig), query, HERE.umo)
        return any(words in str(one) and one["role"] == "user" for one in json.loads(kept))

    await until(probe, within=30, what=f"a turn with {words!r} in the history")
