"""An index for which no thread can start is left out of a recall, which says so."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.support.engines import group, running

pytestmark = pytest.mark.engine

FACT, QUESTION = "奶奶对花生过敏", "奶奶能吃花生吗"
REFUSED = "can't start new thread"


@pytest.mark.parametrize(
    ("threads", "arm", "without"),
    [
        ("scoped-memory-index", Arm.LEXICAL, ["dense"]),
        ("scoped-memory-", Arm.SCAN, ["lexical", "dense"]),
    ],
    ids=["by words", "by a scan"],
)
async def test_where_no_thread_starts_recall_answers_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: str, arm: Arm, without: list[str]
) -> None:
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name.startswith(threads):
            raise RuntimeError(REFUSED)
        start(thread)

    async with running(tmp_path) as rig:
        await rig.remember(FACT, group(777))
        await rig.until_indexed()
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refused)
            recall = await rig.recall(QUESTION, group(777))
        assert [hit.preview for hit in recall.hits] == [FACT]
        assert recall.trace.arm is arm
        assert list(recall.trace.notes) == [f"{name}: {REFUSED}" for name in without]
        await rig.until_indexed()
        assert (await rig.recall(QUESTION, group(777))).trace.arm is Arm.HYBRID
