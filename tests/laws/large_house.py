"""A bot with 20,000 memories in 50 scopes, on an event loop whose processor time is measured."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import (
    CognitiveService,
    Memory,
    MemoryKind,
    Provenance,
    Refused,
    Source,
)
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import DerivedScope
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import (
    ALL_PRIVATE_CHATS,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    private,
    with_pace,
)

FORMER = ALL_PRIVATE_CHATS.name
"""What all private chats shared once."""
SIZES = {"家0": 16_000, "public": 2_080, **{f"家{number}": 40 for number in range(1, 49)}}
SIZES[FORMER] = 40
MET = 5_000
"""Groups, and private chats, that have spoken."""
NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
HOME, AWAY = group(0), group(1)
ADMIN, WEI = person(9, "站长", admin=True), person(1, "大伟")
MAP: dict[str, object] = {
    f"aiocqhttp:GroupMessage:{number}": f"家{number % 49}" for number in range(200)
}
ODD: dict[str, object] = {
    **{f"qq:GroupMessage:{10_000 + number}": "家1" for number in range(20)},
    **{f"aiocqhttp:group {20_000 + number}": "家2" for number in range(20)},
}
"""On an account that is gone, and mistyped: each seems to mean a group that has spoken."""
STILL = with_pace(QUICK, scan_seconds=3600.0)
"""The engine does nothing by itself meanwhile."""
PER_FILE, DAYS, JOURNALS = 100, 60, 14
_NAMES = ("小明", "大伟", "小雯")
_THINGS = ("旧书", "雨伞", "相册", "茶具", "毛衣", "球拍", "吉他", "药箱", "工具", "花种", "邮票")
_PLACES = ("柜子", "阳台", "车库", "阁楼", "抽屉", "书架", "床底", "地下室", "厨房", "走廊")


def memory_id(number: int) -> str:
    return f"m-{number:016d}"


def _memory(number: int) -> Memory:
    """One of many: of three people, of whom two have an account, and each from a known talk. Every
    second is in a model's words, one in a file is settled by another."""
    settled = (f"了结：{memory_id(number + 1)}",) if number % PER_FILE == 0 else ()
    talk = ("历史：a-talk#0123456789ab", "措辞：模型")[: 1 + number % 2]
    who, account = _NAMES[number % 3], f"aiocqhttp:{number % 3}" if number % 3 else ""
    place, thing = _PLACES[number % len(_PLACES)], _THINGS[number % len(_THINGS)]
    return Memory(
        memory_id(number),
        f"{who}的{place}第{number}格放着{thing}",
        NOW - timedelta(days=DAYS * (number % PER_FILE) / PER_FILE, seconds=number),
        provenance=Provenance(who, account, HOME.umo, Source.REFLECTION),
        extra=(*settled, *talk),
    )


def _journal(day: datetime) -> Memory:
    told = "；".join(_memory(number).judgment for number in range(day.day, 1000, 100))
    words = f"{day:%Y-%m-%d}记下了 10 条：{told}"
    made = ("汇总：条目",)
    return Memory(f"m-{day:%Y%m%d}", words, day, tags=("日记",), kind=MemoryKind.EVENT, extra=made)


def write_vault(root: Path) -> None:
    """The files of all scopes, and the home's journals of two weeks. The home comes first: its
    memories have the lowest numbers."""
    numbers = count()
    for name, size in SIZES.items():
        folder = root / "memory" / "scopes" / name
        (folder / "journal").mkdir(parents=True)
        for start in range(0, size, PER_FILE):
            entries = [render(_memory(next(numbers))) for _ in range(min(size, PER_FILE))]
            topic = "TASKS" if start // PER_FILE % 8 == 1 else "entities"
            (folder / f"{topic}-{start}.md").write_text("\n".join(entries), "utf-8")
    for back in range(1, JOURNALS + 1):
        day = NOW - timedelta(days=back)
        path = root / "memory" / "scopes" / "家0" / "journal" / f"{day:%Y-%m-%d}.md"
        path.write_text(render(_journal(day)), "utf-8")


def write_state(root: Path) -> None:
    """Who has spoken, and what a policy gave to all private chats once."""
    store = SqliteStateStore(root / "state" / "state.sqlite")
    assert store.open()
    met = [group(10_000 + number) for number in range(MET)]
    met += [private(10_000 + number) for number in range(MET)]
    with store.transaction() as connection:
        for table, rows in (
            ("seen_conversation", [(one.umo,) for one in met]),
            ("public_peer", [(one.person,) for one in met if one.person]),
        ):
            connection.executemany(f"INSERT INTO {table} VALUES (?)", rows)  # noqa: S608
    store.note_derived_scopes([DerivedScope.of(one, ALL_PRIVATE_CHATS) for one in met[MET:]])
    store.close()


class MeasuredLoop(asyncio.SelectorEventLoop):
    """Notes the most processor time, in seconds, that its thread spent in one callback."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0.0

    def call_soon[*Ts](
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        def measured() -> None:
            began = time.thread_time()
            callback(*args)
            self.most = max(self.most, time.thread_time() - began)

        return super().call_soon(measured, context=context)


@dataclass
class House:
    """``opening``: the longest hold, in seconds, while it was opened."""

    rig: Rig
    clock: Ticker
    runner: asyncio.Runner
    loop: MeasuredLoop
    opening: float
    numbers: Iterator[int] = field(default_factory=count)
    files: Iterator[int] = field(default_factory=lambda: count(SIZES["家0"] - PER_FILE, -PER_FILE))

    @property
    def service(self) -> CognitiveService:
        return self.rig.engine.service

    def next_id(self) -> str:
        """The id of a memory of the home that no call has touched yet."""
        return memory_id(next(self.numbers))

    def next_file(self) -> Path:
        """A file of the home with memories that no call has touched yet."""
        return self.rig.root / f"memory/scopes/家0/entities-{next(self.files)}.md"

    def held(self, call: Call, *, behind: bool = True) -> float:
        """The longest hold, in seconds, by a call, and by what the index of words does behind it.
        The call must be answered, not refused."""

        async def whole() -> None:
            outcome = await call(self)
            assert not isinstance(outcome, Refused), outcome
            if behind:
                await self.rig.until_words()

        self.loop.most = 0.0
        self.runner.run(whole())
        return self.loop.most


type Call = Callable[[House], Awaitable[object]]


@contextmanager
def opened(engine: AbstractAsyncContextManager[Rig], clock: Ticker) -> Iterator[House]:
    """A house on a loop of its own. What earlier tests have left is out of the collector's sight: a
    look at all of it would count as a hold."""
    gc.collect()
    gc.freeze()
    try:
        with asyncio.Runner(loop_factory=MeasuredLoop) as runner:
            loop = runner.get_loop()
            assert isinstance(loop, MeasuredLoop)
            rig = runner.run(engine.__aenter__())
            yield House(rig, clock, runner, loop, loop.most)
            runner.run(engine.__aexit__(None, None, None))
    finally:
        gc.unfreeze()
