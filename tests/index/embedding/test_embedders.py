"""What every embedder keeps, whatever is inside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.llm_memory import EnginePaths, EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.embedding_service import (
    EmbeddingService,
)
from astrbot_plugin_scoped_memory.llm_memory.service.indexes import (
    bundled_embedder,
    local_embedder,
    provider_embedder,
)
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx
from astrbot_plugin_scoped_memory.tests.support.servers.embedding_server import (
    EmbeddingServer,
    serving,
)

PATIENT = EngineSettings(embed_query_seconds=120.0, embed_write_seconds=120.0)
ENGLISH = [
    "Anna prefers green tea over coffee",
    "the printer needs new paper",
    "we spent a week in Lisbon",
]
CHINESE = ["奶奶对花生过敏", "图书馆周一闭馆", "小明喜欢喝美式咖啡"]


@pytest_asyncio.fixture(
    params=["service", pytest.param("bundled", marks=pytest.mark.model), "tiny-onnx"],
    scope="module",
    loop_scope="module",
)
async def embedder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Embedder]:
    paths = EnginePaths.under(tmp_path_factory.mktemp("models"))
    make_tiny_onnx(paths.models / "tiny")
    with serving(EmbeddingServer(dim=128)) as server:
        embedders = {
            "service": provider_embedder(EmbeddingService(server.url, "small"), PATIENT),
            "bundled": bundled_embedder(PATIENT),
            "tiny-onnx": local_embedder(paths, "tiny", settings=PATIENT),
        }
        embedder = embedders[request.param]
        assert embedder is not None
        await embedder.prepare()
        yield embedder
        await embedder.close()


pytestmark = [pytest.mark.process, pytest.mark.contract, pytest.mark.asyncio(loop_scope="module")]


async def rows(embedder: Embedder, texts: list[str]) -> np.ndarray:
    """Of texts that have a vector each."""
    return np.stack([row for row in await embedder.embed_documents(texts) if row is not None])


async def test_vectors_have_unit_length_and_a_question_is_nearest_to_its_answer(
    embedder: Embedder,
) -> None:
    fingerprint = await embedder.prepare()
    for question, texts in (
        ("what does Anna like to drink, coffee?", ENGLISH),
        ("给奶奶做饭，菜里能放花生吗", CHINESE),
    ):
        vectors = [*await rows(embedder, texts), asked := await embedder.embed_query(question)]
        assert {(one.shape, one.dtype) for one in vectors} == {((fingerprint.dim,), np.dtype("f4"))}
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
        assert int((np.stack(vectors[:-1]) @ asked).argmax()) == 0
    assert await embedder.embed_documents([]) == []


TEXTS = (
    *("", " \n\t ", "👨‍👩‍👧‍👦👍🏽", "……！？", "\x00\x01\x1b[31m\x7f", "\u200b\u202e\ufeff"),
    *("half \ud83d of a pair", "a" * 40_000, "花生" * 20_000, "word " * 8_000),
)  # fmt: skip


async def test_any_text_can_be_stored_and_asked_and_harms_not_its_batch(embedder: Embedder) -> None:
    (alone,), dim = await rows(embedder, ENGLISH[:1]), (await embedder.prepare()).dim
    for text in TEXTS:
        first, second = await embedder.embed_documents([ENGLISH[0], text])
        assert first is not None
        assert np.allclose(first, alone, atol=1e-5)
        assert second is None or second.shape == (dim,)
        try:
            assert (await embedder.embed_query(text)).shape == (dim,)
        except EmbeddingFailed as error:
            assert error.code == "no_vector"


async def test_eight_calls_at_once_do_not_mix_their_answers(embedder: Embedder) -> None:
    texts = [f"{ENGLISH[0]} number {n}" for n in range(8)]
    expected = [await embedder.embed_query(text) for text in texts]
    found = await asyncio.gather(
        *(embedder.embed_query(text) for text in texts),
        *(embedder.embed_documents([text, *ENGLISH]) for text in texts),
    )
    assert np.allclose(found[:8], expected, atol=1e-5)
    assert all(len(answer) == 4 for answer in found[8:])
