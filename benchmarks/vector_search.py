"""Searching vectors: ours by place against plain numpy over the same rows, and Chroma beneath.

    python benchmarks/vector_search.py [--sizes 10000,50000] [--dim 384] [--queries 100]

Each query is asked in both ways, one after the other, in one run; names with ``_by_`` are ratios.
``arrays_mb`` is what the arrays took beside the rows themselves, ``held_ms`` the longest time that
the event loop was held while a thread loaded all of it from Chroma, or put it into the arrays.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import checkout  # (both folders are made visible by the lines above)

checkout.register()

import numpy as np  # noqa: E402
from gauges import Stalls, resident_megabytes, spread, watched_loop  # noqa: E402
from samples import SHARES  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory.index.chroma.vector_store import (  # noqa: E402
    ChromaConnection,
    ChromaStore,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.index.ports import PAGE, IndexRecord  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.index.vectors import VectorArrays  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.recall.find import NEIGHBOURS  # noqa: E402

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector, Vectors

_TOP = 10
_ASKED_OF_CHROMA = 10


async def measure_search(root: Path, size: int, *, dim: int, queries: int) -> dict[str, Any]:
    """Writes ``size`` vectors, loads them, and asks them in each scope."""
    rng = np.random.default_rng(7)
    rows, asked = (_units(rng.normal(size=(n, dim))) for n in (size, queries))
    places = [scope.name for scope, _ in SHARES]
    chosen = rng.choice(len(places), size=size, p=_shares()).tolist()
    records = [IndexRecord(Key(places[p], f"m-{n:026}"), f"{n:064x}") for n, p in enumerate(chosen)]
    store = ChromaStore(ChromaConnection.in_folder(root / "chroma"))
    space = Fingerprint("benchmark", dim, "1")
    try:
        await asyncio.to_thread(lambda: list(store.load(space, size)))
        write = await _timed(lambda: _write(store, records, rows))
        before, arrays = resident_megabytes(os.getpid(), children=False) or 0.0, VectorArrays()
        load = await _timed(lambda: [arrays.put(r, v) for r, v in store.load(space, size)])
        after = resident_megabytes(os.getpid(), children=False) or 0.0
        put = await _timed(lambda: _put(records, rows))
        figures = _compare(store, arrays, records, rows, asked)
    finally:
        store.close()
    return {
        "memories": size,
        "dim": dim,
        "arrays_mb": round(after - before, 1),
        "rows_mb": round(rows.nbytes / 1e6, 1),
        "written_a_second": round(size / write[0]),
        "loaded_a_second": round(size / load[0]),
        **{
            f"{name}_stalls": stalls.summary()
            for name, (_, stalls) in {"write": write, "load": load, "put": put}.items()
        },
        **figures,
    }


async def _timed(work: Callable[[], object]) -> tuple[float, Stalls]:
    """Seconds that a thread takes for it, and what the loop felt of it."""
    began = time.perf_counter()
    async with watched_loop() as stalls:
        await asyncio.to_thread(work)
    return time.perf_counter() - began, stalls


def _units(rows: Any) -> Vectors:
    units: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return units


def _shares() -> Any:
    shares = np.array([float(share) for _, share in SHARES])
    return shares / shares.sum()


def _write(store: ChromaStore, records: list[IndexRecord], rows: Vectors) -> None:
    for first in range(0, len(records), PAGE):
        store.write(records[first : first + PAGE], rows[first : first + PAGE])


def _put(records: list[IndexRecord], rows: Vectors) -> None:
    """What building does beside embedding."""
    arrays = VectorArrays()
    for first in range(0, len(records), 50):
        arrays.put(records[first : first + 50], rows[first : first + 50])


def _compare(
    store: ChromaStore,
    arrays: VectorArrays,
    records: list[IndexRecord],
    rows: Vectors,
    asked: Vectors,
) -> dict[str, Any]:
    scopes = np.array([record.key.scope for record in records])
    ours, plain, chroma, recall, chromas_recall = ([] for _ in range(5))  # type: ignore[var-annotated]
    for scope, _ in SHARES:
        seen = ScopeFilter.reading_as(scope)
        visible = np.flatnonzero(np.isin(scopes, seen.names))
        theirs = np.ascontiguousarray(rows[visible])
        for number, vector in enumerate(asked):
            best, took = _clocked(lambda v=vector, t=theirs: _nearest(t, v))  # type: ignore[misc]
            plain.append(took)
            true = {records[visible[at]].key for at in best[:_TOP]}
            found, took = _clocked(lambda v=vector, f=seen: arrays.nearest(v, f, NEIGHBOURS))  # type: ignore[misc]
            ours.append(took)
            recall.append(len(true & {n.key for n in found.found[:_TOP]}) / max(len(true), 1))
            if number < _ASKED_OF_CHROMA:
                found, took = _clocked(lambda v=vector, f=seen: store.query(v, f, NEIGHBOURS))  # type: ignore[misc]
                chroma.append(took)
                same = len(true & {n.key for n in found.found[:_TOP]})
                chromas_recall.append(same / max(len(true), 1))
    return {
        "arrays_ms": spread(ours),
        "numpy_ms": spread(plain),
        "chroma_ms": spread(chroma),
        "arrays_by_numpy": round(spread(ours)["p50"] / spread(plain)["p50"], 2),
        "chroma_by_numpy": round(spread(chroma)["p50"] / spread(plain)["p50"], 1),
        "recall_at_10": round(float(np.mean(recall)), 4),
        "chroma_recall_at_10": round(float(np.mean(chromas_recall)), 4),
    }


def _clocked[T](call: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    answer = call()
    return answer, (time.perf_counter() - began) * 1000


def _nearest(rows: Vectors, vector: Vector) -> list[int]:
    """The nearest of all rows, which are those that may be seen."""
    similarity = rows @ vector
    wanted = min(NEIGHBOURS, len(similarity))
    best = np.argpartition(-similarity, wanted - 1)[:wanted] if wanted else np.arange(0)
    return [int(at) for at in best[np.argsort(-similarity[best])]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,50000")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--queries", type=int, default=100)
    wanted = parser.parse_args()
    for size in map(int, wanted.sizes.split(",")):
        with tempfile.TemporaryDirectory() as root:
            search = measure_search(Path(root), size, dim=wanted.dim, queries=wanted.queries)
            sys.stdout.write(json.dumps(asyncio.run(search), indent=1) + "\n")


if __name__ == "__main__":
    main()
