"""Whatever parts of a bot fail, in whatever way, one or three at once: it answers in time with what
it has, tells nobody a word of another scope, acknowledges only what it keeps, and is whole again
once they work."""

from __future__ import annotations

import asyncio
import copy
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.errors import ScopedMemoryError
from astrbot_plugin_scoped_memory.llm_memory.log import logger
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import Disk
from astrbot_plugin_scoped_memory.tests.laws.fault_bot import (
    DOORS,
    HOME,
    OWN_WORDS,
    PUBLIC,
    QUESTIONS,
    RECALLS,
    SETTINGS,
    TURN_SECONDS,
    WORK,
    Answer,
    FaultyBot,
    foreign_words,
    visible_words,
)
from astrbot_plugin_scoped_memory.tests.laws.fault_parts import (
    FAULTS,
    HALF,
    HANGS,
    INDEXES,
    LIES,
    PICKY,
    RAISES,
    SLOW,
    TOO_SLOW,
    Fault,
    notice_of,
)
from astrbot_plugin_scoped_memory.tests.laws.turned_clock import TurnedLoop, turned

pytestmark = [pytest.mark.engine, pytest.mark.property]

AT_THE_START, MEANWHILE = "at the start", "in the middle of a call"
TIMES: Final = (AT_THE_START, MEANWHILE)
RECALL_SECONDS: Final = (
    SETTINGS.load_seconds
    + SETTINGS.embed_query_seconds
    + 2 * SETTINGS.pace.query_seconds
    + SETTINGS.rerank_seconds
)
"""Of a search that somebody asked for: every part takes all that it is given."""
WRITE_SECONDS: Final = SETTINGS.embed_draft_seconds + 2 * SETTINGS.pace.query_seconds
ROUNDING: Final = 1e-6
UNTAKEN: Final = {Fault("embedder", LIES), Fault("embedder", PICKY)}
LONG_SECONDS: Final = 120.0
MOST_ASKED: Final = 4
STOP_SECONDS: Final = 15.0
REPAIR_SECONDS: Final = 600.0

PLACES: Final = (HOME, WORK, PUBLIC)
_, _, OLD, GONE = OWN_WORDS[HOME]
NEW, EDITED, TURN = "周末家里要大扫除", "药改放在红色抽屉里", "明天要去买扫帚"


