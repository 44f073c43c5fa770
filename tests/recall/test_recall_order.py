"""What comes first, seen from outside: each part of the order decides at least once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor, IndexState, Recall
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    running,
)

pytestmark = pytest.mark.engine

HERE = group(777)
XIAOMING, XIAOHONG = person(1, "小明"), person(2, "小红")
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@contextlib.asynccontextmanager
async def reading(root: Path, **options: Any) -> AsyncIterator[Rig]:
    """An engine whose index of words answers."""
    async with running(root, **options) as rig:
        async with asyncio.timeout(30):
            while (await rig.engine.status()).words is not IndexState.READY:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        yield rig


async def asked(rig: Rig, query: str, who: Actor | None = None, limit: int = 5) -> Recall:
    return await rig.recall(query, HERE, limit, actor=who)


def said(recall: Recall) -> list[str]:
    return [hit.preview for hit in recall.hits]


async def test_what_was_said_on_the_day_or_in_the_month_named_comes_first(tmp_path: Path) -> None:
    clock = Ticker(NOON)
    async with reading(tmp_path, clock=clock, trust=FixedTrust(0.0)) as rig:
        for days_ago, fish in ((80, "带鱼"), (40, "鲫鱼"), (1, "鲈鱼"), (0, "草鱼")):
            clock.now = NOON - timedelta(days=days_ago)
            await rig.remember(f"奶奶在菜市场买了{fish}回来做饭", HERE, XIAOMING)
        clock.now = NOON + timedelta(hours=1)
        for question, fish in (
            ("奶奶在菜市场买了什么", "草鱼"),  # without a time: the newest
            ("昨天奶奶在菜市场买了什么", "鲈鱼"),
            ("10月12号奶奶在菜市场买了什么", "鲫鱼"),
            ("9月份奶奶在菜市场买了什么", "带鱼"),
            ("what did 奶奶在菜市场 buy on September 2nd", "带鱼"),
        ):
            assert fish in said(await asked(rig, question))[0], question


async def test_of_what_says_as_much_the_words_of_the_one_named_come_first(tmp_path: Path) -> None:
    async with reading(tmp_path, trust=FixedTrust(0.0)) as rig:
        await rig.remember("大理的客栈推窗就是洱海", HERE, XIAOMING)
        await rig.remember("大理的客栈晚上有点吵闹", HERE, XIAOHONG)
        for name in ("小明", "小红"):
            recall = await asked(rig, f"{name}爱大理的客栈吗")
            assert next(hit.who for hit in recall.hits) == name


async def test_a_linked_person_is_the_same_i_on_every_platform(tmp_path: Path) -> None:
    links = {"aiocqhttp:1": "小明", "telegram:5": "小明"}
    settings = replace(QUICK, identity_links=links)
    async with reading(tmp_path, settings=settings, trust=FixedTrust(0.0)) as rig:
        await rig.remember("我最喜欢喝冰美式咖啡", HERE, XIAOMING)
        await rig.remember("我最喜欢喝热拿铁咖啡", HERE, XIAOHONG)
        for who, first in (
            (Actor("telegram:5", "Ming"), "小明"),
            (Actor("telegram:6", "Hong"), "小红"),  # linked to nobody: the newest
        ):
            recall = await asked(rig, "我喜欢喝什么咖啡", who)
            assert next(hit.who for hit in recall.hits) == first


async def test_without_any_index_time_and_asker_still_decide(tmp_path: Path) -> None:
    clock = Ticker(NOON)
    async with running(tmp_path, clock=clock, words=NoWords(), follow=False) as rig:
        for days_ago, who, drink in ((40, XIAOMING, "冰美式"), (1, XIAOHONG, "热拿铁")):
            clock.now = NOON - timedelta(days=days_ago)
            await rig.remember(f"我最喜欢喝{drink}咖啡", HERE, who)
        clock.now = NOON
        for query, who, drink in (
            ("我最喜欢喝什么咖啡", XIAOMING, "冰美式"),
            ("我最喜欢喝什么咖啡", XIAOHONG, "热拿铁"),
            ("10月12号最喜欢喝什么咖啡", XIAOHONG, "冰美式"),
            ("昨天最喜欢喝什么咖啡", XIAOMING, "热拿铁"),
        ):
            recall = await asked(rig, query, who)
            assert recall.trace.arm is Arm.SCAN
            assert drink in said(recall)[0], query


async def test_an_embedder_that_is_not_trusted_is_not_asked(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    async with reading(tmp_path, embedder=embedder, trust=FixedTrust(0.0)) as rig:
        await rig.remember("小明对猫毛过敏", HERE)
        await rig.until_indexed()
        calls = embedder.calls
        recall = await asked(rig, "谁对猫毛过敏")
        assert said(recall) == ["小明对猫毛过敏"]
        assert recall.trace.arm is Arm.LEXICAL
        assert all(one.similarity is None for one in recall.trace.considered)
        assert embedder.calls == calls
