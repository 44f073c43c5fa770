"""Three agents on one home, and the process that owns it killed again and again: nothing that was
acknowledged is lost, nothing stands twice, and each is served again within five seconds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.home.shared_store import PATIENCE_SECONDS
from astrbot_plugin_scoped_memory.llm_memory.sharing.endpoint import read_endpoint
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.mcp_stdio import ServerGone, StdioClient

pytestmark = [pytest.mark.engine, pytest.mark.slow]

CLIENTS, LOGS, KILLS = 3, 1_000, 10
_WORDS = "仓库 接口 缓存 队列 日志 网关 权限 账单 报表 通知 搜索 推荐 图片 视频 订单 库存".split()  # noqa: SIM905


def statement(number: int) -> str:
    """No two of them contradict one another."""
    word, other = _WORDS[number % 16], _WORDS[number // 16 % 16]
    return f"{word}模块的第{number}号约定由{other}小组写进了手册"


class Agent:
    """Logs its share, and starts its server anew when that is gone, as an agent's program does."""

    def __init__(self, name: str, home: Path, folder: Path, numbers: list[int]) -> None:
        self.name = name
        self.longest = 0.0
        self._client = StdioClient(home, folder)
        self._numbers = numbers

    async def run(self) -> None:
        await self._client.start()
        for number in self._numbers:
            began = time.monotonic()
            while not await self._is_logged(number):
                assert time.monotonic() - began < 30, "not served"
            self.longest = max(self.longest, time.monotonic() - began)
        await self._client.stop()

    async def _is_logged(self, number: int) -> bool:
        try:
            text, failed = await self._client.call(
                "memory_log", content=statement(number), type="pattern"
            )
        except ServerGone:
            await self._client.stop()
            with contextlib.suppress(ServerGone):
                await self._client.start()
            return False
        assert not failed, text
        return True


async def test_the_owner_dies_ten_times(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "site"
    (folder / ".git").mkdir(parents=True)
    agents = [
        Agent(f"agent-{n}", home, folder, list(range(n, LOGS, CLIENTS))) for n in range(CLIENTS)
    ]
    working = [asyncio.create_task(agent.run()) for agent in agents]
    killed: set[int] = set()
    while len(killed) < KILLS and not all(task.done() for task in working):
        await asyncio.sleep(0.3)
        endpoint = read_endpoint(home / "state")
        if endpoint is not None and endpoint.pid not in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(endpoint.pid, signal.SIGKILL)
                killed.add(endpoint.pid)
    await asyncio.gather(*working)
    assert len(killed) == KILLS
    # A client whose own server was killed waits for a new one to start, too.
    assert max(agent.longest for agent in agents) < 3 * PATIENCE_SECONDS
    assert stored(home) == Counter(statement(number) for number in range(LOGS))


def stored(home: Path) -> Counter[str]:
    """What stands in the vault, and how often."""
    vault = MarkdownVault(home / "memory")
    return Counter(
        stored.memory.judgment for scope in vault.scopes() for stored in vault.read(scope).memories
    )
