"""Whatever an embedder does, a host's service behind it or not, the index sees unit vectors or
EmbeddingFailed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.checked import CheckedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.languages import (
    Language,
    check_language,
    language_of,
    unsupported_languages,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.vectors import unit_rows
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import MergeThresholds
from astrbot_plugin_scoped_memory.tests.fakes.raw_embedder import FakeRawEmbedder

pytestmark = pytest.mark.unit

DIM = 3
GOOD = [[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]]
TEXTS = ["one", "two"]


class Scripted:
    """An embedder that answers every call with ``answer``, or raises it."""

    label = "scripted"
    merge_thresholds = MergeThresholds(0.9, 0.8)

    def __init__(self, answer: Any = GOOD, dim: int = DIM) -> None:
        self.answer = answer
        self.dim = dim
        self.calls = 0
        self.closed = False

    async def prepare(self) -> Fingerprint:
        return Fingerprint("scripted", self.dim)

    async def embed_query(self, text: str) -> Any:
        rows = await self.embed_documents([text])
        return rows[0] if isinstance(rows, list) else rows

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    async def close(self) -> None:
        self.closed = True


async def checked(inner: Scripted, seconds: float = 30.0) -> CheckedEmbedder:
    embedder = CheckedEmbedder(inner, query_seconds=seconds, write_seconds=seconds)
    await embedder.prepare()
    return embedder


async def test_good_vectors_come_back_with_unit_length() -> None:
    embedder = await checked(Scripted())
    vectors = await embedder.embed_documents(TEXTS)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    assert np.allclose(await embedder.embed_query("one"), [0.6, 0.8, 0.0])
    assert (embedder.failures, embedder.last_reason) == (0, "")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RuntimeError("quota of key sk-123 exceeded"), "error: RuntimeError"),
        (GOOD[:1], "wrong_count"),
        ([], "wrong_count"),
        ([[1.0, 2.0], [1.0, 2.0]], "wrong_dimension"),
        ([[1.0, 2.0, 3.0], [1.0, 2.0]], "wrong_dimension"),
        ([[math.nan, 1.0, 1.0], GOOD[0]], "not_finite"),
        ([[0.0, 0.0, 0.0], GOOD[0]], "zero_vector"),
        ([["a", "b", "c"], GOOD[0]], "not_numeric"),
        ([[None, 1.0, 1.0], GOOD[0]], "not_finite"),
        ([[[1.0], [1.0], [1.0]], GOOD[0]], "not_numeric"),
        (None, "not_numeric"),
        ([1.0, 2.0], "not_numeric"),
        ([[10**400, 1, 1], GOOD[0]], "not_numeric"),
    ],
)
async def test_bad_answers_become_a_failure_with_a_reason(answer: Any, reason: str) -> None:
    embedder = await checked(Scripted(answer))
    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.embed_documents(TEXTS)
    assert str(caught.value).startswith(reason)
    assert embedder.last_reason == str(caught.value)
    assert "key" not in embedder.last_reason
    assert embedder.failures == 1


async def test_the_reason_of_the_embedder_inside_stands_until_the_next_success() -> None:
    inner = Scripted(EmbeddingFailed("downloading: 3 MB"))
    embedder = await checked(inner)
    with pytest.raises(EmbeddingFailed, match="downloading: 3 MB"):
        await embedder.embed_query("one")
    assert embedder.last_reason == "downloading: 3 MB"
    inner.answer = GOOD
    await embedder.embed_documents(TEXTS)
    assert (embedder.failures, embedder.last_reason) == (1, "")


async def test_nothing_is_asked_before_it_is_prepared_and_nothing_for_no_texts() -> None:
    inner = Scripted()
    embedder = CheckedEmbedder(inner, query_seconds=1, write_seconds=1)
    with pytest.raises(EmbeddingFailed, match="not_prepared"):
        await embedder.embed_documents(TEXTS)
    await embedder.prepare()
    assert (await embedder.embed_documents([])).shape == (0, DIM)
    assert inner.calls == 0


@pytest.mark.parametrize("dim", [0, -1])
async def test_a_fingerprint_without_a_dimension_is_refused(dim: int) -> None:
    with pytest.raises(EmbeddingFailed, match="wrong_dimension"):
        await checked(Scripted(dim=dim))


_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_ROWS = st.lists(st.lists(_NUMBERS, min_size=DIM, max_size=DIM).filter(any), max_size=5)


@given(rows=_ROWS)
def test_all_finite_vectors_but_zero_become_unit_vectors(rows: list[list[float]]) -> None:
    vectors = unit_rows(rows, len(rows), DIM)
    assert vectors.shape == (len(rows), DIM)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def wrapped(raw: FakeRawEmbedder) -> CheckedEmbedder:
    return CheckedEmbedder(ProviderEmbedder(raw), query_seconds=30.0, write_seconds=30.0)


async def test_the_dimension_is_found_out() -> None:
    fingerprint = await wrapped(FakeRawEmbedder(dim=96)).prepare()
    assert (fingerprint.model, fingerprint.dim) == ("provider:fake/fake-1", 96)


@pytest.mark.parametrize("answer", [None, "internal server error", [], [[]]])
async def test_an_answer_that_tells_no_dimension_prepares_nothing(answer: Any) -> None:
    raw = FakeRawEmbedder()
    raw.fault = lambda _: answer
    embedder = wrapped(raw)
    with pytest.raises(EmbeddingFailed):
        await embedder.prepare()
    raw.fault = None
    assert (await embedder.prepare()).dim == 128


def test_a_model_to_which_all_chinese_looks_alike_is_blind_to_it() -> None:
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
