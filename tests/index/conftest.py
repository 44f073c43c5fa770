"""The vector stores, by the names that tests of the contract ask for."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import (
    DIM,
    Bench,
    ChromaBench,
    MemoryBench,
    ServerBench,
    WorkerBench,
)
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import server  # noqa: F401  (a fixture)

_numbers = itertools.count()


def _bench(kind: str, request: pytest.FixtureRequest, folder: Path) -> Bench:
    match kind:
        case "memory":
            return MemoryBench()
        case "chroma":
            return ChromaBench(folder)
        case "worker":
            return WorkerBench(folder)
        case _:
            process = request.getfixturevalue("server")
            return ServerBench(process.url)


@pytest.fixture(params=["memory", "chroma", "worker", "server"], scope="session")
def shared_bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """One for all tests: opening takes longer than most of them."""
    bench = _bench(request.param, request, tmp_path_factory.mktemp("index") / "目录 #1 100%")
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


@pytest.fixture(params=["memory", "chroma", "worker", "server"])
def unopened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """A bench whose store nobody has opened, with nothing stored."""
    bench = _bench(request.param, request, tmp_path / "index")
    yield bench
    bench.store.close()
