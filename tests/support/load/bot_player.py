"""One conversation with a real bot: the same as the engine's, by commands, tools and plain talk."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import TookTooLong
from astrbot_plugin_scoped_memory.tests.support.load.cast import (
    Mark,
    conversation,
    marks_in,
    question,
    scope_of,
    visible_to,
)
from astrbot_plugin_scoped_memory.tests.support.load.figures import Figures
from astrbot_plugin_scoped_memory.tests.support.load.ledger import Fate, Ledger, Line

_AT_ONCE = 8
"""Turns that the bot has to deal with at a time: more would only wait in its queue."""
_POINTER = re.compile(r"\b(m-[0-9a-z]{6,})")
_FORGOTTEN, _RESTORED = "已忘记：", "已恢复："


@dataclass
class World:
    """What the conversations share. ``scope_map`` is what the bot was last given."""

    rig: Rig
    ledger: Ledger
    figures: Figures
    scope_map: dict[str, str]
    serial: int = 0
    at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    turns_of_map: int = 0
    """Counts up where a save begins, and where it ends."""
    up: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the bot is being killed: no reply will come any more."""

    def fail(self, event: str, **facts: object) -> None:
        """What must not be."""
        self.figures.failures.append({"event": event, **facts})


class Gone(Exception):
    """The bot was killed before it answered."""


