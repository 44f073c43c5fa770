"""Stores to be tidied up at night: entries, turns and evidence, put there before a bot opens."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Provenance, Source
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import (
    SqliteLoopFacts,
    SqliteLoopFile,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import Entry, parse_file
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, Ticker, running

NIGHT = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
"""When the nights of tests begin."""


@dataclass(frozen=True)
class LoopStores:
    """What stands in ``state/loop.sqlite``."""

    turns: SqliteTurnStore
    book: SqliteLoopFacts


@contextlib.contextmanager
def loop_stores(root: Path) -> Iterator[LoopStores]:
    """The file of a bot that is not running."""
    file = SqliteLoopFile(root / "state" / "loop.sqlite")
    file.open()
    try:
        yield LoopStores(SqliteTurnStore(file), SqliteLoopFacts(file))
    finally:
        file.close()


@contextlib.asynccontextmanager
async def asleep(root: Path, *, later: int = 0, **loop: int) -> AsyncIterator[Rig]:
    """A bot without an index, so many days after the first night. ``loop``: its settings."""
    settings = replace(QUICK, loop=replace(QUICK.loop, **loop))
    clock = Ticker(NIGHT + timedelta(days=later))
    async with running(root, settings=settings, clock=clock, follow=False) as rig:
        yield rig


class OneDirection(FakeEmbedder):
    """Every text with these words is like every other one: nothing but the guards keeps them
    apart."""

    def __init__(self, words: str = "") -> None:
        super().__init__()
        self._words = words

    def one(self, text: str) -> Vector:
        if self._words not in text:
            return super().one(text)
        vector: Vector = np.zeros(self.dim, np.float32)
        vector[0] = 1.0
        return vector


def passive(
    number: int,
    text: str,
    *,
    strength: int = 50,
    active: bool = False,
    trusted: bool = False,
    quoted: bool = False,
    at: datetime | None = None,
    person: str = "aiocqhttp:10001",
    who: str = "小明",
) -> Memory:
    """An entry as reflection leaves it."""
    return Memory(
        f"m-night{number:06d}",
        text,
        at or NIGHT - timedelta(days=20, minutes=number),
        active=active,
        strength=strength,
        provenance=Provenance(who, person, "", Source.REFLECTION, trusted),
        quoted=quoted,
    )


def plant(root: Path, scope: str, path: str, memories: Sequence[Memory]) -> None:
    """Write entries into a file of a scope."""
    target = root / "memory" / "scopes" / scope / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(map(render, memories)), "utf-8")


def find_useless(root: Path, scope: str, *memories: Memory, times: int = 1) -> None:
    """They were recalled in vain so often."""
    with loop_stores(root) as stores:
        keys = [Key(scope, memory.memory_id) for memory in memories]
        stores.book.count_evidence([], keys * times)


def find_useful(root: Path, scope: str, *memories: Memory, times: int = 1) -> None:
    """They helped so often."""
    with loop_stores(root) as stores:
        keys = [Key(scope, memory.memory_id) for memory in memories]
        stores.book.count_evidence(keys * times, [])


def entries(root: Path, scope: str, *, archived: bool = False) -> dict[str, list[Memory]]:
    """All entries of a scope by id, living or in the archive, as the files say."""
    folder = root / "memory" / "scopes" / scope
    found: dict[str, list[Memory]] = {}
    for path in sorted(folder.rglob("*.md")):
        inside = path.relative_to(folder).parts
        if (inside[0] == "archive") != archived or path.name in ("MEMORY.md", "PRIMER.md"):
            continue
        for entry in in_file(path):
            found.setdefault(entry.memory.memory_id, []).append(entry.memory)
    return found


def in_file(path: Path) -> Sequence[Entry]:
    """The entries of a file."""
    return parse_file(path.read_text("utf-8"), fallback_time=NIGHT).entries


def strengths(root: Path, scope: str) -> dict[str, int]:
    """Of what lives in a scope."""
    return {name: found[0].strength for name, found in entries(root, scope).items()}
