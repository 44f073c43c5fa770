"""``trust``, while an engine follows the files: the entry counts as the owner's, once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.home.trusted_roots import trust_root
from astrbot_plugin_scoped_memory.llm_memory.remember import vouching
from astrbot_plugin_scoped_memory.tests.support.agents.agents import (
    AgentRig,
    agent_home,
    pointer_in,
)

pytestmark = [pytest.mark.engine, pytest.mark.process]

FACT = "The staging database runs on port 5433"
RULE = "Always run the linter before you commit"


def id_of(answer: str) -> str:
    return pointer_in(answer).partition("#")[2]


def entries(rig: AgentRig) -> list[tuple[str, str, bool]]:
    return [
        (stored.path, stored.memory.memory_id, stored.memory.provenance.trusted)
        for stored in rig.engine.rooms.catalogue.all()
    ]


async def test_an_engine_that_runs_follows(home: Path) -> None:
    async with agent_home(home) as rig:
        memory_id = id_of(await rig.say("memory_log", "", content=RULE))
        await rig.say("memory_log", "", content="The build server is called Athena")
        following = asyncio.create_task(rig.engine.follow())
        try:
            assert await asyncio.to_thread(main, ["trust", memory_id]) == 0

            async def followed() -> bool:
                mine = [one for one in entries(rig) if one[1] == memory_id]
                return mine == [("instructions.md", memory_id, True)]

            await until(followed, within=60, what="the voucher is followed")
            assert len(entries(rig)) == 2
            primer = await rig.say("memory_primer", "")
            assert RULE in primer.partition("## Standing instructions")[2].partition("\n## ")[0]
            assert await asyncio.to_thread(main, ["trust", memory_id, "--no"]) == 0

            async def taken_back() -> bool:
                mine = [one for one in entries(rig) if one[1] == memory_id]
                return mine == [("entities.md", memory_id, False)]

            await until(taken_back, within=60, what="it is taken back")
            assert "## Standing instructions" not in await rig.say("memory_primer", "")
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def test_an_engine_that_looks_between_the_two_writes_keeps_the_id(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, real, looks = asyncio.get_running_loop(), vouching.replace_durably, 0
    async with agent_home(home) as rig:
        memory_id = id_of(await rig.say("memory_log", "", content=RULE))
        await rig.engine.reconcile()

        def write(path: Path, payload: bytes, stamp: tuple[int, int, int]) -> None:
            nonlocal looks
            asyncio.run_coroutine_threadsafe(rig.engine.reconcile(), loop).result(30)
            looks += 1
            real(path, payload, stamp)

        monkeypatch.setattr(vouching, "replace_durably", write)
        assert await asyncio.to_thread(main, ["trust", memory_id]) == 0
        await rig.engine.reconcile()
        assert looks == 1
        assert entries(rig) == [("instructions.md", memory_id, True)]
        assert not [path for path in rig.texts() if "archive" in path]


async def test_no_control_character_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    public = home / "memory" / "scopes" / "public"
    public.mkdir(parents=True)
    (public / "entities.md").write_text(f"## {FACT} \x1b[2J\u202e ^m-odd1\n> 可信：否\n", "utf-8")
    assert await asyncio.to_thread(main, ["trust", "global/entities.md#m-odd1"]) == 0
    said = capsys.readouterr().out
    assert FACT in said
    assert not set(said) & {"\x1b", "\u202e"}
    assert await asyncio.to_thread(main, ["trust", "m-odd1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["changed"], told["before"] == told["after"]) == (True, False, True)


async def test_the_projects_own_store_is_looked_at_once_its_user_has_agreed(
    own_user: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = own_user / "code" / "shop"
    public = root / ".scoped-memory" / "memory" / "scopes" / "public"
    public.mkdir(parents=True)
    home.mkdir()
    file = public / "decisions.md"
    file.write_text(f"## {FACT} ^m-ours\n> 可信：否\n", encoding="utf-8")
    before = file.read_bytes()
    assert await asyncio.to_thread(main, ["trust", "m-ours"]) == 1
    assert "init --store" in capsys.readouterr().err
    assert file.read_bytes() == before
    trust_root(home, root)
    assert await asyncio.to_thread(main, ["trust", "m-ours", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["level"] == "project"
    assert "可信：是" in file.read_text("utf-8")
