"""An engine with an embedding service that is down, comes, goes and comes back."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Arm, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.composition.indexes import service_embedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.servers.embedding_server import (
    CANARY,
    EmbeddingServer,
)

pytestmark = pytest.mark.engine

HERE = group(777)
FACT, QUESTION = "Anna prefers green tea over coffee", "does Anna prefer tea or coffee?"


def embedder(server: EmbeddingServer) -> Embedder:
    return service_embedder(server.url, "small", QUICK, key=CANARY)


async def until_vectors(rig: Rig) -> None:
    await rig.until_words()
    await rig.until_indexed()


async def test_words_answer_while_it_is_down_and_vectors_come_when_it_is_up(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    chosen = embedder(server)
    server.stop()
    async with running(tmp_path, embedder=chosen) as rig:
        await rig.remember(FACT, HERE)
        await rig.until_words()
        recall = await rig.recall(QUESTION, HERE)
        assert [hit.preview for hit in recall.hits] == [FACT]
        assert recall.trace.arm is Arm.LEXICAL
        server.start()
        await until_vectors(rig)
        recall = await rig.recall(QUESTION, HERE)
        assert [hit.preview for hit in recall.hits] == [FACT]
        assert recall.trace.arm is Arm.HYBRID
        assert any(FACT in text for asked in server.asked for text in asked.texts)
        server.stop()
        await rig.remember("the printer needs new paper", HERE)
        recall = await rig.recall("what does the printer need, paper?", HERE)
        assert [hit.preview for hit in recall.hits] == ["the printer needs new paper"]
        assert recall.trace.arm is not Arm.HYBRID
        server.start()
        await until_vectors(rig)
        assert (await rig.recall(QUESTION, HERE)).trace.arm is Arm.HYBRID
        failing = [n for n in rig.notices if n.code is NoticeCode.EMBEDDER_FAILING]
        assert any("unreachable: 127.0.0.1" in n.params["detail"] for n in failing)
        assert CANARY not in repr(rig.notices)


async def test_a_service_that_hangs_costs_a_recall_its_deadline_and_no_more(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    over = threading.Event()
    paced = replace(QUICK, embed_query_seconds=0.2, embed_draft_seconds=0.2)
    chosen = service_embedder(server.url, "small", paced, key=CANARY)
    async with running(tmp_path, embedder=chosen, settings=paced) as rig:
        await rig.remember(FACT, HERE)
        await until_vectors(rig)

        def hang(*_: object) -> None:
            over.wait(90)

        server.always = hang
        async with asyncio.timeout(60):  # less than the service takes
            recall = await rig.recall(QUESTION, HERE)
        assert [hit.preview for hit in recall.hits] == [FACT]
        assert recall.trace.arm is Arm.LEXICAL
        over.set()
