"""A store that is big enough to look round without a filter first, or to fetch a small scope whole:
whatever the way, the answer is that of brute force."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint, Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.search import SMALL
from astrbot_plugin_scoped_memory.llm_memory.index.vector.server import ChromaServer
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.write_pace import WritePace
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, ScopeFilter
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Row
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import (
    DIM,
    SPACE,
    ChromaBench,
    chroma_at,
    keys,
    reading_as,
    record,
    unit,
    vectors,
)
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import ServerProcess

pytestmark = [pytest.mark.process, pytest.mark.contract]

COUNT = 240
ROWS = vectors(COUNT, 7)
_filled: dict[float, list[Key]] = {}


@pytest.fixture(params=["chroma", "server"], scope="module")
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChromaVectorStore]:
    """One that thinks every collection big."""
    connection: EmbeddedChroma | ChromaServer
    if request.param == "chroma":
        connection = EmbeddedChroma(Path(tmp_path_factory.mktemp("ways")))
    else:
        server: ServerProcess = request.getfixturevalue("server")
        connection = ChromaServer(server.url, {}, lambda: "ways" * 8, seconds=30.0)
    made = ChromaVectorStore(connection, pace=WritePace(long=1.0, sleep=lambda _: None), many=0)
    made.open()
    _filled.clear()
    yield made
    made.close()


def shared(store: ChromaVectorStore, share: float) -> list[Key]:
    """One collection for all examples of a share: filling it takes longer than asking."""
    store.use(store.name_for(Fingerprint("ways", DIM, f"share {share}")))
    if share not in _filled:
        chance = np.random.default_rng(int(share * 100)).random(COUNT)
        written = [record("家" if c < share else "公司", f"m-{n}") for n, c in enumerate(chance)]
        store.upsert(written, ROWS)
        _filled[share] = [item.key for item in written]
    return _filled[share]


def nearest_of(
    stored: list[Key], wanted: Vectors, reader: ScopeFilter, k: int
) -> list[tuple[Key, float]]:
    """By brute force."""
    near = sorted(
        ((key, float(ROWS[n] @ wanted)) for n, key in enumerate(stored)), key=lambda p: -p[1]
    )
    return [pair for pair in near if reader.admits(pair[0].scope)][:k]


class BigBench(ChromaBench):
    """Its store thinks every collection big, too."""

    def fresh(self) -> ChromaVectorStore:
        return chroma_at(self.path, many=0)


LIARS = {
    "家/of-others": Row({"memory_scope": "公司", "content_hash": "h"}, unit(1)),
    "家/bare": Row({}, unit(1, 0.01)),
    "家/public": Row({"memory_scope": "public", "content_hash": "h"}, unit(1, 0.02)),
}


def test_a_scope_that_lies_far_away_is_found_beside_liars_while_it_grows(tmp_path: Path) -> None:
    bench = BigBench(tmp_path / "index")
    store = bench.reopen()
    name = store.name_for(SPACE)
    store.use(name)
    near = [record("公司", f"m-{number}") for number in range(100)]
    store.upsert(near, np.array([unit(1, number / 1000) for number in range(100)]))
    bench.plant(name, LIARS)
    stored = 0
    for more in (SMALL - 10, 0, 0, 30, 0, 0):  # fetched whole; then it is too large for that
        added = range(stored, stored + more)
        far = np.array([unit(-1, number / 1000) for number in added]).reshape(-1, DIM)
        bench.store.upsert([record("家", f"m-{number}") for number in added], far)
        stored += more
        answer = bench.store.query(unit(1), reading_as("家"), 3)
        assert keys(answer) == [Key("家", f"m-{stored - last}") for last in (1, 2, 3)]
        assert answer.dropped == 1  # the one that the filter lets in
    answer = bench.store.query(unit(1), reading_as("公司"), 3)
    assert keys(answer) == [Key("公司", f"m-{number}") for number in range(3)]
    for k in (-1, 0, 1000):
        assert len(bench.store.query(unit(1), reading_as("公司"), k).found) == min(max(k, 0), 100)
    bench.store.close()


@settings(max_examples=max(3, settings().max_examples // 4))
@given(
    # How much the reader sees decides on the way: nearly all, some, a few, nothing.
    share=st.sampled_from((0.9, 0.4, 0.05, 0.0)),
    k=st.sampled_from((1, 5, 20)),
    seed=st.integers(0, 1000),
)
def test_the_answer_is_that_of_brute_force(
    store: ChromaVectorStore, share: float, k: int, seed: int
) -> None:
    stored = shared(store, share)
    for reader in (reading_as("家"), ScopeFilter((PUBLIC,), everything=True)):
        for wanted in vectors(3, seed + 1):
            answer = store.query(wanted, reader, k)
            expected = nearest_of(stored, wanted, reader, k)
            assert keys(answer) == [key for key, _ in expected]
            found = [neighbour.similarity for neighbour in answer.found]
            assert found == pytest.approx([near for _, near in expected], abs=1e-5)
            assert answer.dropped == 0
