"""A process that ends at any durable write of any change leaves the old text in force or the new
one, in memory, in SOUL.md and in the chain; and the change can be made again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from io import FileIO
from pathlib import Path
from unittest import mock

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.soul import SoulDraft, SoulOrigin
from astrbot_plugin_scoped_memory.llm_memory.models.soul_requests import (
    SoulRefused,
    SoulVerified,
    VerifySoul,
)
from astrbot_plugin_scoped_memory.llm_memory.storage import files, sqlite_file
from astrbot_plugin_scoped_memory.llm_memory.storage.transactions import all_or_nothing
from astrbot_plugin_scoped_memory.tests.support.programs.crashes import Clockwork, Crash
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, RULED, SEED, Souls

pytestmark = pytest.mark.unit

OTHER = RULED.replace("温和", "直接")
HAND = "# 我自己写的\n\n## 语气\n\n- 慢一点。\n".encode()


@contextlib.contextmanager
def killed_at(moment: int) -> Iterator[Clockwork]:
    """Whatever becomes durable inside ends there, ``moment`` from 1: before and after each fsync,
    rename and commit, and in the middle of each write."""
    clockwork = Clockwork(moment)
    whole = files.write_all

    def torn(file: FileIO, payload: bytes) -> None:
        half = len(payload) // 2
        whole(file, payload[:half])
        clockwork.tick()
        whole(file, payload[half:])

    @contextlib.contextmanager
    def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
        clockwork.tick()
        with all_or_nothing(connection) as inside:
            yield inside
        clockwork.tick()

    with (
        mock.patch.object(os, "fsync", clockwork.around(os.fsync)),
        mock.patch.object(Path, "replace", clockwork.around(Path.replace)),
        mock.patch.object(files, "write_all", torn),
        mock.patch.object(sqlite_file, "all_or_nothing", transaction),
        contextlib.suppress(Crash),
    ):
        yield clockwork


type Deed = Callable[[Souls], Awaitable[object]]


async def nothing(_: Souls) -> None:
    """Before the first version."""


async def owners_file(souls: Souls) -> None:
    souls.page().parent.mkdir(parents=True)
    souls.page().write_bytes(HAND)


async def evolved(souls: Souls) -> None:
    await souls.applied(RULED)
    souls.clock.forward(days=1)


async def proposed(souls: Souls) -> None:
    await evolved(souls)
    await souls.wish(OTHER)


async def approved(souls: Souls) -> None:
    await proposed(souls)
    await souls.gov.evaluate(CAT, 2, souls.judge)


async def by_hand(souls: Souls) -> None:
    await evolved(souls)
    souls.page().write_bytes(HAND)


async def gone(souls: Souls) -> None:
    await evolved(souls)
    souls.page().unlink()


async def under_an_old_buffer(souls: Souls) -> None:
    await evolved(souls)
    souls.page().write_bytes(SEED)


async def look(souls: Souls) -> object:
    return await souls.gov.settle(CAT)


async def propose(souls: Souls) -> object:
    draft = SoulDraft(2, SoulOrigin.WISH, OTHER)
    return await souls.gov.propose(CAT, draft, ADMIN)


async def apply(souls: Souls) -> object:
    return await souls.gov.apply(CAT, 2, ADMIN, souls.judge)


async def veto(souls: Souls) -> object:
    return await souls.gov.veto(CAT, 1, ADMIN)


async def roll_back(souls: Souls) -> object:
    return await souls.gov.rollback(CAT, 0, ADMIN)


async def adopt(souls: Souls) -> object:
    return await souls.gov.adopt(CAT, ADMIN, souls.judge)


async def discard(souls: Souls) -> object:
    return await souls.gov.discard(CAT, ADMIN)


CASES = [
    (nothing, look, SEED, SEED),
    (owners_file, look, HAND, HAND),
    (evolved, propose, RULED.encode(), RULED.encode()),
    (proposed, apply, RULED.encode(), OTHER.encode()),
    (approved, apply, RULED.encode(), OTHER.encode()),
    (evolved, veto, RULED.encode(), SEED),
    (evolved, roll_back, RULED.encode(), SEED),
    (by_hand, veto, RULED.encode(), SEED),
    (by_hand, adopt, RULED.encode(), HAND),
    (by_hand, discard, RULED.encode(), RULED.encode()),
    (gone, look, RULED.encode(), RULED.encode()),
    (under_an_old_buffer, look, RULED.encode(), RULED.encode()),
]


async def trial(root: Path, case: tuple[Deed, Deed, bytes, bytes], moment: int) -> bool:
    """Kill one change at one moment. Returns False if it came to its end before."""
    before, deed, old, new = case
    souls = Souls(root)
    await before(souls)
    written = before is by_hand
    with killed_at(moment) as clockwork:
        assert not isinstance(await deed(souls), SoulRefused)
    for again in (False, True):
        souls.restart()
        await souls.gov.recover()
        view = await souls.view()
        raw, page = view.text.encode(), souls.page().read_bytes()
        assert raw == (new if again or not clockwork.struck else raw)
        assert raw in (old, new)
        assert page in ((raw, HAND) if written else (raw,))
        if written and deed is not adopt and page != HAND:  # kept, wherever it was thrown away
            kept = [one.read_bytes() for one in (souls.folder() / "discarded").iterdir()]
            assert HAND in kept
        found = await souls.gov.read(VerifySoul(), CAT, ADMIN)
        assert isinstance(found, SoulVerified)
        assert found.line == 0, found
        if clockwork.struck and not again:
            await deed(souls)
    souls.state.close()
    return clockwork.struck


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1].__name__}")
def test_a_kill_at_every_write_leaves_old_or_new(
    tmp_path: Path, case: tuple[Deed, Deed, bytes, bytes]
) -> None:
    moment = 1
    while asyncio.run(trial(tmp_path / str(moment), case, moment)):
        moment += 1
    assert moment > 4, "it wrote nothing"