class BotPlayer:
    """``turning`` is held while its place in the map changes: what it says then could go either
    way."""

    def __init__(self, number: int, world: World, seed: int) -> None:
        session = 1000 + number
        self.umo = conversation(number).umo
        self.turning = asyncio.Lock()
        self._person = Person(session, f"人{number}")
        self._place: Place = private(session) if number % 3 == 0 else group(session)
        self._world = world
        self._chance = random.Random(f"{seed}-{number}")
        self._lines: list[Line] = []

    async def play(self, pause: float) -> None:
        """Until cancelled."""
        acts: list[Callable[[], Awaitable[str]]] = [
            self._add,
            self._remember,
            self._search,
            self._recall,
            self._talk,
            self._list,
            self._pry,
            self._forget,
            self._undo,
        ]
        weights = [20, 10, 12, 8, 20, 10, 8, 7, 5]
        while True:
            await asyncio.sleep(pause * self._chance.random())
            await self._world.up.wait()
            act = self._chance.choices(acts, weights)[0]
            async with self.turning:
                outcome = await self._outcome(act)
            self._world.figures.operations[f"{act.__name__.strip('_')} {outcome}"] += 1

    async def _outcome(self, act: Callable[[], Awaitable[str]]) -> str:
        """A command of a plugin that is just being reloaded, AstrBot swallows; nothing else."""
        before = self._world.turns_of_map
        try:
            return await act()
        except Gone:
            return "killed"
        except (TookTooLong, IndexError) as error:  # no reply, or one without a tool's result
            if before == self._world.turns_of_map:
                self._world.fail("unanswered", act=act.__name__, where=self.umo, said=repr(error))
            return "unanswered"

    async def _while_up[T](self, work: Callable[[], Awaitable[T]]) -> T:
        """Raises Gone if the bot dies first."""
        doing = asyncio.ensure_future(self._in_turn(work))
        gone = asyncio.ensure_future(self._world.gone.wait())
        try:
            await asyncio.wait([doing, gone], return_when="FIRST_COMPLETED")
            if doing.done() and not self._world.gone.is_set():
                return doing.result()
            raise Gone
        finally:
            for task in (doing, gone):
                task.cancel()
            await asyncio.gather(doing, gone, return_exceptions=True)

    async def _in_turn[T](self, work: Callable[[], Awaitable[T]]) -> T:
        async with self._world.at_once:
            return await work()

    async def _command(self, words: str) -> str:
        turn = await self._while_up(
            lambda: self._world.rig.turn(self._place, self._person, f"/memory {words}")
        )
        return turn.reply

    async def _tool(self, name: str, **arguments: object) -> str:
        return await self._while_up(
            lambda: self._world.rig.use_tool(self._place, self._person, name, arguments)
        )

    def _text(self) -> tuple[Mark, str]:
        self._world.serial += 1
        scope = scope_of(self.umo, self._world.scope_map)
        mark = Mark(scope or "nowhere", f"9-{self._world.serial}")
        return mark, mark.on(self._chance)

    async def _add(self) -> str:
        mark, text = self._text()
        return self._told(mark, await self._command(f"add {text}"))

    async def _remember(self) -> str:
        mark, text = self._text()
        answer = await self._tool(
            "core_memory_remember",
            judgment=text,
            reasoning="对方亲口说的。",
            tags=["生活"],
            strength=60,
            memory_type=self._chance.choice(["knowledge", "event", "task", "emotional"]),
        )
        return self._told(mark, answer)

    def _told(self, mark: Mark, answer: str) -> str:
        pointer = _POINTER.search(answer)
        if pointer is None:
            if mark.scope == "nowhere":
                return "rejected: read_only"
            self._world.figures.more.setdefault("first refusal", answer[:200])
            return "rejected: other"
        if mark.scope == "nowhere":
            self._world.fail("misplaced", serial=mark.serial, answer=answer)
        line = Line(mark.serial, mark.scope, self.umo, pointer[1])
        self._world.ledger.stored(line)
        self._world.figures.acknowledged += 1
        self._lines.append(line)
        return "stored"

    async def _search(self) -> str:
        return self._look("search", await self._command(f"search {question(self._chance)}"))

    async def _list(self) -> str:
        return self._look("list", await self._command("list"))

    async def _recall(self) -> str:
        answer = await self._tool("core_memory_recall", query=question(self._chance), limit=10)
        return self._look("recall", answer)

    async def _talk(self) -> str:
        """Plain words: what the plugin puts beside them is looked at."""
        self._world.serial += 1
        words = f"{question(self._chance)}（第{self._world.serial}句）"
        turn = await self._while_up(lambda: self._world.rig.turn(self._place, self._person, words))
        if not turn.reply or not turn.requests:
            self._world.fail("no answer", words=words)
            return "no answer"
        return self._look("talk", turn.injected)

    def _look(self, act: str, shown: str) -> str:
        seen = visible_to(self.umo, self._world.scope_map)
        marks = marks_in(shown)
        for mark in marks:
            if mark.scope not in seen:
                self._world.fail("leak", act=act, mark=str(mark), seen=sorted(seen))
        return "found some" if marks else "found none"

    async def _pry(self) -> str:
        """Ask for a memory of another scope by its id."""
        seen = visible_to(self.umo, self._world.scope_map)
        others = [line for line in self._world.ledger if line.scope not in seen]
        if not others:
            return "nothing yet"
        line = self._chance.choice(others)
        answer = await self._tool("expand_memory", pointer=f"entities.md#{line.memory_id}")
        self._look("pry", answer)
        gone = await self._command(f"forget {line.memory_id}")
        self._look("pry", gone)
        if answer.split()[0] == "ok" or _FORGOTTEN in gone:
            self._world.fail("leak", act="pry", answer=answer, gone=gone)
        return "refused"

    def _pick(self, fate: Fate) -> Line | None:
        here = scope_of(self.umo, self._world.scope_map)
        mine = [line for line in self._lines if line.fate is fate and line.scope == here]
        return self._chance.choice(mine) if mine else None

    async def _forget(self) -> str:
        return await self._change(Fate.LIVING, "forget", _FORGOTTEN, Fate.FORGOTTEN)

    async def _undo(self) -> str:
        return await self._change(Fate.FORGOTTEN, "undo", _RESTORED, Fate.LIVING)

    async def _change(self, before: Fate, command: str, done: str, after: Fate) -> str:
        """Unsure until the answer comes; an answer that says neither leaves it so."""
        line = self._pick(before)
        if line is None:
            return "nothing yet"
        line.fate = Fate.UNSURE
        answer = await self._command(f"{command} {line.memory_id}")
        if done in answer:
            line.fate = after
            return "done"
        line.fate = before
        self._world.figures.more.setdefault(f"first {command} not done", answer[:200])
        return "not done"
