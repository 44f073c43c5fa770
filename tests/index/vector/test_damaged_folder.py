"""Whatever bytes of an index folder are damaged: what it answers is mostly right, or it is begun
anew; and no number in it has a write fill the disk."""

import random
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.ports import VectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector import worker_store
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import (
    COUNT,
    FAMILY,
    SPACE,
    Index,
    build,
    vectors,
    works,
)

pytestmark = [pytest.mark.process, pytest.mark.property, pytest.mark.timeout(1200)]

GRAPH = [
    "header.bin",
    "data_level0.bin",
    "link_lists.bin",
    "length.bin",
    "index_metadata.pickle",
]
PAGES = ["truncated", "a page of zeros", "a page of garbage", "swapped"]
HARMS = [
    *(("chroma.sqlite3", kind) for kind in PAGES),  # of single bytes SQLite keeps no checksum
    *((name, kind) for name in GRAPH for kind in (*PAGES, "bytes", "a number")),
]
NUMBERS = [b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", bytes(4), b"\0\0\1\0"]
LARGEST = 32 << 20
"""Bytes of a file: a graph of some hundred small vectors takes a few hundred thousand."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build(tmp_path_factory.mktemp("built"))


def damage(path: Path, kind: str, seed: int) -> None:
    rng, data = random.Random(seed), bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    page = slice(at // 4096 * 4096, at // 4096 * 4096 + 4096)
    match kind:
        case "truncated":
            del data[at:]
        case "a page of zeros":
            data[page] = bytes(len(data[page]))
        case "a page of garbage":
            data[page] = rng.randbytes(len(data[page]))
        case "bytes":
            for _ in range(rng.randint(1, 8)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        case "a number":
            data[at // 4 * 4 : at // 4 * 4 + 4] = rng.choice(NUMBERS)
        case _:
            data[:] = data[len(data) // 2 :] + data[: len(data) // 2]
    path.write_bytes(data)


def answers(store: VectorStore) -> bool:
    """Most of the records find themselves: the built ones, unless it was begun anew before."""
    if store.count() < COUNT:
        return True
    found = [store.query(row, FAMILY, 1).found for row in vectors(COUNT)[::5]]
    return sum(bool(hits) and hits[0].similarity > 0.999 for hits in found) >= 0.8 * len(found)


def live(index: Index) -> None:
    """Open it, ask and write, and close it. After faults the service gives it up, as here."""
    store, reason = index.opened(index.worker())
    with closing(store):
        assert reason in {"", "garbage", "partial", "crashed", "hangs"}
        try:
            assert reason or answers(store)
        except IndexUnavailable:
            store.discard("faulty")
            store.open()
            store.use(store.name_for(SPACE))
        assert works(store)
    sizes = [path.stat().st_size for path in index.root.rglob("*") if path.is_file()]
    assert max(sizes) < LARGEST


@given(st.sampled_from(HARMS), st.integers(0, 1 << 32))
@settings(max_examples=max(2, settings().max_examples // 20))
def test_a_damaged_folder_answers_or_is_begun_anew(
    built: Index, harm: tuple[str, str], seed: int
) -> None:
    name, kind = harm
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patched:
        patched.setattr(worker_store, "_OPENING_SECONDS", 20.0)
        index = built.copied(Path(root))
        (path,) = index.folder.rglob(name)
        damage(path, kind, seed)
        live(index)
        live(index)
