"""Both vector stores, by the names that tests of the contract ask for."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.ports import Fingerprint
from astrbot_plugin_scoped_memory.tests.contract.vector_bench import (
    DIM,
    Bench,
    ChromaBench,
    MemoryBench,
)

_numbers = itertools.count()


@pytest.fixture(params=["memory", "chroma"], scope="session")
def shared_bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """One for all tests: opening takes longer than most of them."""
    bench: Bench = MemoryBench()
    if request.param == "chroma":
        bench = ChromaBench(tmp_path_factory.mktemp("index") / "目录 #1 100%")
    bench.store.open()
    yield bench
    bench.store.close()


@pytest.fixture
def collection(shared_bench: Bench) -> str:
    """The name of a collection of the test's own."""
    return shared_bench.store.name_for(Fingerprint("test", DIM, str(next(_numbers))))


@pytest.fixture
def bench(shared_bench: Bench, collection: str) -> Bench:
    """A bench whose store uses the test's own, empty collection."""
    shared_bench.store.use(collection)
    return shared_bench


@pytest.fixture(params=["memory", "chroma"])
def unopened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """A bench whose store nobody has opened."""
    bench = MemoryBench() if request.param == "memory" else ChromaBench(tmp_path / "index")
    yield bench
    bench.store.close()
