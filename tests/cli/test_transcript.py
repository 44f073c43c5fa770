"""``transcript``: the owner reads the talk that a memory came from, also while the bot runs."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_history import anchor
from astrbot_plugin_scoped_memory.llm_memory.cli.paths import NAME
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = [pytest.mark.engine, pytest.mark.process]

SAID = "奶奶不能吃花生"


def keep(database: Path, umo: str, *said: str) -> None:
    """What AstrBot's table holds that matters here."""
    told = [{"role": "user", "content": words} for words in said]
    told.append({"role": "assistant", "content": "记\x1b[31m下了"})
    row = ("c1", umo, json.dumps(told))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE conversations (conversation_id, user_id, content)")
        connection.execute("INSERT INTO conversations VALUES (?, ?, ?)", row)


async def stored(rig: Rig, talk: str) -> str:
    draft = MemoryDraft("奶奶对花生过敏", actor=person(10001), talk=talk)
    outcome = await rig.engine.service.remember(draft, conversation_id=group(777))
    return outcome.memory.pointer  # type: ignore[union-attr]


async def test_the_owner_reads_the_talk_while_the_bot_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", "zh")
    data = tmp_path / "plugin_data" / NAME
    database = tmp_path / "data_v4.db"

    async def ask(pointer: str) -> tuple[int, str]:
        code = await asyncio.to_thread(main, ["transcript", pointer, "--data", str(data)])
        said = capsys.readouterr()
        return code, said.out + said.err

    async with running(data, follow=False) as rig:
        pointer = await stored(rig, anchor("c1", SAID))
        code, said = await ask(pointer)
        assert (code, "读不了" in said) == (1, True), "no database"
        assert not database.exists()
        keep(database, str(group(777)), "早", SAID)
        code, said = await ask(pointer)
        assert (code, said) == (0, f"人：早\n→ 人：{SAID}\n机器人：记[31m下了\n")
        assert (await ask("吉他"))[0] == 2
        assert (await ask("m-0000000000000000"))[0] == 1
        database.unlink()
        keep(database, str(group(888)), SAID)
        code, said = await ask(pointer)
        assert (code, "已经没有" in said) == (1, True), "another conversation's"
        bare = (await rig.remember("妈妈的生日是五月三日", group(777))).memory.pointer
        code, said = await ask(bare)
        assert (code, "没有记下" in said) == (1, True)
