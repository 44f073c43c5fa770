"""From one bot to another by one file: memories, scope map and settings, by two messages."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with, vault_files
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

OWNER, MOTHER = Person(9300, "房主"), Person(8301, "妈妈")
HOME, WORK = group(640_001), group(640_002)
FACT, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
GONE, ASKED = "备用钥匙在门口花盆底下", "备用钥匙在哪里"
SECRET = "token-7431"
CONFIG = {"dm_scope": "per-peer", "advanced": {"chroma_headers": {"Authorization": SECRET}}}


def entries(memory: Path) -> int:
    """How many entries the vault has, with what lies in the archive."""
    texts = [(memory / path).read_text(encoding="utf-8") for path in vault_files(memory)]
    return sum(len(re.findall(r"^## .*\^m-", text, re.MULTILINE)) for text in texts)


async def backed_up(rig: Rig) -> Path:
    """Two memories and a map, backed up; then one of the memories is forgotten."""
    if HOME.umo not in (await rig.panel.config())["conversation_scope_map"]:
        assert "好了" in await rig.onebot.ask(HOME, OWNER, "/记忆 域 家人")
    assert (await rig.remember(HOME, MOTHER, FACT)).startswith("ok")
    assert (await rig.remember(HOME, MOTHER, GONE)).startswith("ok")
    assert "管理员" in await rig.onebot.ask(HOME, MOTHER, "/记忆 备份")
    said = await rig.onebot.ask(HOME, OWNER, "/记忆 备份")
    assert f"已备份 {entries(rig.memory)} 条记忆" in said
    assert "-m llm_memory restore" in said
    backups = (rig.bot.plugin_data / "exports").glob("backup-*.jsonl")
    file = max(backups, key=lambda path: path.stat().st_mtime_ns)
    assert SECRET not in file.read_text("utf-8")
    assert GONE in await rig.onebot.ask(HOME, OWNER, "/记忆 忘记 花盆")
    return file


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """A bot that its owner moves out of."""
    root = tmp_path_factory.mktemp("old-bot")
    async with Rig(root, admins=[OWNER.user_id], config=CONFIG) as rig:
        yield rig


async def test_a_backup_is_restored_into_a_new_bot_by_two_messages(
    running: Rig, tmp_path: Path
) -> None:
    admins, old = [OWNER.user_id], running
    file = await backed_up(old)
    plan = await old.onebot.ask(HOME, OWNER, f"/记忆 还原 {file.name}")
    assert "没有要还原的" in plan
    assert "1 条不还原" in plan
    plan = await old.onebot.ask(HOME, OWNER, f"/记忆 还原 {file.name} 仍要")
    assert "会还原 1 条记忆" in plan
    assert scopes_with(old.memory, GONE) == set()
    await old.onebot.ask(HOME, OWNER, f"/记忆 还原 {file.name} 仍要 确认")
    await old.panel.ready()
    assert GONE in (await old.turn(HOME, MOTHER, ASKED)).injected
    async with Rig(tmp_path / "new", admins=admins) as new:
        (new.bot.plugin_data / "imports").mkdir(parents=True, exist_ok=True)
        shutil.copy(file, new.bot.plugin_data / "imports")
        assert "管理员" in await new.onebot.ask(WORK, MOTHER, f"/记忆 还原 {file.name} 确认")
        plan = await new.onebot.ask(WORK, OWNER, f"/记忆 还原 {file.name}")
        assert "会还原 2 条记忆" in plan
        assert f"{HOME.umo} → 家人" in plan
        assert 'dm_scope 会变成："per-peer"' in plan
        assert not scopes_with(new.memory, FACT)
        done = await new.onebot.ask(WORK, OWNER, f"/记忆 还原 {file.name} 确认")
        assert "还原了 2 条记忆" in done
        await new.panel.ready()
        config = await new.panel.config()
        assert config["conversation_scope_map"] == {HOME.umo: "家人"}
        assert config["dm_scope"] == "per-peer"
        assert config["advanced"]["chroma_headers"] == {}
        assert FACT in (await new.turn(HOME, MOTHER, QUESTION)).injected
        assert FACT not in (await new.turn(WORK, MOTHER, QUESTION)).injected
        assert (await new.panel.status())["warnings"] == []
        assert (await new.remember(HOME, MOTHER, "梯子在车库里")).startswith("ok")


async def test_nobody_who_speaks_during_a_restore_is_told_to_try_again(running: Rig) -> None:
    """All parts are closed and made anew while tools and commands are under way."""
    rig = running
    file = await backed_up(rig)
    restoring = True
    stored: list[str] = []

    async def talk(number: int) -> None:
        room, speaker = group(650_000 + number), Person(8400 + number, f"住户{number}")
        while restoring:
            fact = f"住户{number}的第{len(stored)}件事：车位在{len(stored)}号"
            assert (await rig.remember(room, speaker, fact)).startswith("ok")
            stored.append(fact)
            assert "车位" in await rig.onebot.ask(room, speaker, "/记忆 列表")

    talks = [asyncio.create_task(talk(number)) for number in range(3)]
    for _ in range(3):
        said = await rig.onebot.ask(HOME, OWNER, f"/记忆 还原 {file.name} 仍要 确认")
        assert "还原了" in said or "没有要还原的" in said
        await rig.onebot.ask(HOME, OWNER, "/记忆 忘记 花盆")
    restoring = False
    await asyncio.gather(*talks)
    assert len(stored) >= 3
    for fact in stored:
        assert scopes_with(rig.memory, fact) == {"public"}


async def test_the_command_line_of_the_reply_restores_it_where_no_bot_runs(
    running: Rig, tmp_path: Path
) -> None:
    rig = running
    file = await backed_up(rig)
    said = await rig.onebot.ask(HOME, OWNER, "/记忆 备份")
    line = next(part for part in said.splitlines() if "llm_memory" in part)
    command = line[line.index("cd ") :].replace("<文件>", str(tmp_path / file.name))
    assert sys.executable in command
    shutil.move(file, tmp_path / file.name)
    await asyncio.to_thread(rig.bot.sigterm)
    shutil.rmtree(rig.memory)
    config = json.loads(rig.bot.plugin_config.read_text("utf-8-sig"))
    config["conversation_scope_map"] = {}
    rig.bot.plugin_config.write_text(json.dumps(config), encoding="utf-8-sig")
    done = await asyncio.to_thread(
        subprocess.run,
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert "conversation_scope_map" in done.stdout.decode()
    assert PLUGIN in command
    await rig.start()
    assert FACT in (await rig.turn(HOME, MOTHER, QUESTION)).injected
    assert GONE not in (await rig.turn(HOME, MOTHER, ASKED)).injected
    assert FACT not in (await rig.turn(WORK, MOTHER, QUESTION)).injected
