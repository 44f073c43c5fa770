"""Three agents on one home, and the process that owns it killed again and again: nothing that was
acknowledged is lost, nothing stands twice, and each is served again. A follower passes calls on,
and that is all that it loads: five agents must not cost five engines.

An agent hears within ``TIMEOUT_SECONDS`` that no owner answers yet, and asks again; how long that
goes on is benchmarks/mcp_server.py's to say.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory.sharing.endpoint import read_endpoint
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.house.test_engine_alone import ENGINE, HEAVY
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import ServerGone, StdioClient

pytestmark = [pytest.mark.engine, pytest.mark.process]

CLIENTS = 3
_WORDS = "仓库 接口 缓存 队列 日志 网关 权限 账单 报表 通知 搜索 推荐 图片 视频 订单 库存".split()  # noqa: SIM905


def statement(number: int) -> str:
    """No two of them contradict one another."""
    word, other = _WORDS[number % 16], _WORDS[number // 16 % 16]
    return f"{word}模块的第{number}号约定由{other}小组写进了手册"


class Agent:
    """Logs its share, and starts its server anew when that is gone, as an agent's program does."""

    def __init__(self, name: str, home: Path, folder: Path, numbers: list[int]) -> None:
        self.name = name
        self.logged = 0
        self._client = StdioClient(home, folder)
        self._numbers = numbers

    async def run(self) -> None:
        await self._client.start()
        for number in self._numbers:
            while not await self._is_logged(number):
                pass
            self.logged += 1
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
        assert not failed or "does not answer" in text, text
        return not failed


@pytest.mark.parametrize(
    ("logs", "kills"), [(300, 3), pytest.param(1_000, 10, marks=pytest.mark.soak)]
)
async def test_the_owner_dies_again_and_again(tmp_path: Path, logs: int, kills: int) -> None:
    home, folder = tmp_path / "home", tmp_path / "site"
    (folder / ".git").mkdir(parents=True)
    agents = [
        Agent(f"agent-{n}", home, folder, list(range(n, logs, CLIENTS))) for n in range(CLIENTS)
    ]
    working = [asyncio.create_task(agent.run()) for agent in agents]
    for _ in range(kills):
        await all_go_on(agents, working)
        endpoint = read_endpoint(home / "state")
        assert endpoint is not None
        os.kill(endpoint.pid, signal.SIGKILL)
    await asyncio.gather(*working)
    assert stored(home) == Counter(statement(number) for number in range(logs))


async def all_go_on(agents: list[Agent], working: list[asyncio.Task[None]]) -> None:
    """Return when each has logged something more. Raises what one of them met."""
    before = [agent.logged for agent in agents]

    async def probe() -> bool:
        for task in working:
            if task.done():
                task.result()
        return all(agent.logged > was for agent, was in zip(agents, before, strict=True))

    await until(probe, within=60, what="each agent served")


def stored(home: Path) -> Counter[str]:
    """What stands in the vault, and how often."""
    vault = MarkdownVault(home / "memory")
    return Counter(
        stored.memory.judgment for scope in vault.scopes() for stored in vault.read(scope).memories
    )


PROGRAM = """
import sys
from pathlib import Path
from llm_memory.cli import serve

closing = serve.close

async def noted(home):
    Path(sys.argv[1]).write_text("\\n".join(sorted(sys.modules)), encoding="utf-8")
    await closing(home)

serve.close = noted
from llm_memory.__main__ import main
sys.exit(main(["serve"]))
"""


def reporting(home: Path, folder: Path, report: Path) -> StdioClient:
    """One whose server says what it has loaded."""
    return StdioClient(home, folder, program=("-c", PROGRAM, str(report)))


async def test_a_follower_loads_no_engine(tmp_path: Path) -> None:
    home, report = tmp_path / "home", tmp_path / "modules"
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    of_owner = tmp_path / "owner"
    owner = reporting(home, tmp_path, of_owner)
    follower = reporting(home, tmp_path / "shop", report)
    try:
        await owner.start()
        said, failed = await owner.call("memory_log", content="The build server is called Athena")
        assert not failed, said
        await follower.start()
        tasks = json.dumps([{"title": "Write the release notes"}])
        for tool, arguments in (
            ("memory_primer", {}),
            ("memory_search", {"query": "build server"}),
            ("memory_log", {"content": "We decided to use port 5433 for staging"}),
            ("memory_update_tasks", {"tasks_json": tasks}),
            ("memory_read", {"path": "global/entities.md"}),
        ):
            said, failed = await follower.call(tool, **arguments)
            assert not failed, (tool, said)
        await follower.stop()
        await owner.stop()
    finally:
        await follower.stop()
        await owner.stop()
    loaded, whole = (file.read_text("utf-8").split() for file in (report, of_owner))
    assert "llm_memory.sharing.remote_memory" in loaded
    assert not [name for name in loaded if name.startswith(ENGINE)]
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    missing = [room for room in ENGINE if not [name for name in whole if name.startswith(room)]]
    assert missing == ["llm_memory.api"], "names that nothing has would prove nothing"
