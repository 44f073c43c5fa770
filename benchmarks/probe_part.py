"""The vector store's own query against Chroma's plain filter and against brute force."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gauges import spread
from hashed import HashedWords
from samples import SHARES, memories, questions

from astrbot_plugin_scoped_memory.llm_memory import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.vector.collection_calls import nearest
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import parse_id, record_id
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.write_pace import WritePace
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.recall.find import NEIGHBOURS
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import embedded_text

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector, Vectors

_WANTED = NEIGHBOURS
"""What a recall asks the store for."""
_TOP = 10
_SAME = 1e-5
"""Similarities as close as this are one: made-up sentences repeat themselves."""


@dataclass
class Way:
    """One way to find neighbours: how long it took, and what of the true nearest it found."""

    milliseconds: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        return {
            "ms": spread(self.milliseconds),
            "recall_at_10": round(statistics.fmean(self.recall), 4),
        }


async def measure_probe(root: Path, size: int, *, dim: int, queries: int) -> dict[str, Any]:
    """Fills a collection with ``size`` memories and asks it each question in each scope."""
    stored = memories(size)
    embedder = HashedWords(dim)
    await embedder.prepare()
    began = time.perf_counter()
    rows = await embedder.embed_documents([embedded_text(one.memory) for one in stored])
    vectors = np.stack([row for row in rows if row is not None])
    embedding = time.perf_counter() - began
    asked = [await embedder.embed_query(text) for text in questions(queries)]
    await embedder.close()
    store = ChromaVectorStore(EmbeddedChroma(root / "chroma"), pace=WritePace(sleep=lambda _: None))
    store.open()
    try:
        store.use(store.name_for(Fingerprint("benchmark", dim, "1")))
        began = time.perf_counter()
        store.upsert([_record(one) for one in stored], vectors)
        seconds = time.perf_counter() - began
        ways = _compare(store, [_key(one) for one in stored], vectors, asked)
    finally:
        store.close()
    medians = {name: way["ms"]["p50"] for name, way in ways.items()}
    return {
        "memories": size,
        "dim": dim,
        "adds_a_second": round(size / seconds, 1),
        "adding_by_embedding": round(seconds / embedding, 2),
        **ways,
        "filter_by_store": round(medians["filter"] / medians["store"], 2),
        "brute_by_store": round(medians["brute"] / medians["store"], 4),
    }


def _key(stored: StoredMemory) -> Key:
    return Key(stored.scope.name, stored.memory.memory_id)


def _record(stored: StoredMemory) -> IndexRecord:
    text = embedded_text(stored.memory)
    return IndexRecord(_key(stored), text, stored.memory.memory_id, {"kind": stored.memory.kind})


def _compare(
    store: ChromaVectorStore, keys: Sequence[Key], vectors: Vectors, asked: Sequence[Vector]
) -> dict[str, dict[str, Any]]:
    rows = {record_id(key): row for row, key in enumerate(keys)}
    scopes = np.array([key.scope for key in keys])
    ways = {"store": Way(), "filter": Way(), "brute": Way()}
    for scope, _ in SHARES:
        scope_filter = ScopeFilter.reading_as(scope)
        hidden = ~np.isin(scopes, scope_filter.names)
        collection = store._collection
        if collection is None:
            raise RuntimeError("no collection is in use")
        where = scope_where(scope_filter)
        for vector in asked:
            calls: dict[str, Callable[[], list[int]]] = {
                "store": lambda v=vector, f=scope_filter: [  # type: ignore[misc]
                    rows[record_id(n.key)] for n in store.query(v, f, _WANTED).found
                ],
                "filter": lambda v=vector, w=where, c=collection: [  # type: ignore[misc]
                    rows[record_id(parse_id(answer[0]))] for answer in nearest(v, w, _WANTED, c)
                ],
                "brute": lambda v=vector, h=hidden: _nearest(vectors, v, h),  # type: ignore[misc]
            }
            _ask(ways, calls, vectors @ vector)
    return {name: way.summary() for name, way in ways.items()}


def _ask(
    ways: dict[str, Way], calls: dict[str, Callable[[], list[int]]], similarity: Vector
) -> None:
    found: dict[str, list[int]] = {}
    for name, call in calls.items():
        began = time.perf_counter()
        found[name] = call()
        ways[name].milliseconds.append((time.perf_counter() - began) * 1000)
    true = similarity[found["brute"][:_TOP]]
    least = float(true.min()) - _SAME if len(true) else 0.0
    for name, rows in found.items():
        good = int((similarity[rows[:_TOP]] >= least).sum()) if rows else 0
        ways[name].recall.append(good / len(true) if len(true) else 1.0)


def _nearest(vectors: Vectors, vector: Vector, hidden: Any) -> list[int]:
    """Rows of the nearest visible vectors, nearest first."""
    similarity = vectors @ vector
    similarity[hidden] = -2.0
    wanted = min(_WANTED, int((~hidden).sum()))
    if not wanted:
        return []
    best = np.argpartition(-similarity, wanted - 1)[:wanted]
    return [int(row) for row in best[np.argsort(-similarity[best])]]
