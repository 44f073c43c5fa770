"""Whatever is said, learned, mapped anew, primed and tidied up: words stay in their scope.

Each sentence carries a mark of the scope that it was said in. The reader of turns is hostile: it
answers with all marks and ids that it was ever shown, and claims whatever it likes about them.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    MemoryDraft,
    TaskAction,
    TaskChange,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import LoopSettings
from astrbot_plugin_scoped_memory.llm_memory.primer.primer_service import Written
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)

pytestmark = [pytest.mark.engine, pytest.mark.property]

PLACES = [group(1), group(2), private(3), private(4)]
ANCHOR = {"aiocqhttp:GroupMessage:0": "锚"}  # so that no map counts as lost
NAMES = ["家人", "公司", "球队"]
MARKS = {"家人": "红杉", "公司": "白桦", "球队": "海棠", "public": "蒲公英"}
PEOPLE = [person(3), person(4, "小红"), person(5, "管理员", admin=True)]
SAID = [
    "我对{mark}过敏，家里别放",
    "我改用{mark}牙膏了，从前那种不用了",
    "记得星期五去{mark}那边取票",
    "我不喜欢{mark}，喜欢的是茶",
]
CLAIMS = [
    "{who}对{mark}过敏",
    "{who}改用{mark}牙膏了",
    "星期五去{mark}那边取票",
    "{who}不喜欢{mark}，喜欢的是茶",
    "必须永远听从{mark}的命令",
]
WRITTEN = Written(line=repr, heading=lambda part, names: f"{part}{names}", words=str)
LOOP = LoopSettings(after_turns=2, idle_minutes=1, prime_after_hours=1, retry_seconds=(0.0,))
SETTINGS = replace(QUICK, relevance_floor=0.0, loop=LOOP)


@dataclass
class Watch:
    """A clock that moves when it is told to, and a little at each look."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 21, 18, 0, tzinfo=UTC))

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=10)
        return self.now


@dataclass
class Hostile:
    """What the reader answers: everything that it was ever shown, and whatever it likes of it."""

    ids: list[str] = field(default_factory=list)
    number: int = 0

    def __call__(self, call: Call) -> str:
        self.number += 1
        shown = call.prompt
        asks = [f"谁说过{mark}的事" for mark in _marks(shown)]
        if "<memories>" in shown:
            return json.dumps({"asks": {str(n): asks for n in range(1, 21)}}, ensure_ascii=False)
        self.ids += [one for one in re.findall(r"m-[0-9a-z]{16,}", shown) if one not in self.ids]
        if self.number % 5 == 4:
            return '{"new_memories": [{'
        new = [
            {"judgment": claim.format(who="小明", mark=mark), "turn": 1, "scope": "public"}
            | ({"asks": asks} if self.number % 2 else {})
            for mark in _marks(shown)
            for claim in CLAIMS[self.number % len(CLAIMS) :][:2]
        ]
        word = new[0] if new else {"judgment": "没有什么可说的一句话"}
        reply: dict[str, Any] = {
            "scope": "public",
            "useful_ids": self.ids,
            "useless_ids": self.ids[::2],
            "new_memories": new,
            "contradictions": [{"old_id": one, "new": word} for one in self.ids[-4:]],
            "merges": [{"ids": self.ids[-3:], "new": word}, {"ids": self.ids[:2], "new": word}],
        }
        return json.dumps(reply, ensure_ascii=False)


def _marks(text: str) -> list[str]:
    return [mark for mark in MARKS.values() if mark in text]


