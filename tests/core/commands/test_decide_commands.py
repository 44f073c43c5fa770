"""``/memory decide``: an admin sees what all will read, says yes, and only then it is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, Stored
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import is_proposed
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_anchor import anchor_of
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_history import anchor
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, FakePlugin
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

WORDS = "检索面用 PostgreSQL"


class Desk:
    """The commands of one plugin: what was shown is known as long as it is loaded."""

    def __init__(self, rig: Rig, language: str = "zh-CN") -> None:
        self._commands = Commands(cast("Any", FakePlugin(rig, language)))

    async def __call__(self, words: str = "", number: int = 777, **more: Any) -> str:
        more = {"sender": "9", "name": "站长", "admin": True, **more}
        event = FakeEvent.in_group(number, f"memory decide {words}", **more)
        answer = await self._commands.answer(cast("Any", event), self._commands.decide)
        assert answer is not None
        return answer

    async def propose(self, words: str = WORDS) -> str:
        """Returns the id of a new proposal."""
        said = await self(f"提议 {words}")
        found = re.search(r"m-[0-9a-z]+", said)
        assert found
        assert f"decide accept {found[0]}" in said or f"决定 接受 {found[0]}" in said
        return found[0]


def records(root: Path) -> str:
    file = root / "memory" / "shared" / "DECISIONS.md"
    return file.read_text("utf-8") if file.exists() else ""


@pytest.mark.parametrize("language", LANGUAGES)
async def test_what_was_shown_is_written_after_a_yes(tmp_path: Path, language: str) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig, language)
        memory_id = await desk.propose()
        assert memory_id in await desk()
        shown = await desk(f"accept {memory_id} issue=12 to=decisions")
        assert not records(tmp_path)
        # Somebody else's yes, and one in another conversation, means nothing.
        assert await desk("yes", sender="8") == await desk("yes", number=555)
        assert not records(tmp_path)
        assert "D-0001" in await desk("yes")
        written = records(tmp_path)[records(tmp_path).index("## D-0001") :]
        assert "Issue" in written
        assert written in f"{shown}\n"
        await desk("yes")
        assert records(tmp_path).count("## D-0001") == 1


async def test_after_ten_minutes_it_is_shown_again(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        await desk(f"接受 {await desk.propose()}")
        rig.clock.forward(minutes=11)  # type: ignore[attr-defined]
        assert "不一样" in await desk("是")
        assert not records(tmp_path)
        await desk("是")
        assert WORDS in records(tmp_path)


async def test_a_decision_is_superseded_withdrawn_and_a_proposal_rejected(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        first, second = await desk.propose(), await desk.propose("检索面改用 SQLite 的全文索引")
        assert second in await desk(f"否决 {second} 太慢")
        assert second not in await desk()
        for words in ("列表 全部", "全部", "ALL"):
            assert "已否决" in await desk(words)
        await desk(f"接受 {first}")
        await desk("是")
        third = await desk.propose("检索面改用自己写的索引")
        await desk(f"取代 D-0001 {third}")
        await desk("是")
        assert "D-0001" not in await desk()
        await desk("撤回 D-0002 做不完")
        await desk("是")
        assert "做不完" in records(tmp_path)
        guess = await desk.propose("暂时不用缓存")
        assert "仍要" in await desk(f"接受 {guess}")
        assert "十分钟" in await desk(f"接受 {guess} 仍要")


async def test_a_reason_stands_behind_its_sign_and_a_beginning_names_a_proposal(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        first = await desk.propose(f"{WORDS} 理由=连接池 why=够用")
        shown = await desk(f"接受 {first[:-3]}")
        assert f"D-0001 {WORDS}\n" in shown
        assert "\n\n连接池 why=够用\n" in shown
        second = await desk.propose("接口面用 REST")
        assert second.startswith(first[:6])
        said = await desk(f"接受 {first[:6]}")
        assert first in said
        assert second in said


async def test_only_admins_decide_and_only_on_what_is_theirs(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        memory_id = await desk.propose()
        for words in ("", f"提议 {WORDS}", f"接受 {memory_id}", f"否决 {memory_id}", "是"):
            assert "管理员" in await desk(words, sender="10001", admin=False)
        assert memory_id not in await desk(number=888)
        assert "没有这个提议" in await desk(f"接受 {memory_id}", number=888)
        assert memory_id in await desk()


async def test_what_is_remembered_is_proposed_by_its_id_and_stays_whose_it_was(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk, where = Desk(rig), group(777)
        draft = MemoryDraft("年会订海边的民宿", actor=person(10001), talk=anchor("c1", "就海边吧"))
        stored = await rig.engine.service.remember(draft, conversation_id=where)
        assert isinstance(stored, Stored)
        memory_id = stored.memory.memory.memory_id
        assert "没有" in await desk()
        told = await desk(f"提议 {memory_id}")
        assert f"{memory_id}  提议" in told
        assert f"决定 接受 {memory_id}" in told
        (now,) = (one for one in rig.engine.rooms.catalogue.all())
        assert is_proposed(now.memory)
        assert now.memory.provenance == stored.memory.memory.provenance
        assert anchor_of(now.memory) == anchor_of(stored.memory.memory)
        assert "没有" in await desk("提议 m-0123456789abcdef")
        assert "列" in await desk("提议 2")
        assert "没有" in await desk(f"提议 {memory_id}", number=888)
        assert "D-0001" in (await desk(f"接受 {memory_id}")) + (await desk("是"))
        assert "提议 " not in await desk(f"提议 {memory_id}")
