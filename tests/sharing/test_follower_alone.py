"""A follower passes calls on, and that is all that it loads: five agents must not cost five
engines."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.house.test_engine_alone import ENGINE, HEAVY
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient

pytestmark = [pytest.mark.engine, pytest.mark.process]

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
    owner = StdioClient(home, tmp_path)
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
            ("memory_session_end", {"summary": "Wrote the release notes and tagged 2.1"}),
        ):
            said, failed = await follower.call(tool, **arguments)
            assert not failed, (tool, said)
        await follower.stop()
        loaded = (await asyncio.to_thread(report.read_text, "utf-8")).split()
    finally:
        await follower.stop()
        await owner.stop()
    assert "llm_memory.sharing.remote_memory" in loaded
    assert not [name for name in loaded if name.startswith(ENGINE)]
    assert not {name.partition(".")[0] for name in loaded} & HEAVY


async def test_the_same_program_as_an_owner_has_the_engine(tmp_path: Path) -> None:
    """So the list of what a follower must not have is not made of names that nothing has."""
    report = tmp_path / "modules"
    owner = reporting(tmp_path / "home", tmp_path, report)
    try:
        await owner.start()
        await owner.call("memory_search", query="anything")
    finally:
        await owner.stop()
    loaded = (await asyncio.to_thread(report.read_text, "utf-8")).split()
    missing = [room for room in ENGINE if not [n for n in loaded if n.startswith(room)]]
    assert missing == ["llm_memory.api"]
