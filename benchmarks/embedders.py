"""An embedder by its name, without an engine around it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from astrbot_plugin_scoped_memory.llm_memory.index.child.process import Child
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.guarded import GuardedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.folder import is_hub_name
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.on_disk import (
    PROGRAM,
    ModelOnDisk,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.model import ModelEmbedder
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder


def embedder_name(text: str) -> str:
    """The type of an argument: what nobody could mean is refused at once."""
    if text in ("lexical", "bundled") or (is_hub_name(text) and "/" in text) or Path(text).is_dir():
        return text
    raise argparse.ArgumentTypeError(f"not lexical, bundled, owner/model or a folder: {text!r}")


def embedder_named(which: str, scratch: Path) -> Embedder:
    """``bundled``, or a model's folder or name; ``scratch`` is an empty folder for its use."""
    disk = ModelOnDisk(which, scratch, mirror=None)
    inner = ModelEmbedder(Child(PROGRAM), None if which == "bundled" else disk)
    return GuardedEmbedder(
        inner, EngineSettings(embed_query_seconds=600.0, embed_write_seconds=600.0)
    )
