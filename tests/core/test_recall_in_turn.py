"""Recall for a turn: it ends before the person notices, with memories or without."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import GIVEN_UP, Recall
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import group, running
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin, recalled_for_turn

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"


class HangingEmbedder(FakeEmbedder):
    """Writes well, and never answers a query. ``cancelled`` counts queries that were given up."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.cancelled = 0

    async def embed_query(self, text: str) -> Vector:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError("nobody sets the event")


async def recalled(plugin: Any, query: str = PEANUTS) -> Recall:
    """What the turn in the group 777 recalls."""
    return await recalled_for_turn(plugin, query, group(777))


async def test_past_the_deadline_a_recall_is_empty_says_so_and_is_explained(
    tmp_path: Path,
) -> None:
    embedder = HangingEmbedder()
    async with running(tmp_path, embedder=embedder) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.until_indexed()
        # Nothing is looked for where nothing is wanted.
        assert await recalled(TurnPlugin(rig, auto_inject_topk=0)) == Recall()
        assert await recalled(TurnPlugin(rig), "") == Recall()
        assert not embedder.asked.is_set()
        recall = await recalled(TurnPlugin(rig, recall_deadline_ms=500), "奶奶能吃花生酱吗")
        assert (recall.hits, recall.trace.notes) == ((), ["deadline"])
        assert embedder.cancelled == 1
        (explained,) = await rig.engine.service.explain(conversation_id=group(777))
        assert explained.query == "奶奶能吃花生酱吗"
        assert explained.trace.notes == [GIVEN_UP]
        embedder.asked.clear()
        turn = asyncio.create_task(recalled(TurnPlugin(rig)))
        async with asyncio.timeout(30):
            await embedder.asked.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):  # whoever cancels a turn is obeyed
            await turn
