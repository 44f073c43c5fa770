"""How recall decides: both arms, the law of their fusion, times, speakers, and every fallback."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true as until
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm, DropReason
from astrbot_plugin_scoped_memory.llm_memory.recall import find
from astrbot_plugin_scoped_memory.llm_memory.recall.embedder_trust import EmbedderTrust, probes
from astrbot_plugin_scoped_memory.llm_memory.service.turns import TurnRequest
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import fence, fence_tokens
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import Language
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    running,
    running_on_vectors,
)

pytestmark = pytest.mark.engine

HERE = group(777)
TEXTS = Texts.of("zh")
# A memory and two questions: with words of it, and without any.
FACTS = [
    ("小明对猫毛过敏", "谁对猫毛过敏", "哪位不能养宠物"),
    ("奶奶每天早晨打太极拳", "奶奶打什么拳", "老人家怎么锻炼身体"),
    ("阿强在杭州开了一家面馆", "阿强在哪里开面馆", "他做什么生意谋生"),
    ("女儿的钢琴考级通过了八级", "女儿钢琴考到几级", "孩子学乐器的成绩"),
    ("房东答应下个季度修阳台的窗户", "房东答应修什么", "屋子漏风谁来处理"),
    ("老王把备用钥匙放在鞋柜第二层", "老王的备用钥匙放在哪", "锁在外面该找什么"),
    ("表弟报名了横渡长江的游泳比赛", "表弟报名了什么比赛", "亲戚里谁爱下水"),
    ("林工负责机房的空调维护", "谁负责机房空调", "设备过热联系谁"),
    ("陈阿姨做的红烧带鱼最受欢迎", "陈阿姨做什么鱼", "聚餐哪道菜抢手"),
    ("班长借走了望远镜还没还", "谁借走了望远镜", "观鸟的器材去哪了"),
]


class Concepts(FakeEmbedder):
    """Knows which question belongs to which memory, here and in the examination; the rest is a
    blur. ``share`` of what it is asked for it does not know."""

    def __init__(self, share: float = 0.0) -> None:
        super().__init__("concepts", dim=512)
        groups = [*FACTS, *(pair for pairs in probes().values() for pair in pairs)]
        self._place = {text: n for n, texts in enumerate(groups) for text in texts}
        self._unknown = share

    def one(self, text: str) -> Vector:
        vector = np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dim) / 60
        known = next((n for t, n in self._place.items() if t in text), None)
        if known is not None and zlib.crc32(text.encode()) % 100 >= 100 * self._unknown:
            vector[known] += 1.0
        return (vector / np.linalg.norm(vector)).astype(np.float32)


async def right(rig: Rig, only: Collection[Arm] | None) -> int:
    """How many questions find their memory among the first five."""
    count = 0
    for fact, *questions in FACTS:
        for question in questions:
            recall = await recall_by(rig.engine, only, question, HERE)
            count += fact in [hit.preview for hit in recall.hits]
    return count


@pytest.mark.parametrize(
    ("embedder", "trusted"),
    [
        (Concepts(share=1.0), False),
        (FakeEmbedder("hashing"), False),
        (Concepts(), True),
        (Concepts(share=0.08), True),
    ],
)
async def test_both_arms_together_are_never_worse_than_the_better_one(
    tmp_path: Path, embedder: FakeEmbedder, trusted: bool
) -> None:
    settings = replace(QUICK, relevance_floor=0.0)
    trust = EmbedderTrust(tmp_path / "trust.json", QUICK.pace)
    async with running(tmp_path, embedder=embedder, settings=settings, trust=trust) as rig:
        for fact, *_ in FACTS:
            await rig.remember(fact, HERE)
        for number in range(40):
            await rig.remember(f"柜子{number}号抽屉里放着旧报纸和第{number}封信", HERE)
        await rig.until_indexed()
        await rig.until_words()
        await until(lambda: trust.cohorts)
        weight = trust.weight(Language.CHINESE)
        assert (weight > 0) is trusted
        assert 0 <= weight <= 1
        words = await right(rig, {Arm.LEXICAL})
        vectors = await right(rig, {Arm.DENSE})
        both = await right(rig, None)
        assert both >= max(words, vectors) - 1
        if not trusted:
            assert both == words


class Unexamined(EmbedderTrust):
    async def run(self, *_: object) -> None:
        await asyncio.Event().wait()


async def test_until_it_is_trusted_words_decide_alone_and_it_is_not_asked(tmp_path: Path) -> None:
    for trust in (Unexamined(tmp_path / "trust.json", QUICK.pace), FixedTrust(0.0)):
        embedder = FakeEmbedder(type(trust).__name__)
        async with running(tmp_path / embedder.label, embedder=embedder, trust=trust) as rig:
            await rig.remember("小明对猫毛过敏", HERE)
            await rig.until_indexed()
            await rig.until_words()
            calls = embedder.calls
            recall = await rig.recall("谁对猫毛过敏", HERE)
            assert recall.trace.arm is Arm.LEXICAL
            assert [hit.preview for hit in recall.hits] == ["小明对猫毛过敏"]
            assert embedder.calls == calls


async def test_what_waits_in_another_scope_takes_no_place_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "SHORTLIST", 10)
    embedder = FakeEmbedder()
    async with running_on_vectors(tmp_path, embedder=embedder, trust=FixedTrust(0.5)) as rig:
        await rig.until_indexed()
        embedder.failing_documents = True
        await rig.remember("备用钥匙在鞋柜", HERE)
        for number in range(15):
            await rig.remember(f"备用钥匙在抽屉里第{number}格", group(888))
        recall = await rig.recall("备用钥匙在抽屉里吗", HERE)
        assert recall.trace.arm is Arm.DENSE
        assert [hit.preview for hit in recall.hits] == ["备用钥匙在鞋柜"]
        assert not rig.engine.parts.finder.scope_check_drops


async def test_the_budget_counts_what_is_told_and_skips_what_does_not_fit(tmp_path: Path) -> None:
    budget = fence_tokens(TEXTS) + 60
    async with running(tmp_path) as rig:
        await rig.remember("小明对猫毛过敏" + "，一碰猫毛就打喷嚏" * 20, HERE)
        await rig.remember("小明对花粉也过敏", HERE)
        asked = TurnRequest("小明对什么过敏", 60, 3, budget)
        start = await rig.engine.service.begin_turn(asked, conversation_id=HERE, actor=person(1))
        recall = start.recall
        assert [hit.preview for hit in recall.hits] == ["小明对花粉也过敏"]
        assert start.text == fence(recall.hits, TEXTS, recall.left_out)
        assert estimate_tokens(start.text) <= budget
        assert recall.trace.dropped[DropReason.BUDGET] == 1


async def test_a_search_finds_what_a_memory_says_word_for_word(tmp_path: Path) -> None:
    target, many = "备用钥匙在门口第三个花盆底下", 500
    async with running(tmp_path) as rig:
        for text in (target, *(f"备用钥匙的第{n}把放在{n}号柜子" for n in range(many - 1))):
            await rig.remember(text, HERE)
        await rig.until_words()
        for query in ("盆", "花盆", "花盆 底下 门口", target, "第三个花盆底下"):
            assert target in [hit.preview for hit in (await rig.recall(query, HERE, 5)).hits], query
        common = await rig.recall("备用钥匙", HERE, 5)
        assert len(common.hits) == 5
        assert common.trace.holding == many


async def test_unasked_nothing_relevant_means_nothing_and_a_search_marks_it(tmp_path: Path) -> None:
    async with running(tmp_path, trust=FixedTrust(0.0)) as rig:
        for fact, *_ in FACTS:
            await rig.remember(fact, HERE)
        await rig.remember("奶奶对花生过敏", HERE)
        await rig.until_words()
        for query in ("量子力学的基本原理是什么", "how do I sort a list", "花生真香", "今天吃花生"):
            assert (await rig.recall(query, HERE, 5, in_talk=True)).hits == (), query
            assert all(hit.weak for hit in (await rig.recall(query, HERE)).hits), query
        for asked in ("奶奶能吃花生吗", "谁对花生过敏？"):
            found = (await rig.recall(asked, HERE, 1, in_talk=True)).hits
            assert [hit.preview for hit in found] == ["奶奶对花生过敏"], asked
