"""What every embedder keeps, whatever is inside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.bundled.bundled import (
    BundledEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.guarded import GuardedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.local_model import (
    LocalModelEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder, Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.remote_model import RemoteModel
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.embedding_service import (
    EmbeddingService,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.tests.fakes.raw_embedder import FakeRawEmbedder
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE
from astrbot_plugin_scoped_memory.tests.support.servers.embedding_server import (
    EmbeddingServer,
    serving,
)

KINDS = ("provider", "service", "bundled", "tiny-onnx", "remote-onnx")
"""What sentence-transformers runs is asked in test_local_model: torch takes long to come."""


@contextmanager
def made(kind: str, folder: Path) -> Iterator[Embedder]:
    """One of the kinds; ``folder`` is for what it needs on disk."""
    process = WorkerStore(worker_command(folder / "index" / "chroma", NATIVE))
    match kind:
        case "provider":
            yield ProviderEmbedder(FakeRawEmbedder())
        case "service":
            with serving(EmbeddingServer(dim=128)) as server:
                yield ProviderEmbedder(EmbeddingService(server.url, "small"))
        case "bundled":
            yield BundledEmbedder(process, index=None)
        case "tiny-onnx":
            yield LocalModelEmbedder(str(make_tiny_onnx(folder / "tiny")), download_seconds=0.0)
        case _:
            yield LocalModelEmbedder(
                str(make_tiny_onnx(folder / "tiny")),
                download_seconds=0.0,
                libraries=[partial(RemoteModel, process)],
                end=process.close,
            )


ENGLISH = [
    "Anna prefers green tea over coffee",
    "the printer needs new paper",
    "we spent a week in Lisbon",
]
CHINESE = ["奶奶对花生过敏", "图书馆周一闭馆", "小明喜欢喝美式咖啡"]
QUESTIONS = {
    "what does Anna like to drink, coffee?": (ENGLISH, 0),
    "给奶奶做饭，菜里能放花生吗": (CHINESE, 0),
}


@pytest_asyncio.fixture(
    params=[
        pytest.param(kind, marks=pytest.mark.model if kind == "bundled" else ()) for kind in KINDS
    ],
    scope="module",
    loop_scope="module",
)
async def embedder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[GuardedEmbedder]:
    with made(request.param, tmp_path_factory.mktemp("models")) as inner:
        embedder = GuardedEmbedder(inner, query_seconds=60.0, write_seconds=60.0)
        await embedder.prepare()
        yield embedder
        await embedder.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fingerprint(embedder: GuardedEmbedder) -> Fingerprint:
    """Asked for once: the bundled model embeds eighty sentences for it."""
    return await embedder.prepare()


pytestmark = [pytest.mark.process, pytest.mark.contract, pytest.mark.asyncio(loop_scope="module")]


def assert_unit(vectors: np.ndarray, rows: int, dim: int) -> None:
    assert vectors.shape == (rows, dim)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


async def test_vectors_have_the_fingerprints_dimension_and_unit_length(
    embedder: GuardedEmbedder, fingerprint: Fingerprint
) -> None:
    assert_unit(np.stack(await embedder.embed_documents(ENGLISH + CHINESE)), 6, fingerprint.dim)
    assert_unit((await embedder.embed_query(ENGLISH[0]))[np.newaxis], 1, fingerprint.dim)
    assert await embedder.embed_documents([]) == []
    assert await embedder.prepare() == fingerprint


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_question_is_nearest_to_its_answer(
    embedder: GuardedEmbedder, question: str
) -> None:
    texts, answer = QUESTIONS[question]
    similarity = np.stack(await embedder.embed_documents(texts)) @ await embedder.embed_query(
        question
    )
    assert int(similarity.argmax()) == answer


async def test_a_text_gives_the_same_vector_alone_and_in_a_batch(embedder: GuardedEmbedder) -> None:
    batch = await embedder.embed_documents(ENGLISH + CHINESE)
    for row, text in zip(batch, ENGLISH + CHINESE, strict=True):
        alone = await embedder.embed_documents([text])
        assert np.allclose(alone[0], row, atol=1e-5)


TEXTS = {
    "empty": "",
    "blank": " \n\t ",
    "joined emoji": "👨‍👩‍👧‍👦👍🏽",
    "punctuation": "……！？",
    "control characters": "\x00\x01\x1b[31m\x7f",
    "invisible characters": "\u200b\u202e\ufeff",
    "lone surrogate": "half a pair \ud83d of surrogates",
    "40 kB without a space": "a" * 40_000,
    "40,000 characters of Chinese": "花生" * 20_000,
    "40 kB of words": "word " * 8_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_any_text_can_be_stored_and_asked_and_harms_not_its_batch(
    embedder: GuardedEmbedder, fingerprint: Fingerprint, text: str
) -> None:
    vectors = await embedder.embed_documents([ENGLISH[0], text])
    assert vectors[1] is None or vectors[1].shape == (fingerprint.dim,)
    assert np.allclose(vectors[0], (await embedder.embed_documents(ENGLISH[:1]))[0], atol=1e-5)
    try:
        vector = await embedder.embed_query(text)
    except EmbeddingFailed as error:
        assert str(error) == "zero_vector"
    else:
        assert np.isclose(np.linalg.norm(vector), 1.0, atol=1e-5)


async def test_eight_calls_at_once_do_not_mix_their_answers(embedder: GuardedEmbedder) -> None:
    texts = [f"{ENGLISH[0]} number {n}" for n in range(8)]
    expected = [await embedder.embed_query(text) for text in texts]
    answers = await asyncio.gather(
        *(embedder.embed_query(text) for text in texts),
        *(embedder.embed_documents([text, *ENGLISH]) for text in texts),
    )
    for answer, alone in zip(answers[:8], expected, strict=True):
        assert np.allclose(answer, alone, atol=1e-5)
    assert all(len(answer) == 4 for answer in answers[8:])
