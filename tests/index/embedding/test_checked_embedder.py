"""Whatever an embedder does, the index sees unit vectors or EmbeddingFailed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.checked import CheckedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.vectors import unit_rows
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import MergeThresholds

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


class Hanging(Scripted):
    """Never answers. A stubborn one ignores its first cancellation."""

    def __init__(self, *, stubborn: bool = False) -> None:
        super().__init__()
        self.stubborn = stubborn
        self.cancelled = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            if not self.stubborn:
                raise
            await asyncio.Event().wait()


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
    assert embedder.failures == 1


async def test_a_foreign_error_is_the_cause_and_its_words_stay_out_of_the_status() -> None:
    error = RuntimeError("text and key")
    embedder = await checked(Scripted(error))
    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.embed_query("one")
    assert caught.value.__cause__ is error
    assert "key" not in embedder.last_reason


async def test_the_reason_of_the_embedder_inside_stands_until_the_next_success() -> None:
    inner = Scripted(EmbeddingFailed("downloading: 3 MB"))
    embedder = await checked(inner)
    with pytest.raises(EmbeddingFailed, match="downloading: 3 MB"):
        await embedder.embed_query("one")
    assert embedder.last_reason == "downloading: 3 MB"
    inner.answer = GOOD
    await embedder.embed_documents(TEXTS)
    assert (embedder.failures, embedder.last_reason) == (1, "")


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_hanging_call_is_given_up_and_cancelled(stubborn: bool) -> None:
    inner = Hanging(stubborn=stubborn)
    embedder = await checked(inner, seconds=0.01)
    with pytest.raises(EmbeddingFailed, match="timeout"):
        await embedder.embed_query("one")
    await inner.cancelled.wait()
    await embedder.close()


async def test_cancelling_the_caller_cancels_the_call() -> None:
    inner = Hanging()
    caller = asyncio.create_task((await checked(inner)).embed_query("one"))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await inner.cancelled.wait()


async def test_closing_ends_calls_under_way_and_refuses_new_ones() -> None:
    inner = Hanging()
    embedder = await checked(inner)
    caller = asyncio.create_task(embedder.embed_query("one"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await embedder.close()
    for call in (caller, embedder.embed_query("one")):
        with pytest.raises(EmbeddingFailed, match="closed"):
            await call
    assert inner.closed


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
