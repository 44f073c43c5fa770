"""Whatever is said, read, corrected and slept on, in whatever order: what a person has corrected
does not come back from anything said before, and what is said anew is learned anew."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    Forgotten,
    MemoryDraft,
    Purged,
    Rejected,
    StoredMemory,
    Turn,
)
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    StandingClock,
    learned,
    reflect,
    say,
)

pytestmark = [pytest.mark.engine, pytest.mark.property]

ADMIN = person(9, "管理员", admin=True)
STATEMENTS = ("奶奶对花生过敏", "奶奶住在302室", "妈妈早上喝燕麦奶", "小明周六去爬山")
IN_ENGLISH = {
    "奶奶对花生过敏": "Grandma gets a rash whenever peanuts are around",
    "奶奶住在302室": "You find grandma behind the third door upstairs",
    "妈妈早上喝燕麦奶": "Mum pours oats into her breakfast cup",
    "小明周六去爬山": "My weekend belongs to the summit",
}
"""What was said in the turn in which a tool stored the statement."""
CORRECTIONS = ("forget", "purge", "edit", "move", "delete by hand", "forget and undo")
HOME = "家人"

steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["say", "say", "remember"]), st.sampled_from(STATEMENTS)),
        st.tuples(
            st.sampled_from(
                ["forget", "edit", "move", "delete by hand", "forget and undo", "purge"]
            ),
            st.sampled_from(STATEMENTS),
        ),
        st.tuples(st.sampled_from(["read", "night", "restart"]), st.just("")),
    ),
    min_size=3,
    max_size=14,
)


class Household:
    """A scope, what a person may expect of it, and a reader that learns all that was ever said in
    the turns that it is given, whatever it is shown of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = StandingClock()
        self.chat = ScriptedChat(otherwise=self._answer)
        self.said: dict[str, int] = {}
        self.corrected: dict[str, int] = {}
        self.unread: list[str] = []
        self.moment = 0

    def _answer(self, call: Call) -> str:
        lines = call.prompt.partition("<turns>\n")[2].partition("\n</turns>")[0].splitlines()
        count = len([json.loads(line) for line in lines])
        told, self.unread = self.unread[:count], self.unread[count:]
        found: list[dict[str, Any]] = [
            {**learned(text, who="s1"), "turn": number} for number, text in enumerate(told, 1)
        ]
        return json.dumps({"new_memories": found}, ensure_ascii=False)

    def living(self, rig: Rig, text: str = "") -> list[StoredMemory]:
        return [
            stored
            for stored in list(rig.engine.rooms.catalogue.all())
            if stored.scope.name == HOME and text in stored.memory.judgment
        ]

    async def step(self, rig: Rig, what: str, text: str) -> None:
        self.moment += 1
        self.clock.forward(minutes=1)
        service = rig.engine.service
        match what:
            case "say":
                await say(rig, f"对了，{text}，记一下", reply="好")
                await rig.engine.loop.reflection.follow()
                self.said[text] = self.moment
                self.unread.append(text)
            case "remember":
                draft = MemoryDraft(text, actor=person(1))
                outcome = await service.remember(draft, conversation_id=FAMILY)
                assert not isinstance(outcome, Rejected)
                stored = (outcome.memory.memory.memory_id,)
                turn = Turn(person(1), IN_ENGLISH[text], "好", stored=stored)
                await service.observe(turn, conversation_id=FAMILY)
                await rig.engine.loop.reflection.follow()
                self.said[text] = self.moment
                self.unread.append(text)
            case "read":
                while (await reflect(rig)).read:
                    pass
                self.unread = []
            case "night":
                self.clock.forward(days=1)
                report = await rig.engine.loop.sleep.run_once("nightly", patient=False)
                assert not report.errors
            case _:
                await self.correct(rig, what, text)

    async def correct(self, rig: Rig, what: str, text: str) -> None:
        service = rig.engine.service
        entries = [s for s in self.living(rig, text) if s.memory.judgment == text]
        if not entries:
            return
        if what != "forget and undo":
            self.corrected[text] = self.moment
        other = STATEMENTS[STATEMENTS.index(text) - 1]
        for stored in entries:
            name = stored.memory.memory_id
            match what:
                case "forget":
                    done = await service.forget(name, conversation_id=FAMILY, actor=ADMIN)
                    assert isinstance(done, Forgotten)
                case "purge":
                    gone = await service.forget(
                        name, conversation_id=FAMILY, actor=ADMIN, for_good=True
                    )
                    assert isinstance(gone, Purged)
                case "edit":
                    await service.edit(name, other, conversation_id=FAMILY, actor=ADMIN)
                    self.said[other] = self.moment + 1
                case "move":
                    await service.move(name, "公司", conversation_id=FAMILY, actor=ADMIN)
                case "delete by hand":
                    path = self.root / "memory" / "scopes" / HOME / stored.path
                    whole = path.read_text("utf-8")
                    (begin,) = [line for line in whole.splitlines() if name in line]
                    entry = "## " + whole.partition(begin)[2].partition("\n## ")[0]
                    path.write_text(whole.replace(begin + entry[3:], ""), "utf-8")
                    await rig.engine.reconcile()
                case "forget and undo":
                    await service.forget(name, conversation_id=FAMILY, actor=ADMIN)
                    await service.restore(name, conversation_id=FAMILY, actor=ADMIN)

    def check(self, rig: Rig, after: str) -> None:
        for text in STATEMENTS:
            is_wanted = self.said.get(text, 0) > self.corrected.get(text, 0)
            found = self.living(rig, text)
            entries = [s for s in found if s.memory.judgment == text]
            assert is_wanted or not entries, text
            if after == "night":
                assert is_wanted or text not in self.corrected or not found, found
            if after == "read" and is_wanted:
                assert entries, text

    async def check_told(self, rig: Rig) -> None:
        """No waiting turn tells it either."""
        for text, corrected in self.corrected.items():
            if self.said[text] <= corrected:
                for words in (text, IN_ENGLISH[text]):
                    told = await rig.texts(words, FAMILY, 20)
                    assert not any(words in line for line in told), told


@given(steps)
@settings(max_examples=max(5, settings().max_examples // 2), deadline=None)
def test_nothing_that_was_said_before_revives_what_was_corrected(
    told: list[tuple[str, str]],
) -> None:
    async def play(root: Path) -> None:
        household = Household(root)
        left = list(told)
        while left:
            async with running(
                root, chat=household.chat, clock=household.clock, follow=False
            ) as rig:
                while left and left[0][0] != "restart":
                    what, text = left.pop(0)
                    await household.step(rig, what, text)
                    household.check(rig, what)
                    await household.check_told(rig)
                if left:
                    left.pop(0)

    with tempfile.TemporaryDirectory() as root:
        asyncio.run(play(Path(root)))