@dataclass
class Story:
    """One bot, what fails in it, and what was acknowledged meanwhile."""

    root: Path
    loop: TurnedLoop
    disk: Disk
    ids: Mapping[str, str]
    """Of the home's memories, by their words."""
    faults: Collection[Fault]
    when: str
    lines: list[str] = field(default_factory=list)
    """Of the log."""
    kept: dict[str, bool] = field(default_factory=dict)
    """By the words of a deed, whether it was acknowledged."""
    pending: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    later: Iterator[str] = field(default_factory=lambda: iter(["阳台的花要浇水", "书房的灯坏了"]))

    async def play(self) -> None:
        self.loop.turn(3600)
        bot = await self.begin()
        try:
            await self.read(bot)
            await self.write(bot)
            await asyncio.sleep(LONG_SECONDS)
            await self.told_the_owner(bot)
            bot.switches.repair()
            await asyncio.sleep(REPAIR_SECONDS)
            assert not [name for name, task in self.pending.items() if not task.done()]
            if self.when != AT_THE_START or self.parts <= INDEXES:
                await self.recovered(bot)
        finally:
            bot.switches.repair()
            await bot.stop()
        again = self.made()
        again.start()
        try:
            await self.recovered(again, restarted=True)
        finally:
            await again.stop()

    def made(self) -> FaultyBot:
        return FaultyBot(
            self.root, self.loop, self.disk, {LIES, HALF, SLOW, TOO_SLOW} & self.ways != set()
        )

    async def begin(self) -> FaultyBot:
        """A bot that knows all words, and is broken now or soon."""
        bot = self.made()
        if self.when == AT_THE_START:
            bot.switches.break_parts(self.faults)
        bot.start()
        if self.when == MEANWHILE:
            await asyncio.sleep(60)
            assert await bot.faults() == []
        return bot

    @property
    def parts(self) -> set[str]:
        return {fault.part for fault in self.faults}

    @property
    def ways(self) -> set[str]:
        return {fault.way for fault in self.faults}

    async def read(self, bot: FaultyBot) -> None:
        """Each door in each place."""
        for door in DOORS:
            at_once = door != "export"  # one export goes on at a time
            for places in [PLACES] if at_once else [[where] for where in PLACES]:
                await self.asked(bot, door, places)

    async def asked(self, bot: FaultyBot, door: str, places: Collection[ConversationId]) -> None:
        asked = {where: asyncio.create_task(bot.ask(door, where)) for where in places}
        if self.when == MEANWHILE and not bot.switches.now:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            bot.switches.break_parts(self.faults)
        await asyncio.wait(asked.values(), timeout=LONG_SECONDS)
        for where, task in asked.items():
            if task.done():
                self.judge(door, where, task.result())
            else:
                assert not self.parts <= INDEXES, (door, where)
                assert door != "a turn"
                self.pending[f"{door} {where.umo}"] = task

    def judge(
        self, door: str, where: ConversationId, answer: Answer, *, whole: bool = False
    ) -> None:
        """What may be said in any case, and what must be where at most an index fails."""
        assert not [word for word in foreign_words(where) if word in answer.shown], (door, where)
        assert set(answer.told) <= visible_words(where), (door, where)
        if door == "a turn":
            assert answer.passed <= TURN_SECONDS + ROUNDING
        if not (whole or self.parts <= INDEXES):
            return
        assert not answer.refused, (door, where)
        assert answer.passed <= (RECALL_SECONDS if door in RECALLS else 0), (door, answer.passed)
        if door in RECALLS and (whole or not self.ways & {LIES, HALF}):
            assert OWN_WORDS[where][0] in answer.told, (door, where, answer)

    async def write(self, bot: FaultyBot) -> None:
        """Each kind of deed; who has to wait for a repair does."""
        deeds = {
            NEW: bot.remember(NEW, HOME),
            EDITED: bot.edit(self.ids[OLD], EDITED),
            GONE: bot.forget(self.ids[GONE]),
            TURN: bot.observe(TURN),
        }
        for name, deed in deeds.items():
            began = self.loop.time()

            task = self.pending[name] = asyncio.create_task(self.do(name, deed))
            await asyncio.wait({task}, timeout=LONG_SECONDS)
            if self.parts <= INDEXES:
                assert self.kept[name]
                assert self.loop.time() - began <= WRITE_SECONDS + ROUNDING, name
        if self.parts <= INDEXES and not self.ways & {LIES, HALF}:  # what waits is found, too
            assert await bot.is_recalled(NEW, HOME)
            assert await bot.is_recalled(EDITED, HOME)
            assert not await bot.is_recalled(GONE, HOME)
        for task in self.pending.values():
            if task.done():
                await task

    async def told_the_owner(self, bot: FaultyBot) -> None:
        """What fails, if it is one part alone; and in no case what anybody said."""
        codes = [notice.code for notice in bot.notices]
        if len(self.faults) == 1:
            (fault,) = self.faults
            met = {part for part, _ in bot.switches.hits}
            assert fault.part in (*met, "threads"), "a fault that nobody met"
            code = notice_of(fault, at_the_start=self.when == AT_THE_START)
            assert code is None or code in codes
            assert not codes or fault.way != SLOW
            assert max(Counter(codes).values(), default=0) <= 1 or (
                fault.part == "embedder" and fault.way != PICKY
            )
            if fault.way == LIES and fault.part in ("words", "vectors"):
                # It may have been ready only after the last question.
                await bot.ask(RECALLS[0], HOME)
                assert (await bot.engine.status()).scope_check_drops > 0
        everything = [repr(dict(notice.params)) for notice in bot.notices] + self.lines
        words = [word for place in OWN_WORDS.values() for word in place] + [NEW, EDITED, TURN]
        assert not [line for line in everything for word in words if word in line]

    async def do(self, name: str, deed: Awaitable[bool]) -> None:
        """A deed that is refused by an error is not acknowledged."""
        try:
            self.kept[name] = await deed
        except ScopedMemoryError:
            self.kept[name] = False

    async def recovered(self, bot: FaultyBot, *, restarted: bool = False) -> None:
        """Everything is there that was acknowledged, and nothing that was not."""
        # Notices of a full disk, and of turns that were lost, go with the next write.
        assert await bot.observe(TURN)
        assert await bot.remember(next(self.later), HOME)
        seen = await bot.texts(HOME)
        assert (NEW in seen) is self.kept[NEW], self.kept
        assert (EDITED in seen, OLD in seen) == (self.kept[EDITED], not self.kept[EDITED])
        assert (GONE in seen) is not self.kept[GONE]
        await asyncio.sleep(60)
        for where in PLACES:
            for door in RECALLS:
                self.judge(door, where, await bot.ask(door, where), whole=True)
        left = await bot.faults()  # an index that has failed is well once it has answered
        if UNTAKEN & set(self.faults) and not restarted:
            # What it could not embed by its own word is tried again at the next start.
            left = [one for one in left if "to index" not in one]
        else:
            assert await bot.unindexed() == set()
        assert left == []
        (rows,) = self.disk.collections.values()
        assert (Key("家人", self.ids[GONE]) in rows) is not self.kept[GONE]
        for query, text in bot.reranker.shown:  # it lies outside of the house
            # What was just kept is asked for in its own words, at home.
            where = next((where for where, asked in QUESTIONS.items() if asked == query), HOME)
            assert not [word for word in foreign_words(where) if word in text]


