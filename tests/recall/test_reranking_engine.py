"""A reranker orders what is relevant and visible; whatever it does, there is an answer in time."""

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
from astrbot_plugin_scoped_memory.llm_memory.recall.reranking import TOP
from astrbot_plugin_scoped_memory.tests.fakes.reranker import FakeReranker
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    running,
)

pytestmark = pytest.mark.engine

HERE = group(777)
QUERY = "小明对什么过敏"
PATIENT = replace(QUICK, rerank_seconds=60.0, rerank_within_seconds=60.0)
ALLERGIES = ["小明对猫毛过敏", "小明对花粉也过敏，春天少出门", "小明的弟弟对海鲜过敏"]


def longest_first(text: str) -> float:
    return len(text) / 100


@contextlib.asynccontextmanager
async def asking(
    root: Path, reranker: FakeReranker | None, settings: EngineSettings = PATIENT
) -> AsyncIterator[Rig]:
    """An engine that finds by words alone, and can."""
    trust = FixedTrust(0.0)
    async with running(
        root, settings=settings, reranker=reranker, trust=trust, follow=False
    ) as rig:
        await rig.until_words()
        yield rig


async def remember_all(rig: Rig, texts: Sequence[str]) -> None:
    for text in texts:
        await rig.remember(text, HERE)


async def order_without(root: Path, texts: Sequence[str]) -> list[str]:
    """What the same memories are recalled as where nobody is asked."""
    async with asking(root, None) as rig:
        await remember_all(rig, texts)
        return await rig.texts(QUERY, HERE)


async def test_what_is_relevant_comes_in_the_order_of_the_reranker(tmp_path: Path) -> None:
    for n, (score, reverse) in enumerate(
        ((longest_first, True), (lambda text: -len(text) / 100, False))
    ):
        reranker = FakeReranker(score)
        async with asking(tmp_path / str(n), reranker) as rig:
            await remember_all(rig, ALLERGIES)
            recall = await rig.recall(QUERY, HERE)
            assert [hit.preview for hit in recall.hits] == sorted(
                ALLERGIES, key=len, reverse=reverse
            )
            assert recall.trace.reranker == "fake"
            assert recall.trace.notes == []
            assert [c.reranked for c in recall.trace.considered if c.dropped is None] == [
                score(f"小明：{hit.preview}") for hit in recall.hits
            ]
        assert [query for query, _ in reranker.calls] == [QUERY]


async def test_what_is_below_the_floor_is_neither_shown_to_it_nor_let_in(tmp_path: Path) -> None:
    reranker = FakeReranker(lambda text: 1.0 if "红烧" in text else 0.1)
    async with asking(tmp_path, reranker) as rig:
        await remember_all(rig, ALLERGIES)
        await rig.remember("红烧带鱼过敏的人也能吃", HERE, person(2, "阿红"))
        for query, shown in ((QUERY, True), ("过敏了", False)):
            reranker.calls.clear()
            recall = await rig.engine.service.recall(
                query, conversation_id=HERE, limit=5, token_budget=999, in_talk=True
            )
            assert bool(recall.hits) is shown
            assert shown or recall.trace.dropped.get(DropReason.FLOOR, 0) > 0
            told = {text.partition("：")[2] for text in reranker.shown}
            assert told == {hit.preview for hit in recall.hits}


async def test_it_is_shown_the_first_few_and_the_others_follow_behind_them(tmp_path: Path) -> None:
    texts = [f"小明对{n}号植物过敏" for n in range(TOP + 5)]
    settings = replace(PATIENT, relevance_floor=0.0)
    reranker = FakeReranker(lambda text: int(text.partition("对")[2].partition("号")[0]) / 100)
    async with asking(tmp_path, reranker, settings) as rig:
        await remember_all(rig, texts)
        found = await rig.texts(QUERY, HERE, limit=TOP + 5)
    assert sorted(found) == sorted(texts)
    assert len(reranker.shown) == TOP
    first = [text.partition("：")[2] for text in reranker.shown]
    assert sorted(found[:TOP]) == sorted(first)
    assert found[:TOP] == sorted(first, key=texts.index, reverse=True)


def raising(error: Exception) -> Callable[[Sequence[str]], Any]:
    def answer(_: Sequence[str]) -> Any:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda texts: [0.5] * (len(texts) + 1), "bad_scores"),
        (lambda texts: [math.inf, *range(1, len(texts))], "bad_scores"),
        (lambda texts: ["x"] * len(texts), "error: ValueError"),
        (lambda texts: [10**400] * len(texts), "error: OverflowError"),
        (lambda texts: None, "error: TypeError"),
        (raising(ConnectionError("the key sk-1 is wrong")), "error: ConnectionError"),
        (raising(RerankFailed("gone")), "gone"),
    ],
)
async def test_after_a_bad_answer_the_order_stays_and_the_trace_says_why(
    tmp_path: Path, answer: Callable[[Sequence[str]], Any], code: str
) -> None:
    expected = await order_without(tmp_path / "without", ALLERGIES)
    reranker = FakeReranker(answer=answer)
    async with asking(tmp_path, reranker) as rig:
        await remember_all(rig, ALLERGIES)
        recall = await rig.recall(QUERY, HERE)
    assert [hit.preview for hit in recall.hits] == expected
    assert len(expected) > 1
    assert recall.trace.reranker == ""
    (note,) = recall.trace.notes
    assert note.startswith(f"rerank fake: {code}")
    assert "sk-1" not in note


async def test_what_is_forgotten_while_it_thinks_is_not_shown(tmp_path: Path) -> None:
    reranker = FakeReranker(longest_first)
    reranker.release.clear()
    async with asking(tmp_path, reranker) as rig:
        stored = [await rig.remember(text, HERE) for text in ALLERGIES]
        async with asyncio.timeout(30):
            task = asyncio.create_task(rig.recall(QUERY, HERE))
            await reranker.asked.wait()
            await rig.engine.service.forget(
                stored[1].memory.memory.memory_id,
                conversation_id=HERE,
                actor=person(1, admin=True),
            )
            reranker.release.set()
            recall = await task
    assert {hit.preview for hit in recall.hits} == {ALLERGIES[0], ALLERGIES[2]}
    assert recall.trace.dropped[DropReason.GONE] == 1
