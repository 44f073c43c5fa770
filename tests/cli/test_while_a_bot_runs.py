"""``soul`` and ``transcript``: what the owner of a bot's store asks while the bot runs, too.

`tests/soul` tells what becomes of a soul; the pages, what is said.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_history import anchor
from astrbot_plugin_scoped_memory.llm_memory.cli.paths import NAME
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = [pytest.mark.engine, pytest.mark.process]

CAT, WISH = "猫娘", "回答短一点"
type Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A bot's data folder, where a persona has notes and no soul."""
    folder = tmp_path / "plugin_data" / NAME
    (folder / "memory" / "scopes" / "public").mkdir(parents=True)
    (folder / "memory" / "roles" / CAT).mkdir(parents=True)
    return folder


@pytest.fixture
def ask(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs an action for the persona. Returns the code and what was printed."""
    monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", "zh")

    def asked(*words: str, role: str = CAT) -> tuple[int, str]:
        flags = ["--role", role] if role else []
        code = main(["soul", *words, *flags, "--data", str(data)])
        said = capsys.readouterr()
        return code, said.out + said.err

    return asked


def test_a_slip_in_the_name_begins_no_soul(data: Path, ask: Ask) -> None:
    code, said = ask("propose", WISH, role="猫粮")
    assert (code, CAT in said) == (1, True)
    assert not (data / "memory" / "soul").exists()
    assert ask("propose", WISH, role="")[0] == 0
    assert (data / "memory" / "soul" / "%none").is_dir()


def test_scripts_read_what_is_in_force(ask: Ask) -> None:
    code, said = ask("propose", WISH, "--json")
    assert json.loads(said)["outcome"] == "SoulDiff"
    code, said = ask("show", "--json")
    told = json.loads(said)
    assert (code, told["code"], told["open"]["aim"]) == (0, 0, WISH)
    code, said = ask("undo", "7", "--json")
    assert (code, json.loads(said)["reason"]) == (1, "no_target")


async def test_a_running_bot_is_asked_in_a_chat(data: Path, ask: Ask) -> None:
    async with running(data, clock=StandingClock(), follow=False):
        code, said = await asyncio.to_thread(ask, "propose", WISH)
        assert (code, "停下机器人" in said) == (1, True)
        assert "/memory soul propose" in said
        assert "export" not in said, "that is no way to change a soul"


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