@dataclass(frozen=True)
class Known:
    """A data folder, and an index of vectors, in which all words are known."""

    root: Path
    disk: Disk = field(repr=False)
    ids: Mapping[str, str] = field(repr=False)

    def play(self, faults: Collection[Fault], when: str) -> None:
        """A story on a copy."""
        with tempfile.TemporaryDirectory() as folder:
            root = shutil.copytree(self.root, Path(folder) / "data")
            disk = copy.deepcopy(self.disk)

            async def story(loop: TurnedLoop) -> None:
                played = Story(root, loop, disk, self.ids, faults, when)
                sink = logger.add(lambda line: played.lines.append(str(line)), level="INFO")
                try:
                    await played.play()
                finally:
                    logger.remove(sink)

            turned(story)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    root, disk = tmp_path_factory.mktemp("known"), Disk()

    async def tell(loop: TurnedLoop) -> Mapping[str, str]:
        bot = FaultyBot(root, loop, disk)
        bot.start()
        for where, words in OWN_WORDS.items():
            for text in words:
                assert await bot.remember(text, where)
        await asyncio.sleep(60)
        ids = {text: await bot.id_of(text, HOME) for text in OWN_WORDS[HOME]}
        await bot.stop()
        return ids

    return Known(root, disk, turned(tell))


@pytest.mark.parametrize("when", TIMES)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_one_part_fails(known: Known, fault: Fault, when: str) -> None:
    known.play([fault], when)


@pytest.mark.parametrize("part", ["vectors", "embedder", "reranker", "words"])
def test_a_bot_stops_while_a_part_hangs(known: Known, part: str) -> None:
    async def story(loop: TurnedLoop) -> None:
        bot = await healthy(known, loop, asks_store=part == "vectors")
        bot.switches.break_parts([Fault(part, HANGS)])
        for answer in await asyncio.gather(*(bot.ask("recall", HOME) for _ in range(12))):
            assert OWN_WORDS[HOME][0] in answer.told
        asked = sum(bot.switches.hits[part, name] for name in ("query", "search"))
        assert asked <= MOST_ASKED  # who does not answer is not asked again
        began = loop.time()
        stopping = asyncio.create_task(bot.stop())
        await asyncio.wait({stopping}, timeout=LONG_SECONDS)
        try:
            assert stopping.done()
            assert loop.time() - began <= STOP_SECONDS
        finally:
            bot.switches.repair()
        await stopping

    turned(story)


async def healthy(known: Known, loop: TurnedLoop, *, asks_store: bool = False) -> FaultyBot:
    """On the folder itself: nothing is written into it."""
    bot = FaultyBot(known.root, loop, copy.deepcopy(known.disk), asks_store)
    bot.start()
    await asyncio.sleep(60)
    return bot


def test_words_that_fail_for_a_moment_are_nobodys_business(known: Known) -> None:
    async def story(loop: TurnedLoop) -> None:
        bot = await healthy(known, loop)
        bot.switches.break_parts([Fault("words", RAISES)])
        await bot.ask("recall", HOME)
        await asyncio.sleep(1)  # it is opened again after two seconds
        bot.switches.repair()
        await asyncio.sleep(60)
        await bot.ask("recall", HOME)
        assert (bot.notices, await bot.faults()) == ([], [])
        await bot.stop()

    turned(story)


def test_vectors_that_are_always_too_slow_are_told(known: Known) -> None:
    async def story(loop: TurnedLoop) -> None:
        bot = await healthy(known, loop, asks_store=True)
        bot.switches.break_parts([Fault("vectors", TOO_SLOW)])
        for _ in range(30):
            assert OWN_WORDS[HOME][0] in (await bot.ask("recall", HOME)).told
            await asyncio.sleep(1)
        assert [notice.code for notice in bot.notices] == ["index_off"]
        bot.switches.repair()
        await bot.ask("recall", HOME)
        assert await bot.faults() == []
        await bot.stop()

    turned(story)


def test_what_somebody_else_took_out_of_the_index_comes_back(known: Known) -> None:
    async def story(loop: TurnedLoop) -> None:
        bot = await healthy(known, loop)
        (rows,) = bot.disk.collections.values()
        rows.clear()
        assert OWN_WORDS[HOME][0] in (await bot.ask("recall", HOME)).told
        await bot.stop()
        again = FaultyBot(known.root, loop, bot.disk)
        again.start()
        await asyncio.sleep(60)
        assert await again.unindexed() == set()
        await again.stop()

    turned(story)


SEVERAL = st.lists(st.sampled_from(FAULTS), min_size=2, max_size=3, unique_by=lambda f: f.part)


@given(SEVERAL, st.sampled_from(TIMES))
@settings(max_examples=max(2, settings().max_examples // 2))
def test_up_to_three_parts_fail(known: Known, faults: list[Fault], when: str) -> None:
    known.play(faults, when)
