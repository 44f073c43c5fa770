"""``/memory decide``: an admin sees what all will read, says yes, and only then it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, Stored
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import is_proposed
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_anchor import anchor_of
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_history import anchor
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

WORDS, OTHER = "检索面用 PostgreSQL", "大家每人写一份周报"


async def proposed(desk: Desk, words: str = WORDS) -> str:
    """Returns the id of a new proposal."""
    await desk(f"decide 提议 {words}")
    found = re.search(rf"(m-[0-9a-z]+) .*{words.split()[0]}", await desk("decide"))
    assert found
    return found[1]


def records(root: Path) -> str:
    file = root / "memory" / "shared" / "DECISIONS.md"
    return file.read_text("utf-8") if file.exists() else ""


async def test_what_was_shown_is_written_after_a_yes_of_who_was_shown_it(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        memory_id = await proposed(desk)
        shown = await desk(f"decide accept {memory_id} issue=12 to=decisions")
        for yes in (await desk("yes", sender="8"), await desk("yes", 555)):
            assert yes == desk.say("asked.nothing")
        assert not records(tmp_path)
        assert "D-0001" in await desk("yes")
        written = records(tmp_path)[records(tmp_path).index("## D-0001") :]
        assert "Issue" in written
        assert re.sub(" · 提案：.*", "", written) in f"{shown}\n"
        await desk("yes")
        assert records(tmp_path).count("## D-0001") == 1


async def test_what_an_admin_settles_is_shown_and_written_after_a_yes(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        for words, everybody in ((f"{WORDS} 理由=团队都会", False), (f"大家 {OTHER}", True)):
            shown = await desk(f"decide 定 {words}")
            assert words.split(" 理")[0].removeprefix("大家 ") in shown
            assert ("shared/" in shown) is everybody
            assert not records(tmp_path)
            assert "D-000" in await desk("yes")
        assert (OTHER in records(tmp_path), WORDS in records(tmp_path)) == (True, False)
        here = await desk("decide")
        assert (WORDS in here, OTHER in here, "m-" in here) == (True, True, True)
        assert WORDS not in await desk("decide", 888)
        assert "shared/" in await desk("decide 定 群里不发广告", 999)  # a public group
        await desk(f"decide 定 大家 {WORDS}")
        assert "D-0003" in await desk("yes")
        assert WORDS in await desk("decide", 888)


async def test_a_reason_stands_behind_its_sign_and_a_beginning_names_a_proposal(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        first = await proposed(desk, f"{WORDS} 理由=连接池 why=够用")
        shown = await desk(f"decide 接受 {first[:-3]}")
        assert f"D-0001 {WORDS}\n" in shown
        assert "\n\n连接池 why=够用\n" in shown
        second = await proposed(desk, "接口面用 REST")
        said = await desk(f"decide 接受 {first[:6]}")
        assert {first, second} <= set(re.findall(r"m-[0-9a-z]+", said))
        assert "没有这个提议" in await desk(f"decide 接受 {first}", 888)


async def test_what_is_remembered_is_settled_by_its_id_and_stays_whose_it_was(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk, where = Desk(rig), group(777)
        draft = MemoryDraft("年会订海边的民宿", actor=person(10001), talk=anchor("c1", "就海边吧"))
        stored = await rig.engine.service.remember(draft, conversation_id=where)
        assert isinstance(stored, Stored)
        memory_id = stored.memory.memory.memory_id
        for wrong, number in (("m-0123456789abcdef", 777), ("2", 777), (memory_id, 888)):
            await desk(f"decide 接受 {wrong}", number)
            (one,) = rig.engine.parts.catalogue.all()
            assert not is_proposed(one.memory)
        await desk(f"decide 定 {memory_id}")
        (now,) = rig.engine.parts.catalogue.all()
        assert is_proposed(now.memory)
        assert now.memory.provenance == stored.memory.memory.provenance
        assert anchor_of(now.memory) == anchor_of(stored.memory.memory)
        assert "D-0001" in await desk("yes")
        assert "D-0001" in await desk(f"decide 定 {memory_id}")


async def test_a_proposal_that_is_none_is_named_and_words_that_ask_for_nothing_tell_the_usage(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        desk = Desk(rig)
        for words in ("接受 m-zzz issue=1", "否决 m-zzz", "取代 D-0001 m-zzz pr=1"):
            assert await desk(f"decide {words}") == desk.say("decide.no_such", word="m-zzz")
        known = await proposed(desk)
        for words in (
            *(
                "fly",
                "定",
                "接受",
                "否决",
                "撤回",
                "撤回 7",
                "取代",
                f"取代 {known}",
                "取代 D-0001",
            ),
            *(f"接受 {known} to=nowhere", f"接受 {known} 随便", f"fly {known}"),
        ):
            assert await desk(f"decide {words}") == desk.say("decide.usage"), words
