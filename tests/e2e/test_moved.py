"""A bot that splits groups by member: the group's scope, and timers. Then it moves to a new bot,
which speaks English, by one file, by two messages and by the command line of the reply."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import AsyncGenerator, Callable

import pytest

from astrbot_plugin_scoped_memory.harness.logs import plugin_lines
from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import NO_READER, PATIENCE, WORDS_ALONE, Rig
from astrbot_plugin_scoped_memory.tests.e2e import timers
from astrbot_plugin_scoped_memory.tests.e2e.bots import bot, through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import sees, stored

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

rig = bot("moved")
OWNER, MOTHER = Person(9300, "房主"), Person(8301, "妈妈")
HOME, WORK = group(640_001), group(640_002)
FACT, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
GONE, ASKED = "备用钥匙在门口花盆底下", "备用钥匙在哪里"
SECRET = "token-7431"
HAN = range(0x4E00, 0xA000)
ROOM = group(571)
FIRST, SECOND, STRANGER = Person(5711, "阿戊"), Person(5712, "阿己"), Person(5713, "阿庚")


async def test_members_of_a_group_that_astrbot_splits_share_the_groups_scope(rig: Rig) -> None:
    await stored(rig, ROOM, FIRST, "公用的梯子锁在车棚里")
    assert scopes_with(rig.memory, "公用的梯子锁在车棚里") == {"合租"}
    turn = await rig.turn(ROOM, SECOND, "公用的梯子在哪里")
    assert "公用的梯子锁在车棚里" in turn.injected
    assert "阿戊" in turn.injected
    for who in (STRANGER, FIRST):
        assert not await sees(rig, private(who), who, "公用的梯子在哪里呢", "车棚")


async def test_a_timer_acts_in_its_own_scope(rig: Rig) -> None:
    """In a mapped group, and where the policies ``per-peer`` and ``per-group`` say."""
    for place, person, scope in (
        (group(591), OWNER, "租客"),
        (private(FIRST), FIRST, "dm-"),
        (group(592), FIRST, "group-"),
    ):
        await timers.a_timer(rig, place, person, scope)


@through_a_kill
async def test_a_backup_brings_back_what_was_forgotten_and_moves_to_a_new_bot(
    rig: Rig,
) -> AsyncGenerator[Callable[[], object]]:
    assert "好了" in await rig.onebot.ask(HOME, OWNER, "/记忆 域 家人")
    for fact in (FACT, GONE):
        await stored(rig, HOME, MOTHER, fact)
    assert "管理员" in await rig.onebot.ask(HOME, MOTHER, "/记忆 备份")
    assert "备好了" in await rig.onebot.ask(HOME, OWNER, "/记忆 备份")
    (file,) = (rig.bot.plugin_data / "exports").glob("backup-*.zip")
    away = rig.root / file.name
    with zipfile.ZipFile(file) as archive:
        assert not any(SECRET.encode() in archive.read(name) for name in archive.namelist())
    restore = f"/记忆 还原 {file.name}"
    assert GONE in await rig.onebot.ask(HOME, OWNER, "/记忆 忘记 花盆")
    assert "1 条不还原" in await rig.onebot.ask(HOME, OWNER, restore)
    assert "会还原 1 条记忆" in await rig.onebot.ask(HOME, OWNER, f"{restore} 仍要")
    assert scopes_with(rig.memory, GONE) == set()
    assert "还原了" in await rig.onebot.ask(HOME, OWNER, "/记忆 是")
    await rig.panel.ready()
    assert GONE in (await rig.turn(HOME, MOTHER, ASKED)).injected

    said = await rig.onebot.ask(private(OWNER), OWNER, "/记忆 帮助 搬家")
    line = next(part for part in said.splitlines() if "llm_memory" in part)
    command = line[line.index("cd ") :].replace("<文件>", str(away))
    assert sys.executable in command
    assert PLUGIN in command
    shutil.move(file, away)

    def moves() -> None:
        """The command line of the reply, over a folder that has lost all; then a new bot."""
        shutil.rmtree(rig.memory)
        config = json.loads(rig.bot.plugin_config.read_text("utf-8-sig"))
        config["conversation_scope_map"] = {}
        rig.bot.plugin_config.write_text(json.dumps(config), encoding="utf-8-sig")
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert scopes_with(rig.memory, FACT) == {"家人"}
        config = json.loads(rig.bot.plugin_config.read_text("utf-8-sig"))
        assert config["conversation_scope_map"][HOME.umo] == "家人"

        imports = rig.bot.plugin_data / "imports"
        shutil.rmtree(rig.bot.plugin_data)
        imports.mkdir(parents=True)
        shutil.copy(away, imports)
        config = PATIENCE | WORDS_ALONE | NO_READER | {"language": "en-US"}
        rig.bot.plugin_config.write_text(json.dumps(config), encoding="utf-8-sig")

    yield moves
    restore = f"/memory restore {file.name}"
    refused = await rig.onebot.ask(WORK, MOTHER, restore)
    assert "admin" in refused
    plan = await rig.onebot.ask(WORK, OWNER, restore)
    assert "conversation_scope_map, dm_scope" in plan
    assert not scopes_with(rig.memory, FACT)
    done = await rig.onebot.ask(WORK, OWNER, "/memory yes")
    assert done.startswith("Restored ")
    await rig.panel.ready()
    config = await rig.panel.config()
    assert config["conversation_scope_map"][HOME.umo] == "家人"
    assert config["dm_scope"] == "per-peer"
    assert config["advanced"]["chroma_headers"] == {}
    assert FACT in (await rig.turn(HOME, MOTHER, QUESTION)).injected
    assert FACT not in (await rig.turn(WORK, MOTHER, QUESTION)).injected
    assert (await rig.panel.status())["warnings"] == []

    status = await rig.onebot.ask(HOME, OWNER, "/memory status")
    spoken = "\n".join([refused, plan, done, status, *plugin_lines(rig.bot.logs())])
    for scope in config["conversation_scope_map"].values():
        spoken = spoken.replace(scope, "")
    assert [line for line in spoken.splitlines() if any(ord(one) in HAN for one in line)] == []
