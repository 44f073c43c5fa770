"""What the event loop does in one turn does not grow with the store, nor with one text."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness import waiting
from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    TaskAction,
    TaskChange,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.recallable_memories import RecallableMemories
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.tests.support.bots import living
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    running,
    with_pace,
)
from astrbot_plugin_scoped_memory.tests.support.stalls import LoopSteps

pytestmark = pytest.mark.engine

FAMILY = group(777)
WEI = person(1, "大伟")
SMALL, LARGE = 1000, 4000
STILL = with_pace(
    replace(QUICK, vault_pace=replace(QUICK.vault_pace, scan_seconds=3600.0)), idle_seconds=60.0
)
"""The engine does nothing by itself meanwhile."""
PER_FILE = 100
LONG = ("明天上午我们去医院看奶奶，然后下周五回来。" * 400)[:7900]


def memory(number: int) -> Memory:
    """One of many: of three people, of whom two have an account."""
    who = ("小明", "大伟", "小雯")[number % 3]
    return Memory(
        f"m-{number:016d}",
        f"{who}第{number}号柜子里放着旧书",
        datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number),
        provenance=Provenance(who, f"aiocqhttp:{number % 3}" if number % 3 else ""),
    )


def write(folder: Path, count: int) -> None:
    """So many entries, a hundred in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, count, PER_FILE):
        entries = map(memory, range(start, min(start + PER_FILE, count)))
        (folder / f"entities-{start}.md").write_text("\n".join(map(render, entries)), "utf-8")


async def settled(rig: Rig) -> None:
    """Both indexes hold everything."""

    async def in_step() -> bool:
        return rig.engine.rooms.words.in_step

    await rig.until_indexed()
    await waiting.until(in_step, within=60, what="the index of words")


async def most_steps(work: Callable[[], Awaitable[object]]) -> int:
    """The most that the loop does in one turn of it."""
    gc.collect()
    with LoopSteps() as steps:
        await work()
    return steps.most


def operations(rig: Rig, folder: Path) -> dict[str, Callable[[], Awaitable[object]]]:
    """What people and tools ask for."""
    service = rig.engine.service

    def recall(words: str, actor: Actor | None = None) -> Callable[[], Awaitable[object]]:
        return lambda: service.recall(
            words, conversation_id=FAMILY, limit=5, token_budget=5000, actor=actor
        )

    async def delete_by_hand() -> None:
        for path in sorted(folder.glob("entities-*.md"))[::3]:
            path.unlink()
        await rig.engine.rooms.reconciler.reconcile()

    async def put_back() -> None:
        await asyncio.to_thread(write, folder, len(list(folder.glob("entities-*.md"))) * PER_FILE)
        await rig.engine.rooms.reconciler.reconcile()

    return {
        "recall a person": recall("介绍一下大伟"),
        "recall oneself": recall("你知道我什么", WEI),
        "recall nobody": recall("介绍一下老周"),
        "recall words": recall("柜子里放着什么"),
        "list": lambda: service.newest(conversation_id=FAMILY),
        "list by name": lambda: service.newest(conversation_id=FAMILY, naming="大伟 柜子"),
        "list one's own": lambda: service.newest(conversation_id=FAMILY, said_by=WEI),
        "list the like": lambda: service.newest(conversation_id=FAMILY, naming="第77号", limit=3),
        "delete by hand": delete_by_hand,
        "put back by hand": put_back,
    }


async def measured(root: Path, count: int) -> dict[str, int]:
    """The steps of each operation on a store of so many memories, and of its opening."""
    folder = root / "memory" / "scopes" / "家人"
    write(folder, count)
    opened = running(root, settings=STILL)
    with LoopSteps() as opening:
        rig = await opened.__aenter__()
        await settled(rig)
    try:
        found = {"open": opening.most}
        for name, work in operations(rig, folder).items():
            await settled(rig)
            if name.startswith("recall"):
                await work()  # patterns are compiled when they are used for the first time
            found[name] = await most_steps(work)
    finally:
        await opened.__aexit__(None, None, None)
    return found


async def test_a_turn_of_the_loop_does_no_more_in_a_large_store(tmp_path: Path) -> None:
    small = await measured(tmp_path / "small", SMALL)
    large = await measured(tmp_path / "large", LARGE)
    # The slices of two tasks may meet in one turn.
    grown = {name: (small[name], large[name]) for name in small if large[name] > 2.5 * small[name]}
    assert grown == {}


@pytest.mark.parametrize("what", ["remember", "edit", "task"])
async def test_a_long_text_is_read_in_a_thread(tmp_path: Path, what: str) -> None:
    async with running(tmp_path, words_alone=True) as rig:
        service = rig.engine.service
        kept = await rig.remember("奶奶对花生过敏", FAMILY)
        work: dict[str, Callable[[], Awaitable[object]]] = {
            "remember": lambda: service.remember(
                MemoryDraft("下周五去看奶奶", LONG, kind=MemoryKind.EVENT, actor=WEI),
                conversation_id=FAMILY,
            ),
            "edit": lambda: service.edit(
                kept.memory.memory.memory_id,
                f"奶奶明天去医院{LONG[:1900]}",
                conversation_id=FAMILY,
                actor=person(9, admin=True),
            ),
            "task": lambda: service.update_tasks(
                TaskChange(TaskAction.ADD, ("下周五去看奶奶",), progress=LONG),
                conversation_id=FAMILY,
                actor=WEI,
            ),
        }
        with LoopSteps() as steps:
            await work[what]()
        assert steps.turns > 1
        slow = {"find_times", "resolve_dates", "flaw", "is_model_worded"}
        assert steps.ran & slow == set()


async def test_the_collector_is_on_between_two_batches_of_a_large_vault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a bot leaves behind while thousands of entries are read is collected, too."""
    folder = tmp_path / "memory" / "scopes" / "家人"
    folder.mkdir(parents=True)
    for number in range(60):
        one = replace(memory(number), reasoning="很长的理由" * 4000)
        (folder / f"entities-{number}.md").write_text(render(one), "utf-8")
    was_on: list[bool] = []
    load = RecallableMemories.load

    def seen(self: RecallableMemories, memories: object) -> None:
        was_on.append(gc.isenabled())
        load(self, memories)  # type: ignore[arg-type]

    monkeypatch.setattr(RecallableMemories, "load", seen)
    async with living(tmp_path) as bot:
        assert len(bot.catalogue) == 60
    assert was_on
    assert all(was_on)
    await asyncio.sleep(0)
