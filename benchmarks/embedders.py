"""An embedder by its name, without an engine around it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.bundled.bundled import (
    BundledEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.local_model import (
    LocalModelEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.model_folder import is_hub_name
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder


def embedder_name(text: str) -> str:
    """The type of an argument: what nobody could mean is refused at once."""
    if text in ("lexical", "bundled") or (is_hub_name(text) and "/" in text) or Path(text).is_dir():
        return text
    raise argparse.ArgumentTypeError(f"not lexical, bundled, owner/model or a folder: {text!r}")


def embedder_named(which: str, scratch: Path) -> Embedder:
    """``bundled``, or a model's folder or name; ``scratch`` is an empty folder for its use."""
    if which == "bundled":
        process = WorkerStore(worker_command(scratch / "index", scratch / "native.json"))
        return BundledEmbedder(process, index=None)
    return LocalModelEmbedder(which, download_seconds=0.0)
