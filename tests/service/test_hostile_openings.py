"""What strangers have planted meets whoever comes back after a pause: as data, if at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.services.injection_service import CLOSE, OPEN
from astrbot_plugin_scoped_memory.llm_memory import (
    GroupScope,
    MemoryKind,
    Reinforced,
    Stored,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.primer.test_primer_engine import hello, plugin_of, turn
from astrbot_plugin_scoped_memory.tests.service.test_hostile import CORPORA, POINTER, draft_of
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.hostile import Said

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

EACH_ITS_OWN = replace(QUICK, group_scope=GroupScope.PER_GROUP)
KINDS = (MemoryKind.EVENT, MemoryKind.TASK, MemoryKind.KNOWLEDGE)
LINE = re.compile(r"- \[\d{4}-\d\d-\d\d · .* · [\w./-]+\.md#m-[0-9a-z]{16}\] .+")


async def plant(rig: Rig, said: Said, room: int) -> StoredMemory | None:
    """In a room that is a scope of its own; None if it was refused."""
    draft = draft_of(said, person(20_000 + room, f"路人{room}"))
    draft = replace(draft, kind=KINDS[room % len(KINDS)])
    outcome = await rig.engine.service.remember(draft, conversation_id=group(room))
    return outcome.memory if isinstance(outcome, Stored | Reinforced) else None


def assert_data(told: str, stored: StoredMemory, texts: Texts) -> None:
    """One pair of delimiters, our own headings, and a line of known form for each memory; no
    section that may be obeyed, and nothing that would like to be."""
    lines = told.splitlines()
    assert (lines[0], lines[-1]) == (OPEN, CLOSE)
    assert told.lower().count(OPEN) == told.lower().count(CLOSE) == 1
    names = texts.say("primer.people", names="\n").partition("\n")[0]
    known = {f"## {texts.say(f'primer.{part}')}" for part in ("tasks", "days", "recalled")}
    for line in lines[2:-1]:
        assert line in known or line.startswith(f"## {names}") or LINE.fullmatch(line), line
        assert "<" not in line
    assert not stored.memory.quoted or stored.memory.memory_id not in told


def assert_page(page: Path, stored: StoredMemory) -> None:
    """The page that the bot writes for all who come back tells nothing of it."""
    text = page.read_text("utf-8") if page.exists() else ""
    assert "## 长期指示" not in text
    assert not POINTER.search(text)
    assert stored.memory.provenance.who not in text


@pytest.mark.parametrize("texts", CORPORA.values(), ids=CORPORA)
async def test_whoever_comes_back_is_told_of_no_attack_but_as_data(
    tmp_path: Path, texts: Sequence[Said]
) -> None:
    attacks = dict(enumerate((said for said in texts if said.is_attack), start=1000))
    clock = Ticker()
    async with running(tmp_path, {}, settings=EACH_ITS_OWN, clock=clock, follow=False) as rig:
        plugin = plugin_of(rig)
        kept = {room: await plant(rig, said, room) for room, said in attacks.items()}
        for room in attacks:
            assert await turn(plugin, hello(room)) == ""
        clock.now += timedelta(hours=7)
        seen = 0
        for room, stored in kept.items():
            told = await turn(plugin, hello(room, sender=str(20_000 + room)))
            if stored is not None and told:  # the speaker, of his own words
                assert_data(told, stored, plugin.texts)
                seen += stored.memory.memory_id in told
        plain = [s for s in kept.values() if s is not None and not s.memory.quoted]
        assert seen > len(plain) * 0.5  # what is never told proves nothing
        clock.now += timedelta(hours=7)
        for room in kept:  # others, for whom nobody vouches for that speaker
            assert await turn(plugin, hello(room)) == ""
        assert not (await rig.engine.loop.sleep.run_once("nightly")).errors
    for stored in filter(None, kept.values()):
        page = tmp_path / "memory" / "scopes" / stored.scope.name / "PRIMER.md"
        assert_page(page, stored)
