"""From one bot to another by one file: memories, scope map and settings, by two messages, and by
the command line of the reply."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with, vault_files
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import PATIENCE, Rig
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.tests.e2e.bots import bot
from astrbot_plugin_scoped_memory.tests.e2e.cast import stored

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

rig = bot("moved")
OWNER, MOTHER = Person(9300, "房主"), Person(8301, "妈妈")
HOME, WORK = group(640_001), group(640_002)
FACT, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
GONE, ASKED = "备用钥匙在门口花盆底下", "备用钥匙在哪里"
SECRET = "token-7431"


def entries(memory: Path) -> int:
    """How many entries the vault has, with what lies in the archive."""
    texts = [(memory / path).read_text(encoding="utf-8") for path in vault_files(memory)]
    return sum(len(re.findall(r"^## .*\^m-", text, re.MULTILINE)) for text in texts)


async def told_in_each(rig: Rig) -> None:
    assert FACT in (await rig.turn(HOME, MOTHER, QUESTION)).injected
    assert FACT not in (await rig.turn(WORK, MOTHER, QUESTION)).injected


async def test_a_backup_brings_back_what_was_forgotten_and_moves_to_a_new_bot(
    rig: Rig, tmp_path: Path
) -> None:
    assert "好了" in await rig.onebot.ask(HOME, OWNER, "/记忆 域 家人")
    for fact in (FACT, GONE):
        await stored(rig, HOME, MOTHER, fact)
    assert "管理员" in await rig.onebot.ask(HOME, MOTHER, "/记忆 备份")
    said = await rig.onebot.ask(HOME, OWNER, "/记忆 备份")
    assert f"已备份 {entries(rig.memory)} 条记忆" in said
    (file,) = (rig.bot.plugin_data / "exports").glob("backup-*.jsonl")
    assert SECRET not in file.read_text("utf-8")
    assert GONE in await rig.onebot.ask(HOME, OWNER, "/记忆 忘记 花盆")
    again = f"/记忆 还原 {file.name} 仍要"
    plan = await rig.onebot.ask(HOME, OWNER, again.removesuffix(" 仍要"))
    assert "没有要还原的" in plan
    assert "1 条不还原" in plan
    assert "会还原 1 条记忆" in await rig.onebot.ask(HOME, OWNER, again)
    assert scopes_with(rig.memory, GONE) == set()
    await nobody_is_told_to_try_again(rig, f"{again} 确认")
    await rig.panel.ready()
    assert GONE in (await rig.turn(HOME, MOTHER, ASKED)).injected

    # The command line of the reply, where no bot runs.
    line = next(part for part in said.splitlines() if "llm_memory" in part)
    command = line[line.index("cd ") :].replace("<文件>", str(tmp_path / file.name))
    assert sys.executable in command
    assert PLUGIN in command
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
    assert scopes_with(rig.memory, FACT) == {"家人"}
    config = json.loads(rig.bot.plugin_config.read_text("utf-8-sig"))
    assert config["conversation_scope_map"] == {HOME.umo: "家人"}

    # A new bot, by two messages.
    imports = rig.bot.plugin_data / "imports"
    shutil.rmtree(rig.bot.plugin_data)
    imports.mkdir(parents=True)
    shutil.copy(tmp_path / file.name, imports)
    rig.bot.plugin_config.write_text(json.dumps(PATIENCE), encoding="utf-8-sig")
    await rig.start()
    restore = f"/记忆 还原 {file.name}"
    assert "管理员" in await rig.onebot.ask(WORK, MOTHER, f"{restore} 确认")
    plan = await rig.onebot.ask(WORK, OWNER, restore)
    assert "会还原 2 条记忆" in plan
    assert f"{HOME.umo} → 家人" in plan
    assert 'dm_scope 会变成："per-peer"' in plan
    assert not scopes_with(rig.memory, FACT)
    assert "还原了 2 条记忆" in await rig.onebot.ask(WORK, OWNER, f"{restore} 确认")
    await rig.panel.ready()
    config = await rig.panel.config()
    assert config["conversation_scope_map"] == {HOME.umo: "家人"}
    assert config["dm_scope"] == "per-peer"
    assert config["advanced"]["chroma_headers"] == {}
    await told_in_each(rig)
    assert (await rig.panel.status())["warnings"] == []


async def nobody_is_told_to_try_again(rig: Rig, restore: str) -> None:
    """All parts are closed and made anew while tools and commands are under way."""
    restoring = True
    kept: list[str] = []

    async def talk(number: int) -> None:
        room, speaker = group(650_000 + number), Person(8400 + number, f"住户{number}")
        while restoring:
            fact = f"住户{number}的第{len(kept)}件事：车位在{len(kept)}号"
            await stored(rig, room, speaker, fact)
            kept.append(fact)
            assert "车位" in await rig.onebot.ask(room, speaker, "/记忆 列表")

    talks = [asyncio.create_task(talk(number)) for number in range(3)]
    await until_true(lambda: len(kept) >= 3)
    assert "还原了" in await rig.onebot.ask(HOME, OWNER, restore)
    count = len(kept)
    await until_true(lambda: len(kept) >= count + 3)
    restoring = False
    await asyncio.gather(*talks)
    assert [fact for fact in kept if scopes_with(rig.memory, fact) != {"public"}] == []
