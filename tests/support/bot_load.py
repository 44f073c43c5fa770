"""A real AstrBot with fifty conversations at once: panel saves that move them, kill -9, and an
account of what was acknowledged, held against what is there."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from astrbot_plugin_scoped_memory.harness.bot import BotDied
from astrbot_plugin_scoped_memory.harness.logs import parse_log
from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.rig import Rig, Turn
from astrbot_plugin_scoped_memory.harness.waiting import TookTooLong
from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    ConversationKind,
    EnginePaths,
    EngineSettings,
    build_engine,
)
from astrbot_plugin_scoped_memory.tests.support.vitals import family

ADAPTER = "aiocqhttp"
PUBLIC = "public"
SCOPES = ("家人", "家", "公司", "公司2", "public-x", "a", "a-a", "大学")
ILLEGAL = "家 人!"
"""A name that no scope may have: its conversation reads public and writes nothing."""
PLAYERS = 50
MAPPED = 42
AT_ONCE = 8
"""Turns that the bot has to deal with at a time: more would only wait in its queue."""
PATIENCE_SECONDS = 150.0
"""For one reply: a late one would be taken for the answer to the next question."""

_SAID = ("小明喜欢吃的是苹果", "奶奶对花生过敏", "老王的车停在三号车位", "邻居养了一只橘猫")
_MARK = re.compile(r"〔([^〕]+)〕(9-\d+)")
_POINTER = re.compile(r"\b(m-[0-9a-z]{6,})")


def umo_of(number: int) -> str:
    """Every third conversation is a private chat, the others are groups."""
    kind = "FriendMessage" if number % 3 == 0 else "GroupMessage"
    return f"{ADAPTER}:{kind}:{1000 + number}"


def base_map() -> dict[str, str]:
    """42 conversations in the eight scopes, one in public by name, one with a mistyped scope; the
    rest stands in no map."""
    mapped = {umo_of(n): SCOPES[n % len(SCOPES)] for n in range(MAPPED)}
    return {**mapped, umo_of(MAPPED): PUBLIC, umo_of(MAPPED + 1): ILLEGAL}


def moved_map(chance: random.Random) -> dict[str, str]:
    """The base map with some conversations in another scope, one taken out, one mistyped."""
    scope_map = base_map()
    *moved, removed, mistyped = chance.sample(sorted(scope_map), 6)
    for umo in moved:
        scope_map[umo] = chance.choice([s for s in (*SCOPES, PUBLIC) if s != scope_map[umo]])
    del scope_map[removed]
    scope_map[mistyped] = ILLEGAL
    return scope_map


class Fate(Enum):
    """What became of a text, as far as was acknowledged."""

    LIVING = auto()
    FORGOTTEN = auto()
    UNSURE = auto()
    """The bot died between the request and its acknowledgement: either is right."""


@dataclass
class Line:
    """An acknowledged text; ``owner`` is the umo of the conversation that wrote it."""

    serial: str
    scope: str
    owner: str
    memory_id: str
    fate: Fate = Fate.LIVING


@dataclass
class Account:
    """What the conversations share, and what came of it.

    Attributes:
        lines: Every text that was acknowledged, by its serial.
        scope_map: What the bot was last given.
        faults: What must not be: a leak, a loss, a text in another scope, an odd answer.
        did: Acts by name and outcome.
        handles: Open files of the bot's processes after each save.
        up: Set while the bot may be spoken to; ``gone`` while it is being killed.
    """

    rig: Rig
    scope_map: Mapping[str, str]
    lines: dict[str, Line] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    handles: list[int] = field(default_factory=list)
    kills: int = 0
    saves: int = 0
    serial: int = 0
    at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    up: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask[T](self, asking: Awaitable[T]) -> T:
        """Raises BotDied if the bot is killed before it answers."""
        async with self.at_once:
            doing = asyncio.ensure_future(asking)
            gone = asyncio.ensure_future(self.gone.wait())
            try:
                await asyncio.wait([doing, gone], return_when="FIRST_COMPLETED")
                if gone.done():
                    raise BotDied("killed before it answered")
                return doing.result()
            finally:
                doing.cancel()
                gone.cancel()
                await asyncio.gather(doing, gone, return_exceptions=True)

    def scope_of(self, umo: str) -> str | None:
        """Where a conversation writes; None if nowhere."""
        scope = self.scope_map.get(umo, PUBLIC)
        return None if scope == ILLEGAL else scope

    def seen_by(self, umo: str) -> set[str]:
        """The scopes that a conversation may see."""
        return {self.scope_of(umo) or PUBLIC, PUBLIC}

    async def settle(self) -> None:
        """Hold what the bot has left against what was acknowledged, by an engine of our own."""
        paths = EnginePaths.under(self.rig.bot.plugin_data)
        engine = build_engine(paths, EngineSettings(scope_map=base_map()))
        await engine.open()
        try:
            there: dict[str, Line] = {}
            for scope, reader in _readers().items():
                for stored in await engine.service.newest(conversation_id=reader):
                    if stored.scope.name == scope:
                        memory = stored.memory
                        said = _MARK.search(memory.judgment)
                        assert said is not None, memory.judgment
                        if said[1] != scope or said[2] in there:
                            self.faults.append(f"misplaced or twice: {said[0]} in {scope}")
                        owner = memory.provenance.conversation
                        there[said[2]] = Line(said[2], scope, owner, memory.memory_id)
        finally:
            await engine.close()
        for serial, line in self.lines.items():
            if line.fate is Fate.UNSURE:
                line.fate = Fate.LIVING if serial in there else Fate.FORGOTTEN
            elif (line.fate is Fate.LIVING) is not (serial in there):
                self.faults.append(f"{serial} is {line.fate.name}, and not so in the vault")
        self.lines = there | self.lines  # what was written and not acknowledged has to stay, too


def _readers() -> dict[str, ConversationId]:
    """A group for each scope of the base map."""
    groups = [n for n in range(PLAYERS) if n % 3 and base_map().get(umo_of(n), PUBLIC) != ILLEGAL]
    return {
        base_map().get(umo_of(n), PUBLIC): ConversationId(
            umo_of(n), ADAPTER, ADAPTER, ConversationKind.GROUP, group=str(1000 + n), persona=""
        )
        for n in groups
    }


class Player:
    """One conversation: writes, asks, forgets and pries, and looks at all that it is told.

    ``turning`` is held while its place in the map changes: what it says then could go either way.
    """

    def __init__(self, number: int, account: Account, seed: int) -> None:
        session = 1000 + number
        self.umo = umo_of(number)
        self.turning = asyncio.Lock()
        self._person = Person(session, f"人{number}")
        self._place: Place = private(session) if number % 3 == 0 else group(session)
        self._account = account
        self._chance = random.Random(f"{seed}-{number}")

    async def play(self, pause: float) -> None:
        """Until cancelled."""
        acts: list[Callable[[], Awaitable[str]]] = [
            self._add, self._remember, self._search, self._recall, self._talk, self._pry,
            self._forget, self._undo,
        ]  # fmt: skip
        while True:
            await asyncio.sleep(pause * self._chance.random())
            await self._account.up.wait()
            act = self._chance.choice(acts)
            async with self.turning:
                saves, kills = self._account.saves, self._account.kills
                try:
                    outcome = await act()
                except BotDied:  # also where it was about to speak when the kill came
                    outcome = "killed"
                except (TookTooLong, IndexError) as error:
                    # AstrBot swallows a command of a plugin that is just being reloaded.
                    outcome = "unanswered"
                    if (saves, kills) == (self._account.saves, self._account.kills):
                        self._account.faults.append(f"{act.__name__} in {self.umo}: {error!r}")
            self._account.did[f"{act.__name__.strip('_')} {outcome}"] += 1

    async def _command(self, words: str) -> str:
        turn = await self._turn(f"/memory {words}")
        return turn.reply

    async def _turn(self, words: str) -> Turn:
        return await self._account.ask(self._account.rig.turn(self._place, self._person, words))

    async def _tool(self, name: str, **arguments: object) -> str:
        return await self._account.ask(
            self._account.rig.use_tool(self._place, self._person, name, arguments)
        )

    def _text(self) -> tuple[str, str]:
        """A serial, and a text that could be said anywhere, with scope and serial in front."""
        self._account.serial += 1
        serial = f"9-{self._account.serial}"
        scope = self._account.scope_of(self.umo) or "nowhere"
        return serial, f"〔{scope}〕{serial} {self._chance.choice(_SAID)}"

    async def _add(self) -> str:
        serial, text = self._text()
        told = await self._command(f"add {text}")
        if "已记住" in told:
            told = await self._command(f"list {serial} 详细")
        return self._stored(serial, told)

    async def _remember(self) -> str:
        serial, text = self._text()
        told = await self._tool(
            "core_memory_remember", judgment=text, reasoning="对方亲口说的。", tags=["生活"],
            strength=60, memory_type="knowledge",
        )  # fmt: skip
        return self._stored(serial, told)

    def _stored(self, serial: str, answer: str) -> str:
        pointer, scope = _POINTER.search(answer), self._account.scope_of(self.umo)
        if pointer is None:
            return "refused"
        if scope is None:
            self._account.faults.append(f"stored without a scope: {answer}")
        else:
            self._account.lines[serial] = Line(serial, scope, self.umo, pointer[1])
        return "stored"

    async def _search(self) -> str:
        return self._look("search", await self._command(f"search {self._chance.choice(_SAID)}"))

    async def _recall(self) -> str:
        query = self._chance.choice(_SAID)
        return self._look("recall", await self._tool("core_memory_recall", query=query, limit=10))

    async def _talk(self) -> str:
        self._account.serial += 1
        words = f"{self._chance.choice(_SAID)}？（第{self._account.serial}句）"
        turn = await self._turn(words)
        if not turn.reply:
            self._account.faults.append(f"no answer to {words}")
        return self._look("talk", turn.injected)

    def _look(self, act: str, shown: str) -> str:
        """Every text that is shown must be of a scope that this conversation may see."""
        scopes = {scope for scope, _ in _MARK.findall(shown)}
        if leaked := scopes - self._account.seen_by(self.umo):
            self._account.faults.append(f"leak by {act} in {self.umo}: {leaked}")
        return "found some" if scopes else "found none"

    async def _pry(self) -> str:
        """Ask for a memory of another scope, and forget it, by its id."""
        seen = self._account.seen_by(self.umo)
        others = [line for line in self._account.lines.values() if line.scope not in seen]
        if not others:
            return "nothing yet"
        memory_id = self._chance.choice(others).memory_id
        answer = await self._tool("expand_memory", pointer=f"entities.md#{memory_id}")
        answer += await self._command(f"forget {memory_id}")
        if answer.startswith("ok") or "已忘记：" in answer:
            self._account.faults.append(f"leak by prying in {self.umo}: {answer}")
        return self._look("pry", answer)

    async def _forget(self) -> str:
        return await self._change(Fate.LIVING, "forget", "已忘记：", Fate.FORGOTTEN)

    async def _undo(self) -> str:
        return await self._change(Fate.FORGOTTEN, "undo", "已找回：", Fate.LIVING)

    async def _change(self, before: Fate, command: str, done: str, after: Fate) -> str:
        here = self._account.scope_of(self.umo)
        mine = [
            line
            for line in self._account.lines.values()
            if line.fate is before and line.owner == self.umo and line.scope == here
        ]
        if not mine:
            return "nothing yet"
        line = self._chance.choice(mine)
        line.fate = Fate.UNSURE
        changed = done in await self._command(f"{command} {line.memory_id}")
        line.fate = after if changed else before
        return "done" if changed else "not done"


async def bot_under_load(root: Path, *, seconds: float, kills: int, seed: int) -> Account:
    """``seconds`` of talk with a panel save every few seconds, ``kills`` spread over them; the
    account is settled after each kill and at the end."""
    chance = random.Random(seed)
    config = {"conversation_scope_map": base_map()}
    async with Rig(root, config=config, reply_seconds=PATIENCE_SECONDS) as rig:
        account = Account(rig, base_map())
        await rig.panel.ready()
        players = [Player(number, account, seed) for number in range(PLAYERS)]
        account.up.set()
        async with asyncio.TaskGroup() as group_of_tasks:
            talk = [group_of_tasks.create_task(player.play(pause=4.0)) for player in players]
            for life in range(kills + 1):
                until = time.monotonic() + seconds / (kills + 1)
                while time.monotonic() < until:
                    await asyncio.sleep(chance.uniform(3.0, 8.0))
                    await _save(account, players, chance)
                if life < kills:
                    await _kill(account, players)
            account.up.clear()
            for player in players:  # what is being said is still answered
                await player.turning.acquire()
            for task in talk:
                task.cancel()
        account.faults += [
            f"{record.level} {record.text}"
            for record in parse_log(rig.bot.logs(all_starts=True))
            if record.ours and record.level.startswith(("ERR", "CRIT"))
        ]
        await asyncio.to_thread(rig.bot.sigterm)
        await account.settle()
    return account


async def _save(account: Account, players: Sequence[Player], chance: random.Random) -> None:
    """Another map. Those whom it moves are silent meanwhile, the others talk on."""
    moved_now = account.scope_map != base_map()
    scope_map = base_map() if moved_now else moved_map(chance)
    moved = [p for p in players if account.scope_map.get(p.umo) != scope_map.get(p.umo)]
    for player in moved:
        await player.turning.acquire()
    try:
        account.saves += 1  # before and after: what was asked meanwhile may stay unanswered
        await account.rig.panel.map_scopes(scope_map)
        await account.rig.panel.activated()
        account.saves += 1
        account.scope_map = scope_map
        account.handles.append(family(account.rig.bot.pid).handles)
    finally:
        for player in moved:
            player.turning.release()


async def _kill(account: Account, players: Sequence[Player]) -> None:
    """In the middle of everything; settle; start again."""
    account.up.clear()
    account.kills += 1
    account.gone.set()
    await asyncio.to_thread(account.rig.bot.kill9)
    for player in players:  # until all have noticed
        async with player.turning:
            pass
    await account.settle()
    account.gone.clear()
    await account.rig.start()
    account.up.set()
