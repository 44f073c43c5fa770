"""When the last turn was: known at once, written now and then."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.primer.last_seen import WRITTEN_EVERY, LastSeen

pytestmark = pytest.mark.unit

HERE, FAMILY = "qq1:GroupMessage:777", Scope.parse("家人")
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Book:
    """As much of ``SqliteLoopFacts`` as is asked here, with what a disk would hold."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[str, datetime]] = {}
        self.writes = 0

    def see(self, conversation: str, scope: str, *, at: datetime) -> datetime | None:
        self.writes += 1
        known = self.rows.get(conversation)
        self.rows[conversation] = scope, at
        return known[1] if known else None


@pytest.fixture
def book() -> Any:
    return Book()


async def test_each_turn_is_told_of_the_one_before(book: Any) -> None:
    seen = LastSeen(book)
    assert await seen.before(HERE, FAMILY, NOON) is None
    for number in range(1, 20):
        at = NOON + number * MINUTE
        assert await seen.before(HERE, FAMILY, at) == at - MINUTE
    assert book.writes == 1 + 19 * MINUTE // WRITTEN_EVERY
    assert await seen.before("qq1:GroupMessage:888", FAMILY, NOON) is None


class Slow(Book):
    """One whose disk answers when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def see(self, conversation: str, scope: str, *, at: datetime) -> datetime | None:
        self.asked.set()
        assert self.go_on.wait(30)
        return super().see(conversation, scope, at=at)


async def test_a_turn_that_did_not_wait_for_the_disk_is_not_the_last_one() -> None:
    book: Any = Slow()
    book.rows[HERE] = (FAMILY.name, NOON)
    seen = LastSeen(book)
    turn = asyncio.create_task(seen.before(HERE, FAMILY, NOON + 9 * MINUTE))
    await asyncio.to_thread(book.asked.wait, 30)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    book.go_on.set()
    me = asyncio.current_task()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not me))
    assert await seen.before(HERE, FAMILY, NOON + 10 * MINUTE) == NOON
    assert await seen.before(HERE, FAMILY, NOON + 11 * MINUTE) == NOON + 10 * MINUTE


async def test_turns_that_never_wait_long_enough_are_turns_in_the_end(book: Any) -> None:
    seen = LastSeen(book)
    await seen.before(HERE, FAMILY, NOON)
    told = []
    for number in range(1, 5):
        before = await seen.before(HERE, FAMILY, NOON + number * MINUTE)
        seen.take_back(HERE, before)
        told.append(before)
    assert told == [NOON, NOON, NOON, NOON + 3 * MINUTE]
    seen.note_primed(HERE)
    before = await seen.before(HERE, FAMILY, NOON + 9 * MINUTE)
    seen.take_back(HERE, before)
    assert await seen.before(HERE, FAMILY, NOON + 10 * MINUTE) == before
