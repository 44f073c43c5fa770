"""A local model in the index's process: what its library dies of costs the bot a call."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory import EnginePaths, EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_process import WorkerProcess
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.service.indexes import local_embedder
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx

pytestmark = [pytest.mark.process, pytest.mark.contract]

SLOW = EngineSettings(embed_query_seconds=60.0, embed_write_seconds=60.0)
TEXTS = [f"Anna prefers tea number {number}" for number in range(20)]


class Bench:
    """A model below ``models/``, and an embedder of it."""

    def __init__(self, root: Path) -> None:
        self.paths = EnginePaths.under(root)
        self.folder = make_tiny_onnx(self.paths.models / "tiny")
        self.started: list[WorkerProcess] = []
        index = self.paths.index
        command = worker_command(index / "chroma", index / "native-chromadb.json")
        self.worker = WorkerStore(command, start=self._start)
        self.embedder: Embedder = local_embedder(
            self.paths, "tiny", settings=SLOW, worker=self.worker
        )

    def _start(self, command: object) -> WorkerProcess:
        assert isinstance(command, tuple)
        self.started.append(WorkerProcess(command))
        return self.started[-1]

    async def crash(self) -> None:
        """As a fault in a library does."""
        os.kill(self.started[-1].pid, signal.SIGSEGV)
        with pytest.raises(EmbeddingFailed, match="died"):
            await self.embedder.embed_query("x")


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # an import of it here raises
    made = Bench(tmp_path)
    yield made
    await made.embedder.close()
    made.worker.close()


@pytest.mark.skipif(sys.platform == "win32", reason="ends it by a signal")
async def test_a_crash_costs_a_call_and_the_next_process_gives_the_same_vectors(
    bench: Bench,
) -> None:
    fingerprint = await bench.embedder.prepare()
    rows = await bench.embedder.embed_documents(TEXTS)
    for number in range(1, 4):
        await bench.crash()
        with pytest.raises(EmbeddingFailed, match="not_prepared"):
            await bench.embedder.embed_query("x")
        assert await bench.embedder.prepare() == fingerprint
        assert np.array_equal(await bench.embedder.embed_documents(TEXTS), rows)
        assert len(bench.started) == number + 1


@pytest.mark.skipif(sys.platform == "win32", reason="ends it by a signal")
async def test_a_process_that_others_started_anew_opens_the_model_by_itself(bench: Bench) -> None:
    await bench.embedder.prepare()
    row = await bench.embedder.embed_query(TEXTS[0])
    bench.started[-1].kill()
    bench.worker.open()  # the index noticed first
    assert np.array_equal(await bench.embedder.embed_query(TEXTS[0]), row)
    assert len(bench.started) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="ends it by a signal")
async def test_vectors_of_files_that_were_changed_never_mix_with_earlier_ones(bench: Bench) -> None:
    before = await bench.embedder.prepare()
    bench.started[-1].kill()
    shutil.rmtree(bench.folder)
    make_tiny_onnx(bench.folder, seed=1)
    bench.worker.open()
    with pytest.raises(EmbeddingFailed, match="model_changed"):
        await bench.embedder.embed_query(TEXTS[0])
    after = await bench.embedder.prepare()
    assert after.revision != before.revision
    assert await bench.embedder.embed_query(TEXTS[0]) is not None


async def test_what_is_wrong_with_the_files_is_said_as_it_is_anywhere(bench: Bench) -> None:
    (bench.folder / "model.onnx").write_bytes(b"cut short")
    with pytest.raises(EmbeddingFailed, match=r"^broken_model: \w+$"):
        await bench.embedder.prepare()
