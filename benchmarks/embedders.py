"""An embedder by its name, without an engine around it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from astrbot_plugin_scoped_memory.llm_memory.components.chroma.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.bundled import BundledEmbedder
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.local_model import (
    LocalModelEmbedder,
)

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.ports import Embedder


def embedder_named(which: str, scratch: Path) -> Embedder:
    """``bundled``, or a model's folder or name; ``scratch`` is an empty folder for its use."""
    if which == "bundled":
        process = WorkerStore(worker_command(scratch / "index", scratch / "native.json"))
        return BundledEmbedder(process, index=None)
    return LocalModelEmbedder(which, download_seconds=0.0)
