"""A reranker that keeps failing is left alone for a while, and asked again after it."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import RerankFailed
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.recall.reranking import RESTS, Reranking
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.choosing import Candidate
from astrbot_plugin_scoped_memory.tests.fakes.reranker import FakeReranker
from astrbot_plugin_scoped_memory.tests.support.memories import stored

pytestmark = pytest.mark.unit

BEST = [Candidate(stored(f"第{n}件事", n), 1.0) for n in range(3)]
SETTINGS = EngineSettings(rerank_seconds=60.0, rerank_within_seconds=60.0)


class Bench:
    """One that fails while it is told to, beside a clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.error: Exception | None = None
        self.fake = FakeReranker(answer=self._answer)
        self.reranking = Reranking(self.fake, SETTINGS, lambda: self.now)

    def _answer(self, texts: object) -> list[float]:
        if self.error is not None:
            raise self.error
        return [0.1, 0.2, 0.3]

    async def ask(self, *, late: bool = False) -> tuple[str, list[str]]:
        """Whose order a recall gets that asks it, with or without time left, and its notes."""
        notes: list[str] = []
        best, reranker = await self.reranking.order("第几件事", BEST, 60.0 * late, notes)
        assert (list(best) == BEST) is not bool(reranker)
        return reranker, notes

    async def fail(self, times: int) -> None:
        self.error = RerankFailed("timeout: 1 s")
        for _ in range(times):
            assert "timeout" in (await self.ask())[1][0]
        self.error = None


async def test_who_keeps_failing_is_left_alone_and_the_trace_says_so() -> None:
    bench = Bench()
    await bench.fail(3)
    asked = len(bench.fake.calls)
    assert await bench.ask() == ("", ["rerank fake: resting: 30 s"])
    assert len(bench.fake.calls) == asked


async def test_after_its_rest_it_is_asked_again_and_a_good_answer_forgives_all() -> None:
    bench = Bench()
    await bench.fail(3)
    bench.now += RESTS[2]
    assert (await bench.ask())[0] == "fake"
    await bench.fail(2)
    assert (await bench.ask())[0] == "fake"


async def test_the_more_it_fails_the_longer_it_rests() -> None:
    bench = Bench()
    await bench.fail(2)
    for rest in (*RESTS[2:], RESTS[-1]):
        await bench.fail(1)
        bench.now += rest - 1
        assert "resting" in (await bench.ask())[1][0]
        bench.now += 1
    assert (await bench.ask())[0] == "fake"
    assert list(RESTS) == sorted(RESTS)


@pytest.mark.parametrize("late", [False, True])
async def test_who_is_not_loaded_or_has_no_time_left_is_asked_at_once_when_it_can(
    late: bool,
) -> None:
    bench = Bench()
    bench.error = RerankFailed("gone")
    for _ in range(9):
        _, (note,) = await bench.ask(late=late)
        assert note == f"rerank fake: {'no_time' if late else 'gone'}"
    bench.error = None
    assert (await bench.ask())[0] == "fake"