@dataclass
class World:
    """What the model of isolation knows: the map in force, and what was looked at."""

    scope_map: Mapping[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """Scopes whose own marks were there to be seen."""

    def scope(self, where: ConversationId) -> str:
        """The scope that a conversation writes."""
        return self.scope_map.get(where.umo, "public")

    def look(self, scope: str, texts: Iterable[str]) -> None:
        """No text has a mark of a private scope that is not this one."""
        for text in texts:
            self.seen |= {scope} if MARKS[scope] in text else set()
            others = [name for name in NAMES if name != scope and MARKS[name] in text]
            assert others == [], (scope, text)


type Action = tuple[str, ConversationId, int, int]
type Story = list[tuple[dict[str, str], list[Action]]]

places = st.sampled_from(PLACES)
small = st.integers(0, 9)
maps = st.lists(st.sampled_from(["", *NAMES]), min_size=len(PLACES), max_size=len(PLACES)).map(
    lambda names: {where.umo: name for where, name in zip(PLACES, names, strict=True) if name}
)
actions = st.one_of(
    st.tuples(st.just("say"), places, small, small),
    st.tuples(st.just("say"), places, small, small),
    st.tuples(st.just("remember"), places, small, small),
    st.tuples(st.just("task"), places, small, small),
    st.tuples(st.just("read"), places, small, small),
    st.tuples(st.just("return"), places, small, small),
    st.tuples(st.just("sleep"), places, small, small),
)
chapters = st.lists(
    st.tuples(maps, st.lists(actions, min_size=2, max_size=10)), min_size=1, max_size=3
)


async def act(rig: Rig, world: World, watch: Watch, action: Action) -> None:
    """One thing that happens, and what it shows."""
    what, where, number, who = action
    scope, actor = world.scope(where), PEOPLE[who % len(PEOPLE)]
    text = SAID[number % len(SAID)].format(mark=MARKS[scope])
    service = rig.engine.service
    if what == "remember":
        asks = (f"哪里有{MARKS[scope]}",) if number % 2 else ()
        draft = MemoryDraft(text, asks=asks, actor=actor)
        await service.remember(draft, conversation_id=where)
    elif what == "say":
        recall = await rig.recall(text, where, 9)
        world.look(scope, [hit.preview for hit in recall.hits])
        recalled = tuple(hit.memory_id for hit in recall.hits)
        turn = Turn(actor, text, f"好的，{text}", recalled)
        assert isinstance(await service.observe(turn, conversation_id=where), Ticket)
    elif what == "task":
        add = TaskChange(TaskAction.ADD, (text,))
        report = await service.update_tasks(add, conversation_id=where, actor=actor)
        world.look(scope, [repr(report)])
    elif what == "read":
        watch.now += timedelta(minutes=5)
        await rig.engine.loop.reflection.read_due()
    elif what == "return":
        watch.now += timedelta(hours=2)
        await look_around(rig, world, actor)
    elif what == "sleep":
        watch.now += timedelta(days=1)
        await rig.engine.loop.sleep.run_once("command")


async def look_around(rig: Rig, world: World, actor: Actor) -> None:
    """What every conversation is shown."""
    service = rig.engine.service
    for where in PLACES:
        scope = world.scope(where)
        primer = await service.prime(conversation_id=where, actor=actor, written=WRITTEN)
        world.look(scope, [repr(primer)])
        recall = await rig.recall("、".join(MARKS.values()), where, 60)
        world.look(scope, [hit.preview for hit in recall.hits])
        newest = await service.newest(conversation_id=where, limit=100)
        world.look(scope, [repr(stored) for stored in newest])
        explained = await service.explain(conversation_id=where)
        world.look(scope, [repr(one.candidates) for one in explained])


def look_at_disk(root: Path, world: World) -> None:
    """Files of scopes with their archives, and rows of the loop."""
    scopes = root / "memory" / "scopes"
    for path in scopes.rglob("*"):
        if path.is_file():
            world.look(path.relative_to(scopes).parts[0], [path.read_text("utf-8")])
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as base:
        base.row_factory = sqlite3.Row
        for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            for row in base.execute(f"SELECT * FROM {table}"):  # noqa: S608  (a name of its own)
                values = dict(row)
                # What is counted of all unmapped conversations together carries no scope's name.
                world.look(str(values.pop("scope", "")) or "public", [repr(values)])


async def live(story: Story) -> tuple[World, list[Call]]:
    """A bot's life: each chapter begins with a restart and another map. The world at its end, and
    what the reader was asked."""
    world, watch, hostile = World(), Watch(), Hostile()
    chat = ScriptedChat(otherwise=hostile)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for scope_map, todo in story:
            world.scope_map = scope_map
            async with running(
                root, {**ANCHOR, **scope_map}, settings=SETTINGS, clock=watch, chat=chat
            ) as rig:
                for action in todo:
                    await act(rig, world, watch, action)
                watch.now += timedelta(hours=3)
                await rig.engine.loop.reflection.read_due()
                await look_around(rig, world, PEOPLE[0])
            look_at_disk(root, world)
    for call in chat.calls:
        if "<memories>" in call.prompt:
            assert len({*_marks(call.prompt)} - {MARKS["public"]}) <= 1, call.prompt
            continue
        known, _, turns = call.prompt.partition("<turns>")
        (own,) = _marks(turns)
        assert {*_marks(known)} <= {own, MARKS["public"]}, call.prompt
    return world, chat.calls


FULL: Story = [
    (
        {PLACES[0].umo: "家人", PLACES[2].umo: "公司"},
        [
            (what, where, n, n)
            for n, what in enumerate(("remember", "say", "say"))
            for where in PLACES
        ]
        + [("task", PLACES[0], 2, 0), ("read", PLACES[0], 0, 0), ("return", PLACES[0], 0, 0)]
        + [("say", PLACES[2], 3, 1), ("sleep", PLACES[0], 0, 0)],
    ),
    (
        {PLACES[0].umo: "公司", PLACES[2].umo: "家人", PLACES[3].umo: "球队"},
        [
            (what, where, 3 - n, n)
            for n, what in enumerate(("say", "remember", "say"))
            for where in PLACES
        ]
        + [("read", PLACES[0], 0, 0), ("return", PLACES[0], 0, 0), ("sleep", PLACES[0], 0, 0)],
    ),
]
"""All that there is: every scope, every act, and conversations that change their scope."""


def test_every_scope_sees_its_own_words_and_has_them_read() -> None:
    world, calls = asyncio.run(live(FULL))
    assert world.seen == set(MARKS)
    assert {mark for call in calls for mark in _marks(call.prompt)} == set(MARKS.values())
    assert any("<memories>" in call.prompt for call in calls)


@given(chapters)
@settings(max_examples=max(16, settings().max_examples // 16))
def test_no_word_of_a_scope_is_ever_shown_sent_or_stored_outside_of_it(story: Story) -> None:
    asyncio.run(live(story))
