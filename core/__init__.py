"""The plugin as AstrBot runs it, and its own names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import yaml

NAME: Final = "astrbot_plugin_scoped_memory"
ROOT: Final = Path(__file__).resolve().parent.parent


def plugin_version() -> str:
    """The version in metadata.yaml, the one place that says it."""
    metadata = yaml.safe_load((ROOT / "metadata.yaml").read_text(encoding="utf-8"))
    return str(metadata["version"])
