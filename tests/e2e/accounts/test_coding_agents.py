"""Coding agents beside a running bot: a mapped project shares a scope with a group, any other reads
public and writes nothing, and a bot that was killed is met again."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import stored
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

WORK, FAMILY = group(701), group(581)
SPEAKER = Person(7001, "阿工")


async def test_astrbots_own_client_uses_a_home(rig: Rig) -> None:
    await rig.bot.logged("MCP services initialization completed: 1/1", within=60)
    kept = {"content": "打印机的队列名是 lp-2", "type": "decision"}
    assert "stored: " in await rig.use_tool(WORK, SPEAKER, "memory_log", kept)
    query = {"query": "打印机的队列名"}
    assert "lp-2" in await rig.use_tool(WORK, SPEAKER, "memory_search", query)
    assert scopes_with(rig.memory, "lp-2") == set()


def agent(rig: Rig, tmp_path: Path, project: str) -> StdioClient:
    """The server that an agent's program starts in a project's folder."""
    folder = tmp_path / project
    (folder / ".git").mkdir(parents=True)
    bot = str(rig.bot.plugin_data)
    return StdioClient(tmp_path / "home", folder, "--bot", bot, "--project", project)


async def test_an_unmapped_project_reads_public_and_writes_nothing(
    rig: Rig, room: Place, tmp_path: Path
) -> None:
    await stored(rig, room, SPEAKER, "食堂周五供应羊肉面")
    await stored(rig, WORK, SPEAKER, "门禁的暗号是灯塔")
    stranger = agent(rig, tmp_path, "elsewhere")
    await stranger.start()
    found, _ = await stranger.call("memory_search", query="食堂周五供应什么")
    assert "羊肉面" in found
    before = {path: path.read_bytes() for path in rig.memory.rglob("*.md")}
    logged = {"content": "所有接口都走网关", "type": "decision"}
    answer, failed = await stranger.call("memory_log", **logged)
    assert failed
    assert "mcp:project:elsewhere" in answer
    assert {path: path.read_bytes() for path in rig.memory.rglob("*.md")} == before
    answer, _ = await stranger.call("memory_search", query="门禁的暗号")
    assert "灯塔" not in answer
    await stranger.stop()


@through_a_kill
async def test_a_mapped_project_shares_a_groups_scope_and_meets_a_killed_bot_again(
    rig: Rig, tmp_path: Path
) -> AsyncGenerator[None]:
    await stored(rig, FAMILY, SPEAKER, "外婆的药在床头柜第二层")
    await stored(rig, WORK, SPEAKER, "发布窗口在周四下午三点")
    coder = agent(rig, tmp_path, "site")
    await coder.start()
    found, _ = await coder.call("memory_search", query="发布窗口是什么时候")
    assert "周四下午三点" in found
    fact = "支付网关的超时时间是 30 秒"
    logged, failed = await coder.call("memory_log", content=fact, type="decision")
    assert not failed, logged
    assert scopes_with(rig.memory, fact) == {"公司"}
    assert "30 秒" in await rig.recall(WORK, SPEAKER, "支付网关的超时时间")
    assert "30 秒" not in await rig.recall(FAMILY, SPEAKER, "支付网关的超时时间")
    for tool, arguments in (
        ("memory_search", {"query": "外婆的药在哪里"}),
        ("memory_read", {"path": "../家人/entities.md"}),
        ("memory_search", {"query": "药", "scope": "家人"}),
    ):
        answer, _ = await coder.call(tool, **arguments)
        assert "床头柜" not in answer

    acknowledged: list[str] = []
    going = True

    async def log() -> None:
        while going:
            said = f"第{len(acknowledged)}条约定写进了手册"
            _, failed = await coder.call("memory_log", content=said, type="pattern")
            if not failed:  # else the bot is gone: a later call is answered again
                acknowledged.append(said)
            await asyncio.sleep(0.2)

    working = asyncio.create_task(log())
    await until_true(lambda: len(acknowledged) >= 3)
    yield
    count = len(acknowledged)
    await until_true(lambda: len(acknowledged) >= count + 3)  # the bot may still open the store
    going = False
    await working
    text = "\n".join(path.read_text("utf-8") for path in rig.memory.rglob("*.md"))
    assert [said for said in acknowledged if text.count(said) != 1] == []
    await coder.stop()
