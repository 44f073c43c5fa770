"""A night fades what was recalled in vain, merges what says the same, mixes no two scopes, and
makes its backup whatever else fails."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    DeedKind,
    Memory,
    MigrationStatus,
    StateUnavailable,
    is_changed,
)
from astrbot_plugin_scoped_memory.llm_memory.consolidation import backup
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.nights import (
    NIGHT,
    OneDirection,
    asleep,
    entries,
    find_useful,
    find_useless,
    loop_stores,
    passive,
    plant,
    strengths,
)

pytestmark = pytest.mark.engine

HERE = group(777)
ADMIN = person(1, "管理员", admin=True)
JOURNAL = "journal/2026-10-01.md"
DAY = timedelta(days=1)


async def night(rig: Rig) -> tuple[int, int]:
    """A whole run: how many had grown weak and left, and how many were merged."""
    report = await rig.night("command")
    assert (report.postponed, report.errors) == ("", ())
    return report.archived, report.merged


def useless(root: Path, *strengths: int, scope: str = "家人") -> list[Memory]:
    """Memories that were recalled in vain."""
    first = 100 * ord(scope[0])
    made = [passive(first + n, f"第{n}件", strength=one) for n, one in enumerate(strengths)]
    plant(root, scope, JOURNAL, made)
    find_useless(root, scope, *made)
    return made


async def test_what_is_weak_and_was_of_no_use_leaves_a_quarter_at_a_time_and_can_be_brought_back(
    tmp_path: Path,
) -> None:
    made = useless(tmp_path, *(10 + n % 2 for n in range(10)))
    kept = passive(10, "有意记住的", strength=30, active=True)
    unasked, useful = passive(11, "从没想起过", strength=5), passive(12, "有用的", strength=50)
    plant(tmp_path, "家人", "patterns.md", [kept, unasked, useful])
    find_useless(tmp_path, "家人", kept)
    find_useful(tmp_path, "家人", useful, times=2)
    path, before = tmp_path / "memory/scopes/家人" / JOURNAL, strengths(tmp_path, "家人")
    off = replace(QUICK, scope_filter_enabled=False)
    async with running(tmp_path, settings=off, clock=Ticker(NIGHT), follow=False) as rig:
        assert (await rig.night()).backup
    assert strengths(tmp_path, "家人") == before
    async with asleep(tmp_path) as rig:
        assert [await night(rig) for _ in range(2)] == [(3, 0), (2, 0)]
        gone = entries(tmp_path, "家人", archived=True)
        assert set(gone) == {memory.memory_id for memory in made[::2]}  # the weakest
        assert "忘记者：夜间整理：想起了总没用" in gone[made[0].memory_id][0].extra
        back = await rig.restore(made[0].memory_id, HERE, ADMIN)
        assert is_changed(back, DeedKind.FORGOTTEN, undone=True)
        # What a person makes of one that waits is what counts.
        path.write_text(path.read_text("utf-8").replace("强度 11", "强度 90"), "utf-8")
        await rig.engine.reconcile()
        assert await night(rig) == (0, 0)
    assert sorted(strengths(tmp_path, "家人").values()) == [5, 10, 30, 54, *[90] * 5]
    with loop_stores(tmp_path) as stores:
        assert stores.book.evidence("家人") == []


TEA, ALSO, CHECKED = "小明喜欢喝乌龙茶", "小明爱喝乌龙茶", "小明做了体检"


PAIRS = [
    (passive(1, TEA, strength=70), replace(passive(2, ALSO), tags=("口味",)), 70),
    (passive(1, TEA, strength=40, active=True), passive(2, ALSO, strength=90), 40),
    (passive(2, CHECKED, strength=90), passive(1, f"{CHECKED}，一切正常"), 90),
    # of another, vouched for, a quotation, both asked for
    (passive(1, TEA), passive(2, TEA, person="aiocqhttp:9", who="小红"), 0),
    (passive(1, TEA, trusted=True), passive(2, TEA), 0),
    (passive(1, TEA), passive(2, TEA, quoted=True), 0),
    (passive(1, TEA, active=True), passive(2, ALSO, active=True), 0),
]
"""Two memories that an embedder takes for one, and the strength of the one that they become."""


async def test_near_duplicates_merge_and_no_word_lends_another_its_trust_day_or_speaker(
    tmp_path: Path,
) -> None:
    """Nor another scope: what stands in each of them says the same."""
    for number, (one, other, _) in enumerate(PAIRS):
        more = [passive(100 * number + n, f"第{n}件") for n in range(5, 12)]
        pair = [replace(m, memory_id=f"{m.memory_id}{number}") for m in (one, other)]
        plant(tmp_path, f"域{number}", "preferences.md", [*pair, *more])
    async with asleep(tmp_path) as rig:  # without an index
        assert await night(rig) == (0, 0)
    async with running(tmp_path, embedder=OneDirection(), clock=Ticker(NIGHT)) as rig:
        await rig.until_indexed()
        assert [await night(rig), await night(rig)] == [(0, 3), (0, 0)]
    for number, (*_, strength) in enumerate(PAIRS):
        there = entries(tmp_path, f"域{number}")
        assert len(there) == (8 if strength else 9)
        gone = entries(tmp_path, f"域{number}", archived=True)
        kept = [name for name in there if name.startswith("m-night00000")]
        assert not strength or strengths(tmp_path, f"域{number}")[kept[0]] == strength
        assert all(f"忘记者：被 {kept[0]} 取代" in one.extra for (one,) in gone.values())
    assert "口味" in (tmp_path / "memory/scopes/域0/preferences.md").read_text("utf-8")


async def test_a_night_waits_for_another_for_an_index_and_for_what_comes_from_elsewhere(
    tmp_path: Path,
) -> None:
    async with asleep(tmp_path) as rig:
        sleep, migrations = rig.engine.sleep, rig.engine.migrations
        indexing = rig.engine.parts.indexing

        async def postponed(**more: bool) -> str:
            return (await rig.night(**more)).postponed

        assert await asyncio.gather(postponed(), postponed()) == ["", "sleeping"]
        indexing.state = "building"
        assert [await postponed(), await postponed(patient=False)] == ["building", ""]
        indexing.state = "ready"
        async with migrations.interrupted():  # a person undoes what was brought
            assert await postponed() == "migrating"
        for waiting, why in (("", "migrating"), ("unreachable", "")):  # it may never be back
            status = MigrationStatus(state="running", waiting=waiting)  # type: ignore[arg-type]
            migrations.status = lambda s=status: s  # type: ignore[method-assign, misc]
            assert await postponed() == why
    assert (await sleep.run_once("nightly")).postponed == "unready"


async def test_a_night_that_is_cut_off_ends_its_step_before_others_begin_and_was_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def slow(*_: object) -> int:
        begun.set()
        goes_on.wait(30)
        return 1

    async with asleep(tmp_path) as rig:
        sleep, walker = rig.engine.sleep, rig.engine.migrations.walker
        rig.clock.now += DAY
        with monkeypatch.context() as patched:
            patched.setattr(backup, "write_zip", slow)
            task = asyncio.create_task(rig.night())
            await asyncio.to_thread(begun.wait, 30)
            other = asyncio.ensure_future(walker._others_done())
            task.cancel()
            await asyncio.sleep(0.05)
            assert (other.done(), sleep.sleeping) == (False, True)
            goes_on.set()
            await asyncio.wait([task, other])
        assert (task.cancelled(), sleep.sleeping, sleep.missed((4, 0))) == (True, False, True)
        await night(rig)
        assert not sleep.missed((4, 0))


async def test_nights_are_counted_from_the_first_start_by_a_clock_that_may_be_wrong(
    tmp_path: Path,
) -> None:
    clock = Ticker(NIGHT + timedelta(hours=8))
    for hours in (0, 14):
        clock.now += timedelta(hours=hours)
        async with running(tmp_path, clock=clock, follow=False) as rig:
            assert not rig.engine.sleep.missed((4, 0))
    async with running(tmp_path, clock=clock, follow=False) as rig:
        for step, missed in ((timedelta(hours=6), True), (365 * DAY, False), (-365 * DAY, True)):
            clock.now += step
            if not missed:
                await night(rig)
            assert rig.engine.sleep.missed((4, 0)) == missed
        await night(rig)
        assert not rig.engine.sleep.missed((4, 0))


@pytest.mark.parametrize("garbage", [True, False])
async def test_what_needs_no_locked_file_is_done_and_the_rest_when_it_is_free(
    tmp_path: Path, garbage: bool
) -> None:
    for scope in ("家人", "公司"):
        useless(tmp_path, 60, scope=scope)
    file = tmp_path / "state" / "loop.sqlite"
    async with asleep(tmp_path) as rig:
        before, book = file.read_bytes(), rig.engine.parts.loop_book
        read = book.evidence

        def evidence(scope: str) -> object:
            if scope == "家人":
                raise StateUnavailable("database is locked")
            return read(scope)

        book.evidence = evidence  # type: ignore[method-assign, assignment]
        if garbage:
            file.write_bytes(b"garbage" * 2000)
        for _ in range(3):
            report = await rig.night()
            assert report.backup == f"{rig.clock():%Y-%m-%d}.zip"
            (told,) = [n for n in rig.engine.notices if n.code == "sleep_failed"]
            assert report.errors[0][:30] in told.params["detail"]
            rig.clock.now += DAY
            assert rig.engine.sleep.missed((4, 0))
        assert set(strengths(tmp_path, "公司").values()) == {60 if garbage else 57}
        if garbage:
            file.write_bytes(before)
    async with asleep(tmp_path, later=3) as rig:
        await night(rig)
        assert "sleep_failed" not in {notice.code for notice in rig.engine.notices}
    for scope in ("家人", "公司"):
        assert set(strengths(tmp_path, scope).values()) == {57}


async def test_scopes_that_cannot_be_listed_are_told_and_cost_no_backup(tmp_path: Path) -> None:
    useless(tmp_path, 60)
    async with asleep(tmp_path) as rig:
        with mock.patch.object(rig.engine.parts.vault, "scopes", side_effect=OSError("no disk")):
            report = await rig.night()
        assert (report.backup, report.errors[0]) == ("2026-11-21.zip", "scopes: no disk")
        assert report.ended is not None
        assert await night(rig) == (0, 0)
