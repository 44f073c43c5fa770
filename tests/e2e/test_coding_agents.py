"""Coding agents beside a running bot: a mapped project shares a scope with a group, any other reads
public and writes nothing, and a bot that was killed is met again."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient, environ_of

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

WORK, FAMILY, ANYWHERE = group(701), group(702), group(703)
SPEAKER = Person(7001, "阿工")
MAP = {WORK.umo: "公司", FAMILY.umo: "家人", "mcp:project:site": "公司"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """A bot that shares its memory."""
    config = {"conversation_scope_map": MAP, "advanced": {"mcp_share": True}}
    root = tmp_path_factory.mktemp("sharing-bot")
    async with Rig(root, config=config, before_start=with_a_server_of_its_own) as rig:
        yield rig


def with_a_server_of_its_own(rig: Rig) -> None:
    """AstrBot is an MCP client, too; here it starts a server over a home beside its memory."""
    server = {
        "command": sys.executable,
        "args": ["-P", "-m", "llm_memory", "serve", "--project", "notes"],
        "env": environ_of(rig.root / "home", "zh"),
        "active": True,
    }
    text = json.dumps({"mcpServers": {"notes": server}})
    (rig.bot.data / "mcp_server.json").write_text(text, "utf-8")


async def test_astrbots_own_client_uses_a_home(running: Rig) -> None:
    await running.bot.logged("MCP services initialization completed: 1/1", within=60)
    stored = {"content": "打印机的队列名是 lp-2", "type": "decision"}
    assert "stored: " in await running.use_tool(WORK, SPEAKER, "memory_log", stored)
    query = {"query": "打印机的队列名"}
    assert "lp-2" in await running.use_tool(WORK, SPEAKER, "memory_search", query)
    assert scopes_with(running.memory, "lp-2") == set()


def agent(rig: Rig, tmp_path: Path, project: str) -> StdioClient:
    """The server that an agent's program starts in a project's folder."""
    folder = tmp_path / project
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    bot = str(rig.bot.plugin_data)
    return StdioClient(tmp_path / "home", folder, "--bot", bot, "--project", project)


async def test_a_mapped_project_shares_the_scope_of_a_group(running: Rig, tmp_path: Path) -> None:
    await running.remember(FAMILY, SPEAKER, "外婆的药在床头柜第二层")
    await running.remember(WORK, SPEAKER, "发布窗口在周四下午三点")
    coder = agent(running, tmp_path, "site")
    await coder.start()
    found, _ = await coder.call("memory_search", query="发布窗口是什么时候")
    assert "周四下午三点" in found
    logged, failed = await coder.call(
        "memory_log", content="支付网关的超时时间是 30 秒", type="decision"
    )
    assert not failed, logged
    assert scopes_with(running.memory, "支付网关的超时时间是 30 秒") == {"公司"}
    assert "30 秒" in await running.recall(WORK, SPEAKER, "支付网关的超时时间")
    assert "30 秒" not in await running.recall(FAMILY, SPEAKER, "支付网关的超时时间")
    for tool, arguments in (
        ("memory_search", {"query": "外婆的药在哪里"}),
        ("memory_primer", {}),
        ("memory_read", {"path": "scopes/家人/entities.md"}),
        ("memory_read", {"path": "../家人/entities.md"}),
        ("memory_search", {"query": "药", "scope": "家人"}),
    ):
        answer, _ = await coder.call(tool, **arguments)
        assert "床头柜" not in answer
    await coder.stop()


async def test_an_unmapped_project_reads_public_and_writes_nothing(
    running: Rig, tmp_path: Path
) -> None:
    await running.remember(ANYWHERE, SPEAKER, "食堂周五供应羊肉面")
    stranger = agent(running, tmp_path, "elsewhere")
    await stranger.start()
    found, _ = await stranger.call("memory_search", query="食堂周五供应什么")
    assert "羊肉面" in found
    before = {path: path.read_bytes() for path in running.memory.rglob("*.md")}
    for tool, arguments in (
        ("memory_log", {"content": "所有接口都走网关", "type": "decision"}),
        ("memory_log", {"content": "我偏好深色主题", "type": "preference"}),
        ("memory_session_end", {"summary": "今天把登录页重写了一遍"}),
        ("memory_update_tasks", {"tasks_json": '[{"title": "补测试"}]'}),
    ):
        answer, failed = await stranger.call(tool, **arguments)
        assert failed
        assert "mcp:project:elsewhere" in answer
    assert {path: path.read_bytes() for path in running.memory.rglob("*.md")} == before
    answer, _ = await stranger.call("memory_search", query="发布窗口 支付网关")
    assert "周四" not in answer
    assert "30 秒" not in answer
    await stranger.stop()


async def test_a_bot_that_was_killed_is_met_again(running: Rig, tmp_path: Path) -> None:
    agents = [agent(running, tmp_path, "site") for _ in range(3)]
    await asyncio.gather(*(one.start() for one in agents))
    acknowledged: list[str] = []
    going = True

    async def log(one: StdioClient, number: int) -> None:
        count = 0
        while going or count < 5:
            said = f"第{number}号工位的第{count}条约定写进了手册"
            _, failed = await one.call("memory_log", content=said, type="pattern")
            if failed:  # the bot is gone: a later call is answered again
                await asyncio.sleep(0.1)
                continue
            acknowledged.append(said)
            count += 1

    working = [asyncio.create_task(log(one, number)) for number, one in enumerate(agents)]

    async def reached(count: int, within: float) -> None:
        async def probe() -> bool:
            return len(acknowledged) >= count

        await until(probe, within=within, what=f"{count} acknowledged")

    await reached(10, within=20)
    await running.crash()
    await reached(len(acknowledged) + 3, within=30)  # the bot has yet to open the store
    going = False
    await asyncio.gather(*working)
    text = "\n".join(path.read_text("utf-8") for path in running.memory.rglob("*.md"))
    assert all(text.count(said) == 1 for said in acknowledged)
    await asyncio.gather(*(one.stop() for one in agents))
