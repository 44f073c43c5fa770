"""``/memory decide`` and ``soul``: an admin sees what all will read, or what the persona will go
by, says yes, and only then it is so. What is answered stands on pages of ``tests/says``."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, Stored
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_anchor import anchor_of
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_history import anchor
from astrbot_plugin_scoped_memory.llm_memory.models.scope import NO_PERSONA
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakePlugin
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

WORDS, WISH = "检索面用 PostgreSQL", "回答短一点"
MEMBER = {"sender": "10001", "admin": False}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """One whose clock stands, so that what is shown is what is written."""
    async with running(tmp_path, clock=StandingClock()) as opened:
        yield opened


def records(rig: Rig) -> str:
    file = rig.root / "memory" / "shared" / "DECISIONS.md"
    return file.read_text("utf-8") if file.exists() else ""


async def test_what_was_shown_is_written_after_a_yes_of_who_was_shown_it(rig: Rig) -> None:
    desk = Desk(rig)
    await desk(f"decide 提议 {WORDS} 理由=连接池 why=够用")
    proposed = re.search(r"m-[0-9a-z]+", await desk("decide"))
    assert proposed
    shown = await desk(f"decide accept 大家 {proposed[0][:-3]}")
    assert f"D-0001 {WORDS}\n" in shown
    assert "\n\n连接池 why=够用\n" in shown
    for yes in (await desk("yes", sender="8"), await desk("yes", 555)):
        assert yes == desk.say("asked.nothing")
    assert not records(rig)
    assert "D-0001" in await desk("yes")
    written = records(rig)[records(rig).index("## D-0001") :]
    assert re.sub(" · 提案：.*", "", written) in f"{shown}\n"
    await desk("yes")
    assert records(rig).count("## D-0001") == 1
    assert "没有这个提议" in await desk(f"decide 接受 {proposed[0]}", 888)


async def test_what_is_remembered_is_settled_by_its_id_and_stays_whose_it_was(rig: Rig) -> None:
    draft = MemoryDraft("年会订海边的民宿", actor=person(10001), talk=anchor("c1", "就海边吧"))
    stored = await rig.engine.service.remember(draft, conversation_id=group(777))
    assert isinstance(stored, Stored)
    desk, memory = Desk(rig), stored.memory.memory
    for words, number, is_one in (
        ("接受 m-0123456789abcdef", 777, False),
        ("接受 2", 777, False),
        (f"接受 {memory.memory_id}", 888, False),
        (f"定 {memory.memory_id}", 777, True),
    ):
        assert (memory.judgment in await desk(f"decide {words}", number)) is is_one, words
        assert [one.memory for one in rig.engine.parts.catalogue.all()] == [memory]
    told = f"接受 {memory.memory_id}"
    for words in ("fly", "接受", "撤回 7", f"{told} 随便", f"{told} to=nowhere"):
        assert await desk(f"decide {words}") == desk.say("decide.usage"), words
    assert await desk("decide 否决 m-zzz") == desk.say("decide.no_such", word="m-zzz")
    await desk(f"decide {told}")
    assert "D-0001" in await desk("yes")
    (now,) = rig.engine.parts.catalogue.all()
    assert now.memory.provenance.person == memory.provenance.person
    assert anchor_of(now.memory) == anchor_of(memory)


async def test_a_wish_is_seen_by_admins_alone_until_it_is_in_force(rig: Rig) -> None:
    souls, desk = rig.engine.service.souls, Desk(rig, plugin=FakePlugin(rig, persona="猫娘"))
    await desk(f"soul 提议 {WISH}")
    await desk("yes", **MEMBER)
    for form in ("#2", "第2版", "第 2 版", "２", "2号"):  # as people write numbers
        assert "没有这个" in await desk(f"soul apply {form}")
    await desk(f"soul 提议 {WISH}")
    assert [WISH in await desk("soul", **who) for who in ({}, MEMBER)] == [True, False]
    await desk("soul apply #1")
    assert (WISH in souls.injected("猫娘"), souls.injected("")) == (True, "")
    assert WISH in await desk("soul", **MEMBER)
    await desk("soul 撤销")
    assert souls.injected("猫娘") == ""


async def test_an_unknown_persona_has_no_soul_and_none_has_its_own(rig: Rig) -> None:
    nobody, none = (Desk(rig, plugin=FakePlugin(rig, persona=p)) for p in (None, ""))
    assert await nobody(f"soul 提议 {WISH}") == nobody.say("why.unknown_persona")
    assert not (rig.root / "memory" / "soul").exists()
    await none(f"soul 提议 {WISH}")
    assert (rig.root / "memory" / "roles" / NO_PERSONA / "SOUL.md").exists()
