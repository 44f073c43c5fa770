"""Whatever an agent asks for, `shared/` and the folders of other roles keep every byte."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.roles.role_seat import RoleSeat
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.tests.support.agents.agents import AgentRig, agent_home, levels
from astrbot_plugin_scoped_memory.tests.support.foreign import (
    TEXTS,
    TWINS,
    bytes_in,
    plant,
    plant_links,
)

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]


@dataclass
class House:
    """A home with places that an agent may not write, and links in its own that lead there."""

    rig: AgentRig
    tools: dict[str, MemoryTools]
    asked: set[str] = field(default_factory=set)
    """Who has tried all calls."""

    def foreign(self) -> dict[str, bytes]:
        """Every file there, and what it holds."""
        return bytes_in(self.rig.root / "memory", but=("scopes", "roles/backend"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    root = tmp_path_factory.mktemp("house")
    plant(root / "memory", TWINS)
    plant_links(root / "memory", root / "memory" / "scopes" / "project-shop")
    async with agent_home(root) as rig:
        await rig.until_ready()
        seat = RoleSeat(EnginePaths.under(root).leases, "backend", lambda: datetime.now(UTC))
        held = MemoryTools(levels(rig.engine.service), seat=seat)
        yield House(rig, {"no role": rig.tools(), "backend": held})
        seat.release()


def calls(who: str) -> Iterator[tuple[str, dict[str, object]]]:
    """What an agent that wants to write there could try."""
    types = ("decision", "pattern", "entity", "journal", "task", "instruction", "roles/qa")
    texts = [*enumerate((*TEXTS, *TWINS))]
    for number, text in texts[who == "backend" :: 2]:  # each asks for one half
        kind = types[number % len(types)]
        yield "memory_log", {"content": f"{text} is number {number}", "type": kind}
        yield "memory_log", {"content": f"Remember number {number}", "type": text}
        yield "memory_session_end", {"summary": f"Tested it, number {number}.\n{text}"}
        tasks = [{"title": text, "status": "open", "next": text}, {"title": text, "status": "done"}]
        yield "memory_update_tasks", {"tasks_json": json.dumps(tasks)}
        yield "memory_read", {"path": text}
        yield "memory_search", {"query": text, "scope": text}
    yield "memory_primer", {}


async def try_all(house: House, who: str) -> None:
    """Once for all tests: each call is answered in words, and leaves what is foreign as it was."""
    if who in house.asked:
        return
    before = house.foreign()
    for name, arguments in calls(who):
        answer = await house.tools[who].call(name, arguments, "tester")
        assert answer.text.strip(), (name, arguments)
        assert "something went wrong" not in answer.text.casefold(), (name, arguments)
        if name == "memory_search":  # the last with this text
            assert house.foreign() == before, arguments
    house.asked.add(who)


@pytest.mark.parametrize("who", ["no role", "backend"])
async def test_no_tool_writes_there_and_each_answers_in_words(house: House, who: str) -> None:
    await try_all(house, who)


async def test_the_agents_wrote_what_is_theirs_and_a_night_leaves_the_rest(house: House) -> None:
    """Else the test before would prove nothing."""
    for who in house.tools:
        await try_all(house, who)
    before = house.foreign()
    assert "Remember number" in "".join(house.rig.texts().values())
    (day,) = (house.rig.root / "memory" / "roles" / "backend").glob("2*.md")
    assert "Tested it, number 3." in day.read_text("utf-8")
    await house.rig.engine.sleep.run_once("nightly")
    assert house.foreign() == before


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
async def test_a_role_does_not_write_through_a_link(house: House) -> None:
    await try_all(house, "backend")
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
