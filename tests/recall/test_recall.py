"""How recall decides: both arms, the law of their fusion, times, speakers, and every fallback; and
the last recalls, bounded and shown to those alone who may see what they show."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.core.replies.outcome_text import found_text
from astrbot_plugin_scoped_memory.harness.waiting import until_true as until
from astrbot_plugin_scoped_memory.llm_memory import MemoryKind
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
    Fingerprint,
    Vector,
)
from astrbot_plugin_scoped_memory.llm_memory.index.passages import Passages
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm, Trace
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings, Pace
from astrbot_plugin_scoped_memory.llm_memory.recall import find
from astrbot_plugin_scoped_memory.llm_memory.recall.afterwards import KEPT, SHOWN, Explanations
from astrbot_plugin_scoped_memory.llm_memory.recall.embedder_trust import (
    EXAMINATION,
    Cohort,
    EmbedderTrust,
    probes,
)
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import Language
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    running,
    running_on_vectors,
)

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

HERE = group(777)
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
        await until(lambda: bool(trust.cohorts))
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
        for sought, code in (("花生过敏", "head"), ("xylophone", "nothing"), ("花生油", "unsure")):
            recall = await rig.recall(sought, HERE)
            for texts in map(Texts, LANGUAGES):
                told = texts.say(f"search.{code}", count=len(recall.hits))
                assert found_text(texts, recall) == told, sought


MODEL = Fingerprint("model", 2, "r1")


class Examined(FakeEmbedder):
    """Counts its examinations; the first one fails."""

    examinations = -1

    async def embed_documents(self, texts: Any) -> Sequence[Vector | None]:
        self.examinations += 1
        if not self.examinations:
            raise EmbeddingFailed("gone: made to")
        return await super().embed_documents(texts)


class Models:
    """The space that vectors lie in, and another one from the time on at which ``now`` is set.
    ``known``: all of it is examined."""

    def __init__(self, model: Fingerprint) -> None:
        self.now = model
        self.known: Fingerprint | None = None

    async def prepared(self, known: Fingerprint | None) -> Fingerprint:
        self.known = known
        await until(lambda: self.now != known)
        return self.now


async def examined(path: Path, model: Fingerprint = MODEL) -> tuple[Mapping[Language, Cohort], int]:
    """What is known of an embedder then, and how often it was examined for that."""
    trust, embedder = EmbedderTrust(path, Pace(retry_seconds=(0.0,))), Examined()
    models = Models(model)
    running_on = asyncio.create_task(trust.run(embedder, models.prepared))
    await until(lambda: models.known is not None)
    running_on.cancel()
    await asyncio.wait({running_on})
    return trust.cohorts, embedder.examinations


async def test_another_model_is_examined_anew_and_nothing_of_the_other_one_is_used_meanwhile(
    tmp_path: Path,
) -> None:
    trust = EmbedderTrust(tmp_path / "trust.json", Pace(retry_seconds=(0.0,)))
    models, embedder = Models(Fingerprint("concepts", 512)), Concepts()
    running_on = asyncio.create_task(trust.run(embedder, models.prepared))
    await until(lambda: trust.weight(Language.CHINESE) > 0)
    vector = embedder.one("x").tolist()
    before = trust.common(Language.CHINESE)
    assert trust.chance(Language.CHINESE, vector)[1] > 0
    embedder.failing, models.now = True, Fingerprint("other", 512)
    await until(lambda: not trust.weight(Language.CHINESE))
    assert trust.common(Language.CHINESE) == ()
    assert trust.chance(Language.CHINESE, vector) == (0.0, 0.0)
    embedder.failing, embedder.one = False, FakeEmbedder("hashed", dim=512).one  # type: ignore[method-assign]
    await until(lambda: trust.model == "other")
    assert trust.common(Language.CHINESE) not in ((), before)
    assert trust.weight(Language.CHINESE) == 0
    running_on.cancel()


class Limited(FakeEmbedder):
    """A service that refuses every fourth call."""

    asked = 0

    def _check(self) -> None:
        self.asked += 1
        if self.asked % 4 == 0:
            raise EmbeddingFailed("busy: HTTP 429")


async def test_a_service_that_takes_few_calls_at_a_time_is_asked_no_question_twice(
    tmp_path: Path,
) -> None:
    trust = EmbedderTrust(tmp_path / "trust.json", Pace(retry_seconds=(0.0,)))
    models, embedder = Models(MODEL), Limited()
    running_on = asyncio.create_task(trust.run(embedder, models.prepared))
    await until(lambda: bool(trust.cohorts))
    running_on.cancel()
    assert embedder.calls == sum(2 * len(pairs) for pairs in probes().values())


async def test_the_file_tells_of_one_embedder_by_one_examination_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index" / "trust.json"
    found, times = await examined(path)
    assert (found.keys(), times) == ({*Language}, len(Language))
    assert await examined(path) == (found, -1)
    for other in (Fingerprint("other", 2), Fingerprint("model", 3), Fingerprint("model", 2, "r2")):
        assert (await examined(path, other))[1] > 0
    assert (await examined(path))[1] > 0  # one alone is kept
    kept = json.loads(path.read_bytes())
    odd = ({"examination": EXAMINATION + 1}, {"cohorts": {"zh": {"centre": "much"}}})
    texts = [json.dumps(kept | one).encode() for one in odd]
    for content in (*texts, b"", b"\xff\xfe{", b"null", b"[" * 100_000):
        path.write_bytes(content)
        assert (await examined(path))[1] > 0
    assert (await examined(path))[1] < 0
    path = path / "in" / "a" / "file.json"
    assert (await examined(path))[1] > 0  # where it cannot be kept nobody is disturbed


DAY = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
PEANUTS = "奶奶对花生过敏"


async def test_a_clock_that_was_a_year_ahead_for_a_night_costs_nothing(tmp_path: Path) -> None:
    clock = Ticker(DAY)
    async with running(tmp_path, clock=clock) as rig:
        await rig.remember(PEANUTS, HERE)
        await rig.remember("邻居搬了家", HERE, person(1), kind=MemoryKind.EVENT)
        clock.now = DAY + timedelta(days=365)
        await rig.until_indexed()
        assert (await rig.night()).postponed == ""
        assert PEANUTS in await rig.texts("奶奶能吃花生吗", HERE)
        assert "邻居搬了家" in await rig.texts("去年11月21号我们做了什么", HERE)
        await rig.remember("客厅装好了灯", HERE, person(1), kind=MemoryKind.EVENT)
    clock.now = DAY + timedelta(days=1)
    async with running(tmp_path, clock=clock) as rig:
        await rig.until_indexed()
        assert (await rig.night()).postponed == ""
        await rig.remember("阳台种了葱", HERE, person(1), kind=MemoryKind.EVENT)
        await rig.until_indexed()
        assert await rig.newest(HERE) == ["客厅装好了灯", "阳台种了葱", "邻居搬了家", PEANUTS]
        assert "邻居搬了家" in await rig.texts("昨天我们做了什么", HERE)
        assert "阳台种了葱" in await rig.texts("今天我们做了什么", HERE)
    journals = {path.stem for path in (tmp_path / "memory/scopes/家人/journal").glob("*.md")}
    assert journals >= {"2026-11-21", "2026-11-22", "2027-11-21"}


HOME = ScopeFilter.reading_as(Scope.parse("家人"))
WORK = ScopeFilter.reading_as(Scope.parse("公司"))
UMO, THERE = "a:GroupMessage:1", "a:GroupMessage:2"


@pytest.fixture
def log() -> Explanations:
    """No candidate is looked up: none was found."""
    return Explanations(cast(Passages, None), EngineSettings(), lambda: datetime.now(UTC))


def ask(log: Explanations, where: str, *queries: object) -> None:
    for query in queries:
        log.note(where, str(query), Trace(HOME.names, milliseconds=1.0))


def told(log: Explanations, where: str, view: ScopeFilter = HOME) -> list[str]:
    return [one.query for one in log.of(where, view)]


def test_the_newest_come_first_and_the_oldest_go(log: Explanations) -> None:
    ask(log, UMO, *range(SHOWN + 7))
    kept = [str(number) for number in reversed(range(7, SHOWN + 7))]
    assert told(log, UMO) == kept


@pytest.mark.parametrize("others", [1, 200])
def test_however_busy_other_conversations_are_a_quiet_one_can_say_why(
    log: Explanations, others: int
) -> None:
    for place in (UMO, *(f"a:GroupMessage:{100 + number % others}" for number in range(1000))):
        ask(log, place, "问")
    assert len(told(log, UMO)) == 1
    for number in range(2 * KEPT):
        ask(log, f"a:GroupMessage:{1000 + number}", "问")
    # Bounded in all, and the newest stay.
    assert told(log, UMO) == told(log, f"a:GroupMessage:{999 + KEPT}") == []
    assert len(told(log, f"a:GroupMessage:{999 + 2 * KEPT}")) == 1


def test_another_conversation_of_the_scope_and_a_changed_map_show_nothing_of_it(
    log: Explanations,
) -> None:
    ask(log, UMO, "问")
    assert told(log, THERE) == told(log, UMO, WORK) == told(log, UMO, ScopeFilter((PUBLIC,))) == []
    for view in (HOME, ScopeFilter((PUBLIC,), everything=True)):
        assert len(told(log, UMO, view)) == 1
