"""The real indexes, broken as they break: whatever is left answers, says so, and they come back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import IndexState, Recall
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import WorkerProcess
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import fill_with_garbage
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE

HERE, ELSEWHERE = group(777), group(888)
FACT, QUESTION = "小明对猫毛过敏", "谁对猫毛过敏"
pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.timeout(180),
]  # processes are started, and looked into before they are used


class Bot:
    """An engine over real indexes, and what somebody may do to them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.index = root / "index"
        self._workers: list[WorkerProcess] = []

    def running(self) -> AbstractAsyncContextManager[Rig]:
        command = worker_command(self.index / "chroma", NATIVE)
        return running(self.root, store=WorkerStore(command, start=self._start))

    def _start(self, command: Any) -> WorkerProcess:
        self._workers.append(WorkerProcess(command))
        return self._workers[-1]

    def kill_the_vectors(self) -> None:
        """As the system does where memory runs out."""
        self._workers[-1].kill()

    def spoil_the_words(self) -> None:
        """What a bad block leaves of them."""
        with closing(sqlite3.connect(self.index / "lexical.sqlite")) as connection, connection:
            connection.execute("UPDATE posting SET data = x'010203'")

    def spoil_both(self) -> None:
        self.spoil_the_words()
        self.kill_the_vectors()


@pytest.fixture
def bot(tmp_path: Path) -> Bot:
    return Bot(tmp_path)


async def until_whole(rig: Rig) -> Recall:
    """The first answer that both give again; whatever answered before was right, too."""
    async with asyncio.timeout(120):
        while True:
            recall = await answered(rig)
            if recall.trace.arm is Arm.HYBRID:
                return recall
            await asyncio.sleep(0.05)


async def answered(rig: Rig) -> Recall:
    """What is asked is found, and nowhere else."""
    recall = await rig.recall(QUESTION, HERE)
    assert [hit.preview for hit in recall.hits] == [FACT], recall.trace
    assert (await rig.recall(QUESTION, ELSEWHERE)).hits == ()
    return recall


BROKEN: list[tuple[Callable[[Bot], None], Arm, set[str]]] = [
    (Bot.kill_the_vectors, Arm.LEXICAL, {"dense"}),
    (Bot.spoil_the_words, Arm.DENSE, {"lexical"}),
    (Bot.spoil_both, Arm.SCAN, {"lexical", "dense"}),
]


@pytest.mark.parametrize(("harm", "arm", "missing"), BROKEN, ids=["dense", "lexical", "both"])
async def test_what_is_left_answers_until_the_rest_is_whole_again(
    bot: Bot, harm: Callable[[Bot], None], arm: Arm, missing: set[str]
) -> None:
    async with bot.running() as rig:
        await rig.remember(FACT, HERE)
        await rig.until_indexed()
        await until_whole(rig)
        harm(bot)
        recall = await rig.recall(QUESTION, HERE)
        assert [hit.preview for hit in recall.hits] == [FACT]
        assert recall.trace.arm is arm
        assert {note.partition(":")[0] for note in recall.trace.notes} == missing
        await rig.remember("窗台上晾着被子", HERE)  # writing goes on meanwhile
        whole = await until_whole(rig)
        assert whole.trace.notes == ()
        await rig.until_indexed()
        assert await rig.texts("窗台上晾着什么", HERE) == ["窗台上晾着被子"]


async def test_two_indexes_that_became_garbage_while_the_bot_was_off_are_made_again(
    bot: Bot,
) -> None:
    async with bot.running() as rig:
        await rig.remember(FACT, HERE)
        await rig.until_indexed()
        await until_whole(rig)
    spoilt = [path for path in bot.index.rglob("*") if path.is_file() and path.stat().st_size]
    assert {"chroma.sqlite3", "lexical.sqlite"} <= {path.name for path in spoilt}
    for path in spoilt:
        fill_with_garbage(path)
    async with bot.running() as rig:
        assert (await answered(rig)).trace.arm is Arm.SCAN
        await until_whole(rig)
        status = await rig.engine.status()
        assert (status.index, status.words) == (IndexState.READY, IndexState.READY)
