"""Every embedder, by the names that tests of the contract ask for."""

from __future__ import annotations

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
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE
from astrbot_plugin_scoped_memory.tests.support.servers.embedding_server import EmbeddingServer

KINDS = ("provider", "service", "bundled", "tiny-onnx", "remote-onnx")
"""What sentence-transformers runs is asked in test_local_model: torch takes long to come."""


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
            "tiny-onnx": lambda: LocalModelEmbedder(str(self.tiny_onnx()), download_seconds=0.0),
            "remote-onnx": self._remote,
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
