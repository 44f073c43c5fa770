"""Whatever an embedder does, a host's service behind it or not, the engine sees unit vectors or
EmbeddingFailed, and what cannot answer is asked now and then."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.guarded import GuardedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
    CONTROL,
    Fingerprint,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.provider import ProviderEmbedder
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings, Pace
from astrbot_plugin_scoped_memory.llm_memory.service.indexes import provider_embedder
from astrbot_plugin_scoped_memory.tests.laws.turned_clock import TurnedLoop

pytestmark = pytest.mark.unit

DIM = 3
TEXTS = ["one", "two", "three"]
GOOD = [3.0, 4.0, 0.0]


class Scripted:
    """Of each text what ``answers`` has for it, raised where it is an error; else a good vector.
    ``fault`` is raised, or done, instead."""

    label = "provider:scripted"
    model = "m"

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.fault: Exception | Callable[[Sequence[str]], Any] | None = None
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append([*texts])
        if isinstance(self.fault, Exception):
            raise self.fault
        if self.fault is not None:
            answer = self.fault(texts)
            return await answer if asyncio.iscoroutine(answer) else answer
        rows = [self.answers.get(text, GOOD) for text in texts]
        for row in rows:
            if isinstance(row, Exception):
                raise row
        return rows


async def guarded(raw: Scripted) -> GuardedEmbedder:
    embedder = GuardedEmbedder(ProviderEmbedder(raw), EngineSettings(embed_query_seconds=30.0))
    await embedder.prepare()
    raw.calls.clear()
    return embedder


async def test_no_text_that_is_sent_is_blank_or_cannot_be_sent() -> None:
    embedder = await guarded(raw := Scripted())
    assert await embedder.prepare() == Fingerprint("provider:scripted/m", DIM)
    raw.calls.clear()
    await embedder.embed_documents(["", " \n", " " * 10_000 + "花" * 10_000, "half \ud83d", "a\0b"])
    assert raw.calls == [[".", ".", "花" * 6_000, "half ?", "a b"]]


class Filtered(Exception):
    status_code = 400


@pytest.mark.parametrize(
    "answer",
    [
        *([], [1.0, 2.0], [math.nan, 1.0, 1.0], [math.inf, 1.0, 1.0], [0.0, 0.0, 0.0]),
        *(["a", "b", "c"], [None, 1.0, 1.0], [[1.0], [1.0], [1.0]], [10**400, 1, 1], [1e-200] * 3),
        *(None, 1.0, "abc", Filtered("no"), RuntimeError("Error code: 413 - too long")),
    ],
    ids=str,
)
async def test_what_is_wrong_with_one_text_costs_that_text_its_vector_and_nothing_else(
    answer: Any,
) -> None:
    raw = Scripted()
    raw.answers["two"] = answer
    embedder = await guarded(raw)
    for texts in (TEXTS, ["two"], [*TEXTS * 5]):
        found = await embedder.embed_documents(texts)
        assert [row is None for row in found] == [text == "two" for text in texts]
    with pytest.raises(EmbeddingFailed):
        await embedder.embed_query("two")
    assert (await embedder.embed_query("one")).shape == (DIM,)
    raw.calls.clear()
    await embedder.embed_documents(["one"] * 60)
    assert [len(call) for call in raw.calls] == [60], "no batch is smaller for it"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (RuntimeError("key sk-123 is odd"), "error: RuntimeError"),
        (RuntimeError("Error code: 500 - sk-123"), "error: HTTP 500 (RuntimeError)"),
        (ConnectionError("read timed out"), "timeout: ConnectionError"),
        (lambda texts: [[math.nan] * DIM for _ in texts], "not_finite"),
        (lambda _: [], "wrong_dimension: 0 instead of any"),
        (lambda texts: [["a"] * DIM for _ in texts], "not_finite: no numbers"),
        (lambda texts: [[1.0] * 5 for _ in texts], "model_changed: 5 numbers instead of 3"),
        (Filtered("all"), "rejected: HTTP 400 (Filtered)"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
async def test_an_embedder_that_is_at_fault_fails_as_a_whole_and_no_text_is_blamed(
    fault: Any, reason: str
) -> None:
    for texts in (TEXTS, ["two"]):
        raw = Scripted()
        embedder = await guarded(raw)
        raw.fault = fault
        with pytest.raises(EmbeddingFailed) as caught:
            await embedder.embed_documents(texts)
        assert str(caught.value) == reason
        assert len(raw.calls) <= 2


async def test_an_embedder_that_takes_fewer_texts_gets_fewer() -> None:
    embedder = await guarded(raw := Scripted())
    raw.fault = lambda texts: [GOOD for _ in texts] if len(texts) <= 10 else []
    for _ in range(2):
        raw.calls.clear()
        found = await embedder.embed_documents(["one"] * 70)
        assert [row is None for row in found] == [False] * 70
    assert all(len(call) <= 10 for call in raw.calls)
    assert len(raw.calls) <= 10


async def test_it_embeds_nothing_before_it_is_prepared_or_after_it_is_closed() -> None:
    raw = Scripted()
    embedder = GuardedEmbedder(ProviderEmbedder(raw), EngineSettings())
    with pytest.raises(EmbeddingFailed, match="not_prepared"):
        await embedder.embed_query("x")
    raw.fault = lambda _: [[]]
    with pytest.raises(EmbeddingFailed, match="wrong_dimension"):
        await embedder.prepare()
    raw.fault = None
    await embedder.prepare()
    raw.fault = lambda _: asyncio.sleep(30.0)
    asked = asyncio.create_task(embedder.embed_query("x"))
    await asyncio.sleep(0)
    await embedder.close()
    for call in (asked, embedder.embed_documents(["x"]), embedder.prepare()):
        with pytest.raises(EmbeddingFailed, match="closed"):
            await call


async def test_no_vector_of_another_model_comes_through_a_change() -> None:
    raw = Scripted()
    embedder = await guarded(raw)

    def changes(texts: Sequence[str]) -> Any:
        raw.model = "other"
        return [GOOD for _ in texts]

    for call in (embedder.embed_query, lambda text: embedder.embed_documents([text])):
        raw.fault = changes
        with pytest.raises(EmbeddingFailed, match="model_changed: other"):
            await call("x")
        raw.model, raw.fault = "m", None
    raw.model = "other"
    assert (await embedder.prepare()).model == "provider:scripted/other"
    assert (await embedder.embed_query("x")).shape == (DIM,)


HOUR = 3600.0


@pytest.mark.parametrize(
    ("fault", "reason", "soon"),
    [
        (RuntimeError("Error code: 429 - {'code': 'insufficient_quota'}"), "quota: HTTP 429", 0),
        (RuntimeError("Error code: 429 - too many requests"), "busy: HTTP 429", 3),
        (RuntimeError("Error code: 401 - invalid key sk-123"), "denied: HTTP 401", 0),
        (RuntimeError("everything is broken"), "error: RuntimeError", 3),
        (lambda _: asyncio.sleep(HOUR), "timeout: ", 3),
    ],
    ids=["quota", "busy", "key", "broken", "hangs"],
)
def test_an_outage_is_asked_a_few_times_an_hour_by_questions_and_by_writes_and_ends_by_itself(
    fault: Any, reason: str, soon: int
) -> None:
    """``soon``: how often it may be asked in the five minutes behind the first calls."""
    loop = TurnedLoop()

    async def played() -> None:
        raw = Scripted()
        embedder = provider_embedder(raw, EngineSettings(pace=Pace()))
        await embedder.prepare()
        raw.fault = fault
        waited = 0.0
        asked: list[int] = []
        for _ in range(120):  # a question and a write at once, each half a minute
            raw.calls.clear()
            began = loop.time()
            calls = embedder.embed_query("x"), embedder.embed_documents(["x"])
            for error in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(error, EmbeddingFailed) and str(error).startswith(reason)
            waited += loop.time() - began
            asked.append(len(raw.calls))
            await asyncio.sleep(HOUR / 120)
        assert max(asked[1:]) == 1, "by one call at a time"
        assert sum(asked[1:10]) <= soon
        assert sum(asked[10:]) <= 5
        assert waited < 200.0
        raw.fault = None
        await asyncio.sleep(HOUR / 4)
        assert (await embedder.embed_query("x")).shape == (DIM,)
        assert len(await embedder.embed_documents(TEXTS)) == 3

    loop.run_until_complete(played())
    loop.close()


async def test_one_failure_alone_is_no_outage() -> None:
    raw = Scripted()
    embedder = await guarded(raw)
    raw.answers["x"] = RuntimeError("a hiccup")
    for _ in range(5):
        with pytest.raises(EmbeddingFailed, match="error"):
            await embedder.embed_query("x")
        assert (await embedder.embed_query("y")).shape == (DIM,)
    assert CONTROL not in {text for call in raw.calls for text in call}
