"""Recall, asked as the service asks it: ``comprehensive_recall`` and ``chained_recall``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.replies.explanation import record_json, why_text
from astrbot_plugin_scoped_memory.core.texts import Texts
from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    Forgotten,
    MemoryDraft,
    MemoryKind,
    Recall,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm, DropReason
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.recall.memory_manager import MemoryManager
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.chaining import next_questions
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    FakePlugin,
    holding,
    tool_context,
)
from astrbot_plugin_scoped_memory.tools.core_memory_recall import RecallTool

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FAMILY, COMPANY, ANYWHERE = group(777), group(888), group(999)
FAMILY_FILTER = ScopeFilter.reading_as(Scope.parse("家人"))
PUBLIC_FILTER = ScopeFilter.reading_as(PUBLIC)
BOSS, TEA = "小明的老板是马建国", "马建国爱喝龙井"
QUESTION = "小明的老板爱喝什么"


async def tell(
    rig: Rig, where: ConversationId, *texts: str, kind: MemoryKind = MemoryKind.KNOWLEDGE
) -> None:
    for text in texts:
        draft = MemoryDraft(text, kind=kind, actor=person(10001))
        outcome = await rig.engine.service.remember(draft, conversation_id=where)
        assert isinstance(outcome, Stored), outcome


async def chained(
    rig: Rig,
    scope_filter: ScopeFilter = FAMILY_FILTER,
    query: str = QUESTION,
    *,
    limit: int = 5,
    token_budget: int = 900,
    **more: Any,
) -> Recall:
    return await rig.engine.rooms.manager.chained_recall(
        query, scope_filter, limit=limit, token_budget=token_budget, **more
    )


async def direct(
    rig: Rig, scope_filter: ScopeFilter = FAMILY_FILTER, query: str = QUESTION
) -> Recall:
    return await rig.engine.rooms.manager.comprehensive_recall(
        query, scope_filter, limit=5, token_budget=900
    )


def said(recall: Recall) -> list[str]:
    return [hit.preview for hit in recall.hits]


NOISE = tuple(
    f"{name}爱喝{drink}"
    for name, drink in zip("赵钱孙李吴郑王冯陈褚", "水汤奶酒醋浆汁露酪酱", strict=True)
)
"""What others drink shares as many words with the question, and is newer."""


# comprehensive_recall


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
            await direct(rig, query="花生"),
            await direct(rig, PUBLIC_FILTER, "花生"),
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
            "花瓶在窗台哪里", FAMILY_FILTER, limit=3, token_budget=900
        )
        assert len(recall.hits) == 3
        small = await rig.engine.rooms.manager.comprehensive_recall(
            "花瓶在窗台哪里", FAMILY_FILTER, limit=3, token_budget=recall.hits[0].tokens
        )
        assert len(small.hits) == 1
        assert small.tokens <= recall.hits[0].tokens
        assert recall.trace.dropped[DropReason.LIMIT] > 0
        assert small.trace.dropped[DropReason.BUDGET] > 0


async def test_a_question_that_nothing_answers_finds_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA, *NOISE)
        for query in ("宇宙有多大", "", "   ", "\u200b"):
            assert said(await direct(rig, query=query)) == []
            assert said(await chained(rig, query=query)) == []


async def test_what_was_forgotten_is_recalled_no_more(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        stored = await rig.remember("奶奶对花生过敏", FAMILY)
        memory_id = stored.memory.memory.memory_id
        admin = person(1, admin=True)
        gone = await rig.engine.service.forget(memory_id, conversation_id=FAMILY, actor=admin)
        assert isinstance(gone, Forgotten)
        assert said(await direct(rig, query="奶奶花生过敏")) == []


# chained_recall


async def test_the_second_hop_finds_what_the_first_cannot_tell(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA, *NOISE)
        recall = await chained(rig, limit=3)
        assert said(recall)[:2] == [BOSS, TEA]
        assert len(recall.trace.through) == 1
        assert TEA not in said(await direct(rig))[:3]


@pytest.mark.parametrize(
    ("entity", "answer", "query"),
    [
        ("小明住在苏州", "苏州的哑巴生煎值得排队", "小明住的城市有什么值得排队"),
        ("服务器由老陈负责", "老陈周末都去钓鱼", "负责服务器的人周末去哪"),
        (
            "Alice's manager is Bob Chen",
            "Bob Chen drinks oolong",
            "what does Alice's manager drink",
        ),
    ],
)
async def test_places_duties_and_english_lead_on_too(
    tmp_path: Path, entity: str, answer: str, query: str
) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, entity, answer)
        recall = await chained(rig, query=query)
        assert said(recall)[:2] == [entity, answer]


async def test_no_hop_leads_out_of_the_filter(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, TEA)
        await tell(rig, COMPANY, BOSS)  # who the boss is, only the company knows
        assert BOSS not in said(await chained(rig))
        await tell(rig, FAMILY, BOSS)
        await tell(rig, COMPANY, "马建国爱喝咖啡")
        for scope_filter, seen in ((FAMILY_FILTER, {BOSS, TEA}), (PUBLIC_FILTER, set())):
            recall = await chained(rig, scope_filter)
            assert set(said(recall)) == seen
            assert all(scope_filter.admits(one.scope_name) for one in recall.trace.considered)


async def test_a_question_that_leads_nowhere_is_answered_as_before(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA, *NOISE)
        for query in ("小明的老板是谁", "马建国爱喝什么", "奶奶能吃什么", "赵爱喝什么"):
            plain, through = await direct(rig, query=query), await chained(rig, query=query)
            assert said(through) == said(plain), query
            assert through.trace.through == ()


async def test_both_hops_share_one_limit_and_one_budget(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA, "马建国爱喝红茶", "马建国爱喝白茶", *NOISE)
        whole = await chained(rig, limit=20)
        for limit in (1, 2, 3, 4):
            assert len((await chained(rig, limit=limit)).hits) <= limit
        for budget in range(0, whole.tokens, 7):
            recall = await chained(rig, token_budget=budget)
            assert sum(hit.tokens for hit in recall.hits) <= budget
            assert recall.trace.tokens == recall.tokens
        counted = await chained(rig, line=lambda hit: hit.preview * 9, token_budget=100)
        assert counted.tokens <= 100


async def test_what_is_of_one_kind_stands_together(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS)
        await tell(rig, FAMILY, "马建国爱喝龙井", "马建国爱喝普洱", kind=MemoryKind.EMOTIONAL)
        await tell(rig, FAMILY, "给马建国买他爱喝的茶", "请马建国喝酒", kind=MemoryKind.TASK)
        recall = await chained(rig, limit=9)
        kinds = []
        for hit in recall.hits[1:]:
            stored = rig.engine.rooms.catalogue.find(hit.memory_id, FAMILY_FILTER)
            assert stored is not None
            kinds.append(stored.memory.kind)
        assert said(recall)[0] == BOSS
        assert len(kinds) >= 3
        assert kinds == sorted(kinds, key=kinds.index)  # each kind in one run


async def test_without_an_index_of_words_the_entities_are_looked_through(tmp_path: Path) -> None:
    async with running(tmp_path, words=NoWords(), follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA)
        recall = await chained(rig)
        assert said(recall)[:2] == [BOSS, TEA]
        assert recall.trace.arm is Arm.SCAN


async def test_a_second_hop_that_takes_too_long_leaves_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = MemoryManager.comprehensive_recall

    async def slow(self: MemoryManager, query: str, *arguments: Any, **options: Any) -> Recall:
        if query != QUESTION:
            await asyncio.Event().wait()
        return await ask(self, query, *arguments, **options)

    monkeypatch.setattr(MemoryManager, "comprehensive_recall", slow)
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA, *NOISE)
        plain = await direct(rig)
        recall = await chained(rig, seconds=0.05)
        assert said(recall) == said(plain)
        assert "second hop: timeout" in recall.trace.notes


async def test_what_is_forgotten_between_the_hops_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, admin = MemoryManager.comprehensive_recall, person(1, admin=True)

    async def forgetting(*arguments: Any, **options: Any) -> Recall:
        recall = await ask(*arguments, **options)
        memory_id = stored.memory.memory.memory_id
        await rig.engine.service.forget(memory_id, conversation_id=FAMILY, actor=admin)
        return recall

    monkeypatch.setattr(MemoryManager, "comprehensive_recall", forgetting)
    async with running(tmp_path, follow=False) as rig:
        stored = await rig.remember(TEA, FAMILY)
        await tell(rig, FAMILY, BOSS, "马建国爱喝红茶")
        assert TEA not in said(await chained(rig))


@pytest.mark.parametrize("query", [BOSS * 500, "的" * 5000, "\ud800", "小明\0的老板", "?" * 900])
async def test_no_question_makes_it_raise(tmp_path: Path, query: str) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA)
        assert isinstance(await chained(rig, query=query), Recall)


async def test_the_models_tool_asks_on_when_it_is_told_to(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA, *NOISE)
        plugin = FakePlugin(rig)
        tool = RecallTool(source=holding(plugin))
        for related, found in ((True, True), ("true", True), (False, False)):
            answer = await tool.call(
                tool_context(FakeEvent.in_group(777)), query=QUESTION, limit=3, related=related
            )
            assert (BOSS in str(answer) and TEA in str(answer)) is found
        wrong = await tool.call(
            tool_context(FakeEvent.in_group(777)), query=QUESTION, related="maybe"
        )
        assert str(wrong).startswith("error")


async def test_both_hops_can_be_explained_and_hold_no_words_of_memories(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await tell(rig, FAMILY, BOSS, TEA)
        service = rig.engine.service
        recall = await service.recall(
            QUESTION, conversation_id=FAMILY, limit=5, token_budget=900, chained=True
        )
        (explained, *_) = await service.explain(conversation_id=FAMILY)
        for language, words in (("zh-CN", "接着查"), ("en-US", "went on")):
            shown = why_text(Texts(language), explained)
            assert words in shown
            assert recall.trace.through[0] in shown
        told = record_json(service.last_recalls()[0])
        assert told["through"] == list(recall.trace.through)
        assert "马建国" not in str(told)


def test_long_stories_and_questions_that_are_answered_lead_nowhere() -> None:
    assert next_questions("小明的老板是谁", [BOSS], 2) == []
    assert next_questions(QUESTION, ["小明的老板是" + "很长的故事" * 40], 2) == []
    assert next_questions("图书馆周一开门吗", ["图书馆周一闭馆"], 2) == []
    (only,) = next_questions(QUESTION, ["不相干的事", BOSS, BOSS], 2)
    assert (only.source, only.text) == (1, "马建国 爱喝什么")
