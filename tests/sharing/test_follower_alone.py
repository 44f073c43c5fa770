"""A follower passes calls on, and that is all that it loads: five agents must not cost five
engines."""

from __future__ import annotations

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
