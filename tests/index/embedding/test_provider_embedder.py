"""A host's embedding service, in all the states it can be in, behind the two wrappers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.checked import CheckedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.languages import (
    Language,
    check_language,
    language_of,
    unsupported_languages,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.raw_embedder import FakeRawEmbedder

pytestmark = pytest.mark.unit


def wrapped(raw: FakeRawEmbedder, seconds: float = 30.0) -> CheckedEmbedder:
    return CheckedEmbedder(
        ProviderEmbedder(raw),
        query_seconds=seconds,
        write_seconds=seconds,
        prepare_seconds=seconds,
    )


async def test_an_untold_dimension_is_found_out() -> None:
    fingerprint = await wrapped(FakeRawEmbedder(dim=96)).prepare()
    assert (fingerprint.model, fingerprint.dim) == ("provider:fake/fake-1", 96)


async def test_a_told_dimension_that_is_not_kept_is_an_error() -> None:
    with pytest.raises(EmbeddingFailed, match="wrong_dimension: 96 instead of 128"):
        await wrapped(FakeRawEmbedder(dim=96, told_dim=128)).prepare()


def _raise(_: Any) -> Any:
    raise ConnectionError("api.example.com refused key sk-1")


FAULTS = {
    "raising": (_raise, "error: ConnectionError"),
    "NaN": (lambda rows: [[math.nan] * len(row) for row in rows], "not_finite"),
    "zeros": (lambda rows: [[0.0] * len(row) for row in rows], "zero_vector"),
    "one too few": (lambda rows: rows[1:], "wrong_count"),
    "nothing": (lambda _: [], "wrong_count"),
    "empty vectors": (lambda rows: [[] for _ in rows], "wrong_dimension"),
    "None": (lambda _: None, "not_numeric"),
    "an error text": (lambda _: "internal server error", "not_numeric"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_faulty_service_fails_each_call_and_recovers(fault: str) -> None:
    raw = FakeRawEmbedder()
    embedder = wrapped(raw)
    raw.fault, reason = FAULTS[fault]
    with pytest.raises(EmbeddingFailed, match=reason):
        await embedder.prepare()
    raw.fault = None
    await embedder.prepare()
    raw.fault = FAULTS[fault][0]
    for call in (embedder.embed_query("花生"), embedder.embed_documents(["花生", "茶"])):
        with pytest.raises(EmbeddingFailed, match=reason):
            await call
    raw.fault = None
    assert (await embedder.embed_documents(["花生", "茶"])).shape == (2, 128)
    assert (embedder.failures, embedder.last_reason) == (3, "")


async def test_a_hanging_service_is_given_up() -> None:
    raw = FakeRawEmbedder()
    raw.hanging = True
    with pytest.raises(EmbeddingFailed, match="timeout"):
        await wrapped(raw, seconds=0.01).prepare()


def test_a_model_to_which_all_chinese_looks_alike_is_blind_to_it() -> None:
    import numpy as np

    queries = np.eye(16, dtype=np.float32)
    queries[:8] = 0.0
    queries[:8, 0] = 1.0  # Chinese comes first among the probes
    blind = unsupported_languages(queries, queries)
    assert blind == {Language.CHINESE}
    check_language("what does Anna drink", blind)
    with pytest.raises(EmbeddingFailed, match="language"):
        check_language("奶奶对什么过敏", blind)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("奶奶对花生过敏", Language.CHINESE),
        ("Python 的版本", Language.CHINESE),
        ("what about 花", Language.ENGLISH),
        ("8443", None),
        ("🎉", None),
    ],
)
def test_a_language_is_told_by_its_script(text: str, language: Language | None) -> None:
    assert language_of(text) is language


def test_nothing_is_checked_for_a_model_that_reads_all() -> None:
    check_language("奶奶", ())
