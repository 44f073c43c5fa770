"""Recall, asked as the service asks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    MemoryDraft,
    Recall,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import DropReason
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.recall.request import RecallRequest
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.engine

FAMILY, COMPANY, ANYWHERE = group(777), group(888), group(999)
FAMILY_FILTER = ScopeFilter.reading_as(Scope.parse("家人"))
PUBLIC_FILTER = ScopeFilter.reading_as(PUBLIC)
TEA = "马建国爱喝龙井"


async def tell(rig: Rig, where: ConversationId, *texts: str) -> None:
    for text in texts:
        draft = MemoryDraft(text, actor=person(10001))
        outcome = await rig.engine.service.remember(draft, conversation_id=where)
        assert isinstance(outcome, Stored), outcome


async def direct(rig: Rig, query: str, scope_filter: ScopeFilter = FAMILY_FILTER) -> Recall:
    return await rig.engine.rooms.manager.comprehensive_recall(
        RecallRequest(query, scope_filter, limit=5, token_budget=900)
    )


def said(recall: Recall) -> list[str]:
    return [hit.preview for hit in recall.hits]


NOISE = tuple(
    f"{name}爱喝{drink}"
    for name, drink in zip("赵钱孙李吴郑王冯陈褚", "水汤奶酒醋浆汁露酪酱", strict=True)
)
"""What others drink shares as many words with the question, and is newer."""


@pytest.mark.parametrize("words", [None, NoWords()], ids=["words", "no words"])
async def test_a_recall_sees_what_its_filter_admits_and_nothing_else(
    tmp_path: Path, words: Any
) -> None:
    async with running(tmp_path, words=words) as rig:
        await tell(rig, FAMILY, "奶奶对花生过敏")
        await tell(rig, COMPANY, "客户对花生过敏")
        await tell(rig, ANYWHERE, "食堂的花生酱卖完了")
        await rig.until_indexed()
        family, everybody = (
            await direct(rig, "花生"),
            await direct(rig, "花生", PUBLIC_FILTER),
        )
        assert set(said(family)) == {"奶奶对花生过敏", "食堂的花生酱卖完了"}
        assert said(everybody) == ["食堂的花生酱卖完了"]
        assert family.trace.scopes == ("家人", "public")
        for recall in (family, everybody):
            assert {hit.scope_name for hit in recall.hits} <= set(recall.trace.scopes)


async def test_limit_and_budget_hold_and_the_trace_counts_what_had_no_room(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, *(f"花瓶{n}号放在窗台的第{n}格" for n in range(1, 8)))
        recall = await rig.engine.rooms.manager.comprehensive_recall(
            RecallRequest("花瓶在窗台哪里", FAMILY_FILTER, limit=3, token_budget=900)
        )
        assert len(recall.hits) == 3
        small = await rig.engine.rooms.manager.comprehensive_recall(
            RecallRequest("花瓶在窗台哪里", FAMILY_FILTER, 3, recall.hits[0].tokens)
        )
        assert len(small.hits) == 1
        assert small.tokens <= recall.hits[0].tokens
        assert recall.trace.dropped[DropReason.LIMIT] > 0
        assert small.trace.dropped[DropReason.BUDGET] > 0


async def test_a_question_that_nothing_answers_finds_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, TEA, *NOISE)
        for query in ("宇宙有多大", "", "   ", "\u200b"):
            assert said(await direct(rig, query)) == []


@pytest.mark.parametrize("query", [TEA * 500, "的" * 5000, "\ud800", "小明\0的老板", "?" * 900])
async def test_no_question_makes_it_raise(tmp_path: Path, query: str) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, TEA)
        assert isinstance(await direct(rig, query), Recall)
