"""A night fades what was recalled in vain, merges what says the same, and mixes no two scopes."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    DeedKind,
    Memory,
    MemoryKind,
    MigrationStatus,
    StateUnavailable,
    StoredMemory,
    is_changed,
)
from astrbot_plugin_scoped_memory.llm_memory.consolidation.report import Postponed
from astrbot_plugin_scoped_memory.llm_memory.models.migration import Outcome
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
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
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = pytest.mark.engine

HERE = group(777)
ADMIN = person(1, "管理员", admin=True)
JOURNAL = "journal/2026-10-01.md"


def at_night() -> Ticker:
    return Ticker(NIGHT)


async def night(rig: Rig, reason: str = "command") -> dict[str, int]:
    """A whole run: what is told of it, as far as it is not nothing."""
    if rig.embedder is not None:
        await rig.until_indexed()
    report = await rig.night(reason)
    assert report.postponed == ""
    assert not report.errors
    counts = ("faded", "raised", "archived", "waiting", "merged", "unmerged")
    told = {name: getattr(report, name) for name in counts}
    return {name: count for name, count in told.items() if count}


async def test_passive_memories_fade_by_tier_and_by_how_they_served_once(tmp_path: Path) -> None:
    top, middle, low = (passive(n, f"第{n}件", strength=s) for n, s in enumerate((85, 60, 30)))
    kept = passive(10, "有意记住的", strength=30, active=True)
    unasked = passive(11, "从没想起过", strength=5)
    useful = passive(12, "有用的", strength=50)
    plant(tmp_path, "家人", JOURNAL, [top, middle, low, kept, unasked, useful])
    find_useless(tmp_path, "家人", top, middle, low, kept)
    find_useful(tmp_path, "家人", useful, times=2)
    async with running(tmp_path, clock=at_night()) as rig:
        assert await night(rig) == {"faded": 2, "raised": 1}
        assert await night(rig) == {}
    after = strengths(tmp_path, "家人")
    assert [after[m.memory_id] for m in (top, middle, low, kept, unasked, useful)] == [
        *(85, 57, 24),
        *(30, 5, 54),
    ]
    with loop_stores(tmp_path) as stores:
        assert stores.book.evidence("家人") == []


async def test_a_weak_memory_goes_to_the_archive_and_can_be_brought_back(tmp_path: Path) -> None:
    weak = passive(1, "早就不喝的那种茶", strength=12)
    others = [passive(n, f"第{n}件", strength=60) for n in range(2, 6)]
    plant(tmp_path, "家人", JOURNAL, [weak, *others])
    find_useless(tmp_path, "家人", weak)
    async with running(tmp_path, clock=at_night()) as rig:
        assert await night(rig) == {"archived": 1}
        assert not await rig.texts("早就不喝的那种茶", HERE)
        (kept,) = entries(tmp_path, "家人", archived=True)[weak.memory_id]
        assert "忘记者：夜间整理：想起了总没用" in kept.extra
        back = await rig.restore(weak.memory_id, HERE, ADMIN)
        assert is_changed(back, DeedKind.FORGOTTEN, undone=True)
        assert await night(rig) == {}
        assert await rig.texts("早就不喝的那种茶", HERE)


async def test_one_night_takes_no_more_than_a_quarter_of_a_scope_the_weakest_first(
    tmp_path: Path,
) -> None:
    memories = [passive(n, f"第{n}件", strength=10 + n % 2) for n in range(10)]
    plant(tmp_path, "家人", JOURNAL, memories)
    find_useless(tmp_path, "家人", *memories)
    async with running(tmp_path, clock=at_night()) as rig:
        left = []
        for _ in range(3):
            await night(rig)
            left.append(len(entries(tmp_path, "家人")))
    assert left == [8, 6, 5]
    gone = entries(tmp_path, "家人", archived=True)
    first = {m.memory_id for m in memories[::2]}
    assert set(gone) == first


async def test_what_fades_and_what_merges_in_one_night_is_a_quarter_together(
    tmp_path: Path,
) -> None:
    weak = passive(1, "早就不喝的那种水", strength=10)
    twice = [
        passive(10 * n + k, f"{who}{verb}喝乌龙茶", person=f"aiocqhttp:{n}", who=who)
        for n, who in ((1, "小明"), (2, "小红"), (3, "小刚"))
        for k, verb in enumerate(("喜欢", "爱"))
    ]
    plant(tmp_path, "家人", "preferences.md", [weak, *twice, passive(99, "别的一件事")])
    find_useless(tmp_path, "家人", weak)
    async with running(tmp_path, embedder=OneDirection("乌龙茶"), clock=at_night()) as rig:
        left = []
        for _ in range(3):
            await night(rig)
            left.append(len(entries(tmp_path, "家人")))
    assert left == [6, 5, 4]


async def test_what_a_person_makes_of_a_weak_memory_while_it_waits_is_what_counts(
    tmp_path: Path,
) -> None:
    memories = [passive(n, f"第{n}件", strength=8) for n in range(3)]
    plant(tmp_path, "家人", JOURNAL, memories)
    find_useless(tmp_path, "家人", *memories)
    path = tmp_path / "memory" / "scopes" / "家人" / JOURNAL
    async with running(tmp_path, clock=at_night()) as rig:
        assert (await night(rig))["waiting"] == 3
        path.write_text(path.read_text("utf-8").replace("强度 8", "强度 90"), "utf-8")
        plant(tmp_path, "家人", "patterns.md", [passive(n, f"新{n}") for n in range(20, 40)])
        await rig.engine.reconcile()
        assert await night(rig) == {}
    assert all(strengths(tmp_path, "家人")[m.memory_id] == 90 for m in memories)


async def test_near_duplicates_merge_into_the_one_that_says_more(tmp_path: Path) -> None:
    one = replace(passive(1, "小明喜欢喝乌龙茶", strength=70), tags=("饮料",))
    other = replace(passive(2, "小明爱喝乌龙茶", strength=40), tags=("口味",))
    more = [passive(n, f"第{n}件") for n in range(5, 9)]
    plant(tmp_path, "家人", "preferences.md", [one, other, *more])
    async with running(tmp_path, embedder=OneDirection(), clock=at_night()) as rig:
        assert await night(rig) == {"merged": 1}
        assert await night(rig) == {}
    after = strengths(tmp_path, "家人")
    assert {one.memory_id, other.memory_id} - set(after) == set(
        entries(tmp_path, "家人", archived=True)
    )
    kept = ({one.memory_id, other.memory_id} & set(after)).pop()
    assert after[kept] == 70
    assert set(entries(tmp_path, "家人")[kept][0].tags) == {"饮料", "口味"}
    (gone,) = entries(tmp_path, "家人", archived=True).values()
    assert f"忘记者：被 {kept} 取代" in gone[0].extra


TEA, ALSO = "小明喜欢喝乌龙茶", "小明爱喝乌龙茶"
CHECKED = "小明做了体检"


def event(number: int, text: str, days_ago: int = 0) -> Memory:
    made = passive(number, text, strength=90, at=NIGHT - timedelta(days=days_ago))
    return replace(made, kind=MemoryKind.EVENT)


PAIRS = {
    "in other words": (passive(1, TEA), passive(2, ALSO), True),
    "a denial": (passive(1, TEA), passive(2, "小明不喜欢喝乌龙茶"), False),
    "of another": (passive(1, TEA), passive(2, TEA, person="aiocqhttp:9", who="小红"), False),
    "vouched for": (passive(1, TEA, trusted=True), passive(2, TEA), False),
    "a quotation": (passive(1, TEA), passive(2, TEA, quoted=True), False),
    "both asked for": (passive(1, TEA, active=True), passive(2, ALSO, active=True), False),
    "two days later": (event(1, CHECKED, 2), event(2, f"{CHECKED}，一切正常"), True),
    "months later": (event(1, CHECKED, 150), event(2, f"{CHECKED}，一切正常"), False),
}
"""Of two memories that an embedder takes for one: whether they are."""


async def test_no_word_lends_another_one_its_trust_its_day_or_its_speaker(tmp_path: Path) -> None:
    scopes = {f"域{number}": PAIRS[name] for number, name in enumerate(PAIRS)}
    for number, (scope, (one, other, _)) in enumerate(scopes.items()):
        more = [passive(100 * number + n, f"第{n}件") for n in range(5, 12)]
        pair = [replace(m, memory_id=f"{m.memory_id}{number}") for m in (one, other)]
        plant(tmp_path, scope, "preferences.md", [*pair, *more])
    async with running(tmp_path, embedder=OneDirection(), clock=at_night()) as rig:
        counts = await night(rig)
        assert counts["merged"] == sum(is_one for _, _, is_one in scopes.values())
    left = {scope: len(entries(tmp_path, scope)) for scope in scopes}
    assert left == {scope: 9 - is_one for scope, (_, _, is_one) in scopes.items()}


async def test_an_active_memory_stays_as_it_is_and_takes_a_passive_one_in(tmp_path: Path) -> None:
    asked, found = passive(1, TEA, strength=40, active=True), passive(2, ALSO, strength=90)
    more = [passive(n, f"第{n}件") for n in range(5, 9)]
    plant(tmp_path, "家人", "preferences.md", [asked, found, *more])
    async with running(tmp_path, embedder=OneDirection(), clock=at_night()) as rig:
        assert await night(rig) == {"merged": 1}
    after = strengths(tmp_path, "家人")
    assert after[asked.memory_id] == 40
    assert found.memory_id not in after


async def test_without_an_index_nothing_is_merged_and_the_report_says_so(tmp_path: Path) -> None:
    memories = [passive(1, "小明喜欢喝乌龙茶"), passive(2, "小明爱喝乌龙茶")]
    more = [passive(n, f"第{n}件") for n in range(5, 12)]
    plant(tmp_path, "家人", "preferences.md", [*memories, *more])
    async with asleep(tmp_path) as rig:
        report = await rig.night("command")
        assert (report.merged, report.unmerged) == (0, 1)
    async with running(tmp_path, embedder=OneDirection(), clock=at_night()) as rig:
        assert await night(rig) == {"merged": 1}


async def test_a_night_waits_for_another_for_an_index_and_for_what_comes_from_elsewhere(
    tmp_path: Path,
) -> None:
    async with asleep(tmp_path) as rig:

        async def postponed(**more: bool) -> Postponed:
            return (await rig.night(**more)).postponed

        assert await asyncio.gather(postponed(), postponed()) == ["", "sleeping"]
        rig.engine.parts.indexing.state = "building"
        assert await postponed() == "building"
        assert await postponed(patient=False) == ""
        rig.engine.parts.indexing.state = "ready"
        async with rig.engine.migrations.interrupted():  # a person undoes what was brought
            assert await postponed() == "migrating"
        going = MigrationStatus(state="running")
        rig.engine.migrations.status = lambda: going  # type: ignore[method-assign]
        for patient in (True, False):
            assert await postponed(patient=patient) == "migrating"
        gone = MigrationStatus(state="running", waiting="unreachable")
        rig.engine.migrations.status = lambda: gone  # type: ignore[method-assign]
        assert await postponed() == ""  # it may never be back
        sleep = rig.engine.sleep
    assert (await sleep.run_once("nightly")).postponed == "unready"


class Arriving:
    """Two records from elsewhere, as a migration walks over them."""

    name = "arriving"

    def __init__(self) -> None:
        self.listed = asyncio.Event()
        self.brought: list[str] = []

    async def list(self) -> list[str]:
        self.listed.set()
        return ["a", "b"]

    async def step(self, ids: Sequence[str]) -> Sequence[Outcome]:
        self.brought += ids
        return [Outcome(one, "adopted", patched=False) for one in ids]


@pytest.mark.parametrize("cut_off", [False, True])
async def test_what_comes_from_elsewhere_waits_until_a_night_is_over(
    tmp_path: Path, cut_off: bool
) -> None:
    memory = passive(1, "一件事", strength=60)
    plant(tmp_path, "家人", JOURNAL, [memory])
    find_useless(tmp_path, "家人", memory)
    async with asleep(tmp_path) as rig:
        engine, begun, goes_on = rig.engine, asyncio.Event(), threading.Event()
        loop, vault = asyncio.get_running_loop(), engine.parts.vault
        write = vault.replace

        def slow(stored: StoredMemory, changed: Memory) -> StoredMemory:
            loop.call_soon_threadsafe(begun.set)
            goes_on.wait(30)
            return write(stored, changed)

        vault.replace = slow  # type: ignore[method-assign]
        night_task = asyncio.create_task(engine.sleep.run_once("nightly"))
        await begun.wait()
        walk = Arriving()
        await asyncio.to_thread(engine.parts.migration_store.open)
        walking = asyncio.create_task(engine.migrations.walker.run(walk, though_paused=True))
        await walk.listed.wait()
        await engine.status()  # goes through a thread, as the walk does
        for _ in range(50):
            await asyncio.sleep(0)
        assert walk.brought == []
        if cut_off:
            night_task.cancel()
        goes_on.set()
        async with asyncio.timeout(30):
            await walking
        assert night_task.done()
        await asyncio.gather(night_task, return_exceptions=True)
        assert walk.brought == ["a", "b"]


async def test_a_run_that_was_cut_off_is_brought_to_its_end_and_does_nothing_twice(
    tmp_path: Path,
) -> None:
    memories = [passive(n, f"第{n}件", strength=60) for n in range(30)]
    plant(tmp_path, "家人", JOURNAL, memories)
    find_useless(tmp_path, "家人", *memories)
    async with running(tmp_path, clock=at_night()) as rig:
        await rig.until_indexed()
        begun, goes_on = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()
        vault, replace = rig.engine.parts.vault, rig.engine.parts.vault.replace

        def slow(stored: StoredMemory, memory: Memory) -> StoredMemory:
            loop.call_soon_threadsafe(begun.set)
            goes_on.wait(30)
            return replace(stored, memory)

        vault.replace = slow  # type: ignore[method-assign]
        task = asyncio.create_task(rig.night("nightly"))
        await begun.wait()
        task.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not rig.engine.sleep.sleeping
        half = sorted(strengths(tmp_path, "家人").values())
        assert half.count(57) == 10  # the step that was under way was brought to its end
        assert 60 in half
    async with running(tmp_path, clock=at_night()) as rig:
        await rig.until_indexed()
        sleep = rig.engine.sleep
        await sleep.run_once("resumed")
    assert set(strengths(tmp_path, "家人").values()) == {57}


async def test_with_the_scope_filter_off_a_night_changes_no_memory(tmp_path: Path) -> None:
    memory = passive(1, "一件事", strength=60)
    plant(tmp_path, "家人", JOURNAL, [memory])
    find_useless(tmp_path, "家人", memory)
    settings = EngineSettings(scope_filter_enabled=False, pace=QUICK.pace)
    async with running(tmp_path, MAP, settings=settings, clock=at_night(), follow=False) as rig:
        report = await rig.night("nightly")
        assert report.backup
    assert strengths(tmp_path, "家人") == {memory.memory_id: 60}
    assert not (tmp_path / "memory" / "scopes" / "家人" / "MEMORY.md").exists()


async def test_a_first_start_is_no_missed_night(tmp_path: Path) -> None:
    clock = at_night()
    clock.now += timedelta(hours=8)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        assert not rig.engine.sleep.missed((4, 0))
    clock.now += timedelta(hours=14)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        assert not rig.engine.sleep.missed((4, 0))
        clock.now += timedelta(hours=6)
        assert rig.engine.sleep.missed((4, 0))
        await rig.night("missed")
        assert not rig.engine.sleep.missed((4, 0))
        status = (await rig.engine.status()).loop
        assert status.slept_at is not None
        assert not status.sleeping


async def test_a_night_without_its_file_tells_so_and_raises_nothing(tmp_path: Path) -> None:
    async with asleep(tmp_path) as rig:
        store = rig.engine.parts.loop_book

        def refuse(*_: object) -> None:
            raise StateUnavailable("满")

        store.put_fact = refuse  # type: ignore[method-assign]
        report = await rig.night("nightly")
        assert report.postponed == "unavailable"
        status = await rig.engine.status()
        assert "sleep_failed" in {notice.code for notice in status.notices}
        assert "满" in status.loop.error
        del store.put_fact
        assert (await rig.night("nightly")).backup
        status = await rig.engine.status()
        assert (status.loop.error, status.notices) == ("", ())


@pytest.mark.parametrize("how", ["locked in one scope", "locked", "garbage"])
async def test_what_needs_no_locked_file_is_done_and_the_rest_the_next_night(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteLoopFile, "WAIT_SECONDS", 0.05)
    faded = {scope: passive(n, "一件事", strength=60) for n, scope in enumerate(("家人", "公司"))}
    for scope, memory in faded.items():
        plant(tmp_path, scope, JOURNAL, [memory])
        find_useless(tmp_path, scope, memory)
    clock = at_night()
    async with running(tmp_path, clock=clock) as rig:
        await rig.until_indexed()
        stored = await rig.remember("柜子的密码写在门背后", HERE, ADMIN)
        gone = stored.memory.memory.memory_id
        forget = rig.engine.service.forget
        await forget(gone, conversation_id=HERE, actor=ADMIN, for_good=True)
        path = tmp_path / "state" / "loop.sqlite"
        before = path.read_bytes()
        with contextlib.ExitStack() as stack:
            if how == "locked in one scope":
                locked_in(rig, "家人", stack)
            elif how == "locked":
                other = stack.enter_context(contextlib.closing(sqlite3.connect(path)))
                other.execute("BEGIN EXCLUSIVE")
            else:
                stack.callback(path.write_bytes, before)
                path.write_bytes(b"garbage" * 2000)
            report = await rig.night("nightly")
        assert report.backup
        assert report.errors
        assert "sleep_failed" in {notice.code for notice in (await rig.engine.status()).notices}
        assert not files_holding(tmp_path / "backups", gone)
        if how == "locked in one scope":
            assert report.postponed == ""
            assert strengths(tmp_path, "公司")[faded["公司"].memory_id] == 57
            assert all(":家人:" in error for error in report.errors)
        clock.now += timedelta(days=1)
    async with running(tmp_path, clock=clock) as rig:
        await night(rig)
    for scope, memory in faded.items():
        assert strengths(tmp_path, scope)[memory.memory_id] == 57


def locked_in(rig: Rig, scope: str, stack: contextlib.ExitStack) -> None:
    """Another program locks the file while the night is in this scope."""
    facts = rig.engine.parts.loop_book
    read = facts.evidence

    def evidence(name: str) -> object:
        if name == scope:
            raise StateUnavailable("database is locked")
        return read(name)

    facts.evidence = evidence  # type: ignore[method-assign, assignment]
    stack.callback(delattr, facts, "evidence")
