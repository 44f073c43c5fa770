"""A reranker orders what is relevant and visible; whatever it does, there is an answer in time; and
one that has failed is left alone for a while."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.errors import RerankFailed
from astrbot_plugin_scoped_memory.llm_memory.models.recall import DropReason
from astrbot_plugin_scoped_memory.llm_memory.recall.reranking import REST, TOP, Reranking, reordered
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.choosing import Candidate
from astrbot_plugin_scoped_memory.tests.fakes.reranker import FakeReranker
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.memories import stored

pytestmark = pytest.mark.engine

HERE = group(777)
QUERY = "小明对什么过敏"
PATIENT = replace(QUICK, rerank_seconds=60.0, rerank_within_seconds=60.0)
ALLERGIES = ["小明对猫毛过敏", "小明对花粉也过敏，春天少出门", "小明的弟弟对海鲜过敏"]
BEST = [Candidate(stored(f"第{n}件事", n), 1.0) for n in range(4)]


@contextlib.asynccontextmanager
async def asking(
    root: Path,
    reranker: FakeReranker,
    texts: Sequence[str] = ALLERGIES,
    settings: EngineSettings = PATIENT,
) -> AsyncIterator[Rig]:
    """An engine that finds by words alone, and can, and knows the texts."""
    parts = {"reranker": reranker, "trust": FixedTrust(0.0)}
    async with running(root, settings=settings, follow=False, **parts) as rig:
        await rig.until_words()
        for text in texts:
            await rig.remember(text, HERE)
        yield rig


@pytest.mark.parametrize("sign", [1, -1])
async def test_what_is_relevant_comes_in_the_order_of_the_reranker(
    tmp_path: Path, sign: int
) -> None:
    reranker = FakeReranker(lambda text: sign * len(text) / 100)
    async with asking(tmp_path, reranker) as rig:
        recall = await rig.recall(QUERY, HERE)
    found = [hit.preview for hit in recall.hits]
    assert found == sorted(ALLERGIES, key=len, reverse=sign > 0)
    assert recall.trace.notes == []
    assert [query for query, _ in reranker.calls] == [QUERY]


async def test_what_is_below_the_floor_is_neither_shown_to_it_nor_let_in(tmp_path: Path) -> None:
    reranker = FakeReranker(lambda text: 1.0 if "红烧" in text else 0.1)
    async with asking(tmp_path, reranker) as rig:
        await rig.remember("红烧带鱼过敏的人也能吃", HERE, person(2, "阿红"))
        for query, shown in ((QUERY, True), ("过敏了", False)):
            reranker.calls.clear()
            recall = await rig.recall(query, HERE, 5, in_talk=True, token_budget=999)
            assert bool(recall.hits) is shown
            assert shown or recall.trace.dropped.get(DropReason.FLOOR, 0) > 0
            told = {text.partition("：")[2] for text in reranker.shown}
            assert told == {hit.preview for hit in recall.hits}


async def test_it_is_shown_the_first_few_and_the_others_follow_behind_them(tmp_path: Path) -> None:
    texts = [f"小明对{n}号植物过敏" for n in range(TOP + 5)]
    settings = replace(PATIENT, relevance_floor=0.0)
    reranker = FakeReranker(lambda text: int(text.partition("对")[2].partition("号")[0]) / 100)
    async with asking(tmp_path, reranker, texts, settings) as rig:
        found = await rig.texts(QUERY, HERE, limit=TOP + 5)
    assert sorted(found) == sorted(texts)
    assert len(reranker.shown) == TOP
    first = [text.partition("：")[2] for text in reranker.shown]
    assert found[:TOP] == sorted(first, key=texts.index, reverse=True)


async def test_what_is_forgotten_while_it_thinks_is_not_shown(tmp_path: Path) -> None:
    reranker = FakeReranker(lambda text: len(text) / 100)
    reranker.release.clear()
    async with asking(tmp_path, reranker, ALLERGIES[1:]) as rig, asyncio.timeout(30):
        gone = await rig.remember(ALLERGIES[0], HERE)
        task = asyncio.create_task(rig.recall(QUERY, HERE))
        await reranker.asked.wait()
        await rig.forget(gone.memory.memory.memory_id, HERE, person(1, admin=True))
        reranker.release.set()
        recall = await task
    assert {hit.preview for hit in recall.hits} == {*ALLERGIES[1:]}
    assert recall.trace.dropped[DropReason.GONE] == 1


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ([0.2, 0.9, 0.2, 0.5], [1, 3, 0, 2]),
        ([0.5] * 4, [0, 1, 2, 3]),
        ([1e6, -1e6, 0.5, 3.0], [0, 3, 2, 1]),  # logits
        ([0.1, 0.2], [1, 0, 2, 3]),  # those without a score follow as they were
    ],
)
def test_the_better_comes_first_and_among_equals_the_order_stays(
    scores: list[float], order: list[int]
) -> None:
    assert reordered(BEST, scores) == [BEST[n] for n in order]


def test_time_and_asker_still_weigh() -> None:
    best = [BEST[0], replace(BEST[1], terms={"time": 0.4, "covered": 9.0})]
    for scores, first in (([0.8, 0.6], best[1]), ([0.8, 0.5], best[0])):
        assert reordered(best, scores)[0] is first


def raising(error: Exception) -> Callable[[Sequence[str]], Any]:
    def answer(_: Sequence[str]) -> Any:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda texts: [0.5] * (len(texts) + 1), "bad_scores"),
        (lambda texts: [math.inf, *range(1, len(texts))], "bad_scores"),
        (lambda texts: [10**400] * len(texts), "error: OverflowError"),
        (lambda texts: None, "error: TypeError"),
        (raising(ConnectionError("the key sk-1 is wrong")), "error: ConnectionError"),
        (raising(RerankFailed("gone")), "gone"),
    ],
)
async def test_after_a_bad_answer_the_order_stays_and_it_is_left_alone_for_a_while(
    answer: Callable[[Sequence[str]], Any], code: str
) -> None:
    clock = [1000.0]
    fake = FakeReranker(answer=answer)
    reranking = Reranking(fake, PATIENT, lambda: clock[0])

    async def asked(spent: float = 0.0) -> tuple[str, int]:
        """What the trace notes, and how often it was asked so far."""
        notes: list[str] = []
        assert await reranking.order(QUERY, BEST, spent, notes) == BEST
        return "".join(notes), len(fake.calls)

    assert await asked(spent=60.0) == ("rerank fake: not_asked", 0)  # no time is left
    note, calls = await asked()
    assert note.startswith(f"rerank fake: {code}")
    assert ("sk-1" in note, calls) == (False, 1)
    assert await asked() == ("rerank fake: not_asked", 1)
    clock[0] += REST
    fake.answer = lambda texts: [0.5] * len(texts)
    assert [await asked() for _ in range(2)] == [("", 2), ("", 3)]
