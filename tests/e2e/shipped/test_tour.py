"""The tour of docs/ is played as it stands: each message of its transcripts is said to a bot whose
owner has set nothing, and each answer is the one that the page shows.

A line ``妈妈（家人群）：…`` is said there. A line ``机器人：…`` is its answer, where ``…`` stands
for any words. A line ``附上：…`` is what the model was given with the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.rig import Rig, Turn
from astrbot_plugin_scoped_memory.harness.script import ToolCall, call
from astrbot_plugin_scoped_memory.tests.house.source import ROOT

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

PEOPLE = {"我": Person(9500, "房主"), "妈妈": Person(9501, "妈妈"), "爸爸": Person(9502, "爸爸")}
GROUPS = {"家人群": group(670_001), "公司群": group(670_002)}
LINE = re.compile(r"(\w+)（(\w+)）：(.+)")
TO_REMEMBER = "记住："
NOTHING = "没有"


@dataclass
class Said:
    """A message of the tour, and what the page shows behind it."""

    who: str
    where: str
    text: str
    answers: list[str] = field(default_factory=list)
    attached: str | None = None

    @property
    def person(self) -> Person:
        return PEOPLE[self.who]

    @property
    def place(self) -> Place:
        return private(self.person) if self.where == "私聊" else GROUPS[self.where]


def messages(page: str) -> list[Said]:
    """The transcripts of a page, in the order in which they stand there."""
    found: list[Said] = []
    for block in re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("附上："):
                found[-1].attached = line.removeprefix("附上：")
            elif line.startswith("机器人："):
                found[-1].answers.append(line.removeprefix("机器人："))
            elif match := LINE.fullmatch(line):
                found.append(Said(*match.groups()))
            else:
                found[-1].answers.append(line)
    return found


def shown(pattern: str, answer: str) -> bool:
    """Whether an answer has the words of a line of the page, in their order."""
    return re.search(".*?".join(map(re.escape, pattern.split("…"))), answer, re.DOTALL) is not None


async def say(rig: Rig, said: Said) -> Turn:
    """To a model that uses the tool when it is asked to, and says what the page has it say."""
    fact = said.text.removeprefix(TO_REMEMBER)
    tools: list[ToolCall] = []
    if fact != said.text:
        tools = [call("core_memory_remember", {"judgment": fact})]
    if not said.text.startswith("/"):
        rig.model.on(said.text, *tools, then=said.answers[0])
    return await rig.turn(said.place, said.person, said.text)


async def test_each_message_of_the_tour_is_answered_as_the_page_shows(rig: Rig) -> None:
    page = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    tour = messages(page)
    assert {said.where for said in tour} == {*GROUPS, "私聊"}
    for said in tour:
        turn = await say(rig, said)
        for answer in said.answers:
            assert shown(answer, turn.reply), (said.text, turn.reply)
        if said.attached == NOTHING:
            assert turn.injected == "", said.text
        elif said.attached is not None:
            assert shown(said.attached, turn.injected), (said.text, turn.injected)
