"""Whatever an agent asks for, `shared/` and the folders of other roles keep every byte."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.llm_memory.composition.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.roles.role_seat import RoleSeat
from astrbot_plugin_scoped_memory.tests.support.agents.agents import AgentRig, agent_home, levels

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

FOREIGN = {
    "shared/CONSTITUTION.md": "# Rules\n\nBe punctual.\n",
    "shared/DECISIONS.md": "# Decisions\n\n## D-0001 Postgres\n> Accepted · 2026-11-01\n",
    "roles/qa/MEMORY.md": "# qa\n\n<!-- scoped-memory:begin x -->\n<!-- scoped-memory:end -->\n",
    "roles/qa/2026-11-27.md": "# 2026-11-27\n",
}
WAYS = [
    "{}",
    "/{}",
    "./{}",
    "../{}",
    "../../{}",
    "project/{}",
    "project/../../{}",
    "global/{}",
    "links/../{}",
    "up/{}",
    "{}:1-2",
    "{}#m-0123456789abcdef",
    "## D-0002 {}\n> Accepted · 2026-11-02",
    "# {}\n<!-- scoped-memory:begin x -->\nWe write it there\n<!-- scoped-memory:end -->",
    "@shared {}",
]
TEXTS = [way.format(path) for way in WAYS for path in FOREIGN]


@dataclass
class House:
    """A home with places that an agent may not write, and links in its own that lead there."""

    rig: AgentRig
    tools: dict[str, MemoryTools]

    def foreign(self) -> dict[str, bytes]:
        """Every file there, and what it holds."""
        root = self.rig.root / "memory"
        folders = (root / "shared", root / "roles" / "qa")
        files = (path for folder in folders for path in folder.rglob("*"))
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    root = tmp_path_factory.mktemp("house")
    memory, mine = root / "memory", root / "memory" / "scopes" / "project-shop"
    for path, text in FOREIGN.items():
        (memory / path).parent.mkdir(parents=True, exist_ok=True)
        (memory / path).write_text(text, "utf-8")
    mine.mkdir(parents=True)
    if os.name != "nt":
        for name in ("links", "journal", "shared"):
            (mine / name).symlink_to(memory / "shared")
        (mine / "decisions.md").symlink_to(memory / "shared" / "DECISIONS.md")
        (mine / "TASKS.md").symlink_to(memory / "roles" / "qa" / "MEMORY.md")
        (mine / "MEMORY.md").symlink_to(memory / "shared" / "CONSTITUTION.md")
        (mine / "up").symlink_to(memory)
    async with agent_home(root) as rig:
        await rig.until_ready()
        seat = RoleSeat(EnginePaths.under(root).leases, "backend", lambda: datetime.now(UTC))
        held = MemoryTools(levels(rig.engine.service), seat=seat)
        yield House(rig, {"no role": rig.tools(), "backend": held})
        seat.release()


def calls() -> Iterator[tuple[str, dict[str, object]]]:
    """What an agent that wants to write there could try."""
    types = (
        "decision",
        "pattern",
        "entity",
        "journal",
        "task",
        "instruction",
        "shared",
        "roles/qa",
    )
    for number, text in enumerate(TEXTS):
        kind = types[number % len(types)]
        yield "memory_log", {"content": f"{text} is number {number}", "type": kind}
        yield "memory_log", {"content": f"Remember number {number}", "type": text}
        yield "memory_session_end", {"summary": f"Tested it, number {number}.\n{text}"}
        tasks = [{"title": text, "status": "open", "next": text}, {"title": text, "status": "done"}]
        yield "memory_update_tasks", {"tasks_json": json.dumps(tasks)}
        yield "memory_read", {"path": text}
        yield "memory_search", {"query": text, "scope": text}
    yield "memory_primer", {}


@pytest.mark.parametrize("who", ["no role", "backend"])
async def test_no_tool_writes_there_and_each_answers_in_words(house: House, who: str) -> None:
    before = house.foreign()
    for name, arguments in calls():
        answer = await house.tools[who].call(name, arguments, "tester")
        assert answer.text.strip(), (name, arguments)
        assert "something went wrong" not in answer.text, (name, arguments)
        assert house.foreign() == before, (name, arguments)


async def test_the_agents_wrote_what_is_theirs_and_a_night_leaves_the_rest(house: House) -> None:
    """Else the test before would prove nothing."""
    before = house.foreign()
    assert "Remember number" in "".join(house.rig.texts().values())
    (day,) = (house.rig.root / "memory" / "roles" / "backend").glob("2*.md")
    assert "Tested it, number 3." in day.read_text("utf-8")
    await house.rig.engine.loop.sleep.run_once("nightly")
    assert house.foreign() == before


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
async def test_a_role_does_not_write_through_a_link(house: House) -> None:
    before = house.foreign()
    (day,) = (house.rig.root / "memory" / "roles" / "backend").glob("2*.md")
    aside = day.read_bytes()
    day.unlink()
    for lead in (day.symlink_to, day.hardlink_to):
        lead(house.rig.root / "memory" / "shared" / "DECISIONS.md")
        told = await house.tools["backend"].call("memory_session_end", {"summary": "Done."}, "x")
        assert "a link" in told.text
        assert told.failed
        assert house.foreign() == before
        day.unlink()
    day.write_bytes(aside)
