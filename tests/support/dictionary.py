"""jieba's dictionary as a home keeps it. Each new home would digest it for a second."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.service import parts
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer


@cache
def digested_dictionary() -> Path:
    """What ``index/dictionary.bin`` is in a home; made once by each process of the tests."""
    folder = Path(tempfile.mkdtemp(prefix="dictionary-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "dictionary.bin"
    Tokenizer(cache=path).dictionary()
    return path


def share_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every engine that this process opens reads the one digested dictionary."""

    def shared(*, use_jieba: bool = True, cache: Path | None = None) -> Tokenizer:
        return Tokenizer(use_jieba=use_jieba, cache=cache and digested_dictionary())

    monkeypatch.setattr(parts, "Tokenizer", shared)


def put_dictionary(home: Path) -> None:
    """Into a home that a process of its own is to open."""
    kept = home / "index" / "dictionary.bin"
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(digested_dictionary(), kept)
