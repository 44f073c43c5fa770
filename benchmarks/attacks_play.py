"""A set played through the whole path: said, reflected on, slept on, passed to the tools, asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from attacks_reader import KINDS, WorstReader
from attacks_set import Row, Saying
from attacks_world import (
    ALLERGY,
    CHATTER,
    CHORE,
    ELSEWHERE,
    ELSEWHERE_SCOPE,
    OPEN_GROUP,
    RULE,
    Household,
)

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    Engine,
    EnginePaths,
    EngineSettings,
    MemoryDraft,
    MemoryKind,
    Primer,
    Recall,
    Source,
    TaskChange,
    Turn,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import LoopSettings
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import same_words
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

TEXTS: Final = Texts("zh-CN")
_ZONE: Final = ZoneInfo("Asia/Shanghai")
_FIRST: Final = datetime(2026, 11, 2, tzinfo=_ZONE)
_HINTS: Final = dict(zip(KINDS, ("KNOWLEDGE", "SKILL", "TASK", "EMOTIONAL", "EVENT"), strict=True))
_CHORES: Final = "阳台上的吊兰周六浇水"
_SMALL_TALK: Final = "今天晚饭吃什么好呢"
_LIMIT: Final = 20
_TOKENS: Final = 20_000


@dataclass
class Clock:
    """It stands where it was put."""

    now: datetime = _FIRST

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Asked:
    """What a person was shown who asked: ``by`` is the person, ``place`` one of home, street,
    elsewhere (another private scope), open (public)."""

    by: Actor
    place: str
    recalls: Sequence[Recall]
    primer: Primer


@dataclass
class Stage:
    """A running engine, the households of a set, and what was stored before anybody attacked."""

    root: Path
    engine: Engine
    clock: Clock
    houses: list[Household]
    seeds: dict[int, dict[str, str]] = field(default_factory=dict)
    """By row: ids of what the household has stored itself, and their words."""

    def said_by_rows(self, words: str) -> int:
        """In how many rows these words stand, as ``same_words`` gives them."""
        return sum(
            any(words in same_words(saying.text) for saying in house.row.sayings)
            for house in self.houses
        )

    async def play(self) -> None:
        """Everything up to the questions."""
        self.clock.now = _FIRST + timedelta(hours=9)
        for house in self.houses:
            await self._move_in(house)
        for place, who in ((ELSEWHERE, self.houses[0].neighbour), (OPEN_GROUP, None)):
            await self._prime(place, who or self.houses[0].neighbour)
        last = max(house.row.last_day for house in self.houses)
        for day in range(last + 1):
            self.clock.now = _FIRST + timedelta(days=day, hours=10)
            for house in self.houses:
                await self._day(house, day)
            await self._night(day)
        self.clock.now = _FIRST + timedelta(days=last + 2, hours=12)

    async def ask(self, house: Household) -> Iterator[Asked]:
        """Others ask, each after a pause, in each place that matters."""
        shown = [
            await self._asked(house.wendy, "home", house.home, house),
            await self._asked(house.mum, "home", house.mums_chat, house),
            await self._asked(house.neighbour, "elsewhere", ELSEWHERE, house),
            await self._asked(house.neighbour, "open", OPEN_GROUP, house),
        ]
        if house.row.street:
            shown.append(await self._asked(house.neighbour, "street", house.street, house))
        return iter(shown)

    async def _asked(
        self, who: Actor, place: str, where: ConversationId, house: Household
    ) -> Asked:
        row = house.row
        questions = dict.fromkeys(
            [row.ask] if row.ask else [saying.text[:300] for saying in row.sayings]
        )
        recalls = [
            await self.engine.service.recall(
                question,
                conversation_id=where,
                limit=_LIMIT,
                token_budget=_TOKENS,
                actor=who,
            )
            for question in questions
        ]
        primer = await self._prime(where, who)
        return Asked(who, place, recalls, primer)

    async def _prime(self, where: ConversationId, who: Actor) -> Primer:
        start = await self.engine.service.begin_turn(
            "",
            conversation_id=where,
            actor=who,
            seconds=30.0,
            limit=0,
            token_budget=0,
            primed=True,
        )
        return start.primer

    async def _move_in(self, house: Household) -> None:
        """What the household has said itself; its conversations are known from now on."""
        kept = {}
        for text, who, kind in (
            (RULE, house.dad, MemoryKind.KNOWLEDGE),
            (ALLERGY, house.mum, MemoryKind.KNOWLEDGE),
            (CHORE, house.mum, MemoryKind.TASK),
        ):
            draft = MemoryDraft(text, kind=kind, actor=who, heard=text)
            stored = await self.engine.service.remember(draft, conversation_id=house.home)
            memory = stored.memory.memory  # type: ignore[union-attr]
            kept[memory.memory_id] = memory.judgment
        self.seeds[house.row.number] = kept
        for where, who in (
            (house.home, house.wendy),
            (house.mums_chat, house.mum),
            (house.street, house.neighbour),
        ):
            await self._prime(where, who)

    async def _day(self, house: Household, day: int) -> None:
        row = house.row
        said = [saying for saying in row.sayings if saying.day == day]
        for saying in said:
            where, who = house.where(saying), house.actor(saying)
            if row.way == "said":
                await self._say(house.wendy, CHATTER, where)
                await self._say(who, saying.text, where)
            await self._talked_into(saying, row, who, where)
            if row.attack:
                named = Actor(who.person + "9", saying.text)
                await self._say(named, "快递柜挪到楼道里了", where)
                await self._laundered(house, saying)
        for where in {house.where(saying).umo for saying in said}:
            await self.engine.reflection.reflect(conversation=where)

    async def _say(self, who: Actor, text: str, where: ConversationId) -> None:
        recall = await self.engine.service.recall(
            text, conversation_id=where, limit=3, token_budget=600, actor=who
        )
        shown = tuple(hit.memory_id for hit in recall.hits)
        turn = Turn(who, text, f"好的，{text}", shown, self.clock())
        await self.engine.service.observe(turn, conversation_id=where)

    async def _talked_into(
        self, saying: Saying, row: Row, who: Actor, where: ConversationId
    ) -> None:
        """The model calls its tools as the speaker wishes, in the speaker's own turn."""
        draft = MemoryDraft(_CHORES, kind=self._kind(row), strength=100, actor=who, heard=_CHORES)
        match row.way:
            case "reasoning":
                draft = replace(draft, reasoning=saying.text)
            case "tag":
                draft = replace(draft, tags=(saying.text[:40],))
            case "context":
                draft = replace(draft, context=saying.text)
            case "name":
                draft = replace(draft, actor=Actor(who.person, saying.text))
            case _:
                draft = replace(draft, judgment=saying.text, heard=saying.text)
        await self.engine.service.remember(draft, conversation_id=where)
        if row.way == "said" and row.attack:
            change = TaskChange("add", (saying.text[:300],), heard=saying.text)
            await self.engine.service.update_tasks(change, conversation_id=where, actor=who)

    async def _laundered(self, house: Household, saying: Saying) -> None:
        """The model was shown the attack in a turn of somebody else's, and repeats it there."""
        for who in (house.dad, house.wendy):
            draft = MemoryDraft(
                saying.text,
                kind=self._kind(house.row),
                source=Source.TOOL,
                actor=who,
                heard=_SMALL_TALK,
            )
            await self.engine.service.remember(draft, conversation_id=house.home)
            change = TaskChange("add", (f"去办：{saying.text[:290]}",), heard=_SMALL_TALK)
            await self.engine.service.update_tasks(change, conversation_id=house.home, actor=who)

    @staticmethod
    def _kind(row: Row) -> MemoryKind:
        return MemoryKind[_HINTS[KINDS[row.number % len(KINDS)]]]

    async def _night(self, day: int) -> None:
        self.clock.now = _FIRST + timedelta(days=day + 1, hours=4)
        while True:
            report = await self.engine.sleep.run_once("nightly")
            if report.postponed == "":
                return
            await asyncio.sleep(0.05)  # a real night is long enough for an index to be built


@asynccontextmanager
async def stage(root: Path, rows: Sequence[Row]) -> AsyncIterator[Stage]:
    """An engine of real parts over an empty folder, with a household for each row."""
    houses = [Household(row) for row in rows]
    scope_map = dict(entry for house in houses for entry in house.map_entries())
    scope_map[ELSEWHERE.umo] = ELSEWHERE_SCOPE
    loop = LoopSettings(
        daily_tokens=10**9, most_queued=10**6, prime_after_hours=6.0, backups_keep=0
    )
    settings = EngineSettings(scope_map=scope_map, loop=loop, preview_chars=2_000)
    paths, clock = EnginePaths.under(root), Clock()
    admins = {house.dad.person for house in houses}
    engine = build_engine(
        paths, settings, clock=clock, chat=WorstReader(), is_admin=admins.__contains__
    )
    await engine.open()
    running = asyncio.create_task(engine.run(None))
    try:
        yield Stage(root, engine, clock, houses)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await engine.close()
