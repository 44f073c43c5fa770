"""Questions about days are answered by date: in the bot's zone, in scope, with nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.core.replies.explanation import why_text
from astrbot_plugin_scoped_memory.core.services.injection_service import fence
from astrbot_plugin_scoped_memory.llm_memory import (
    Arm,
    ConversationId,
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    Source,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import (
    DIGEST_TAG,
    MADE_OF_ENTRIES,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    group,
    person,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, holding, tool_context
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin, recalled_for_turn
from astrbot_plugin_scoped_memory.tools.core_memory_recall import RecallTool

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FAMILY, COMPANY, PUBLIC = group(777), group(888), group(999)
SHANGHAI, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


@dataclass
class Clock:
    """Stands still until it is set; tells the time of a zone."""

    now: datetime
    zone: timezone | ZoneInfo

    def __call__(self) -> datetime:
        return self.now.astimezone(self.zone)


async def happened(
    rig: Rig, clock: Clock, at: datetime, text: str, where: ConversationId = FAMILY
) -> None:
    clock.now = at
    draft = MemoryDraft(text, kind=MemoryKind.EVENT, actor=person(1))
    outcome = await rig.engine.service.remember(draft, conversation_id=where)
    assert isinstance(outcome, Stored), outcome


def local(zone: ZoneInfo, *moment: int) -> datetime:
    return datetime(*moment, tzinfo=zone)  # type: ignore[arg-type,misc]


async def told(rig: Rig, query: str, where: ConversationId = FAMILY, limit: int = 20) -> list[str]:
    return await rig.texts(query, where, limit)


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        (NEW_YORK, date(2026, 11, 1)),  # 25 hours
        (NEW_YORK, date(2026, 3, 8)),  # 23 hours
        (LORD_HOWE, date(2026, 4, 5)),  # 24 and a half
        (LORD_HOWE, date(2026, 10, 4)),  # 23 and a half
        (SHANGHAI, date(2026, 11, 1)),
    ],
)
async def test_a_day_on_which_the_clocks_change_is_that_day_and_no_hour_of_another(
    tmp_path: Path, zone: ZoneInfo, day: date
) -> None:
    midnight = datetime.combine(day, datetime.min.time(), zone)
    # The day's end by the wall clock: two moments of one zone are added up by it.
    after = midnight + timedelta(days=1)
    minute = timedelta(minutes=1)
    clock = Clock(midnight, zone)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await happened(rig, clock, midnight - minute, "前一天的最后一分钟")
        await happened(rig, clock, midnight, "这一天的第一分钟")
        await happened(rig, clock, after - minute, "这一天的最后一分钟")
        await happened(rig, clock, after, "后一天的第一分钟")
        clock.now = after + timedelta(hours=12)
        answer = ["这一天的最后一分钟", "这一天的第一分钟"]
        assert sorted(await told(rig, "昨天聊了什么")) == sorted(answer)
        assert await told(rig, "今天聊了什么") == ["后一天的第一分钟"]
        assert await told(rig, "前天聊了什么") == ["前一天的最后一分钟"]
        months_later = clock.now + timedelta(days=100)
        clock.now = months_later
        asked = f"{day.year}年{day.month}月{day.day}号那天我们做了什么"
        assert sorted(await told(rig, asked)) == sorted(answer)


async def test_a_journal_that_was_written_in_another_zone_is_read_by_the_bots_days(
    tmp_path: Path,
) -> None:
    clock = Clock(datetime(2026, 11, 20, tzinfo=UTC), UTC)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await happened(rig, clock, datetime(2026, 11, 20, 15, 0, tzinfo=UTC), "晚上散了步")
        await happened(rig, clock, datetime(2026, 11, 20, 17, 0, tzinfo=UTC), "半夜下了雨")
    assert len(list((tmp_path / "memory/scopes/家人/journal").iterdir())) == 1
    clock = Clock(datetime(2026, 11, 22, 4, 0, tzinfo=UTC), SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        assert await told(rig, "昨天聊了什么") == ["半夜下了雨"]
        assert await told(rig, "前天聊了什么") == ["晚上散了步"]
    clock = Clock(datetime(2026, 11, 22, 4, 0, tzinfo=UTC), NEW_YORK)  # the 21st, 23 o'clock
    async with running(tmp_path, clock=clock, follow=False) as rig:
        assert sorted(await told(rig, "昨天聊了什么")) == ["半夜下了雨", "晚上散了步"]


async def test_last_week_is_the_calendars_last_week_on_every_day_of_this_one(
    tmp_path: Path,
) -> None:
    first = local(SHANGHAI, 2026, 11, 2, 12, 0)  # a Monday
    clock = Clock(first, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        for number in range(21):
            await happened(rig, clock, first + timedelta(days=number), f"记下了{number}号气球")
        week = sorted(f"记下了{number}号气球" for number in range(7, 14))
        for weekday in range(7):
            clock.now = first + timedelta(days=14 + weekday)
            for question in ("上周我们做了什么", "what did we do last week"):
                assert sorted(await told(rig, question)) == week, (weekday, question)
        clock.now = first + timedelta(days=9, hours=11)
        assert await told(rig, "昨天聊了什么") == ["记下了8号气球"]
        assert await told(rig, "11月3号那天") == ["记下了1号气球"]
        assert await told(rig, "上周三发生了什么") == ["记下了2号气球"]


async def test_lately_is_the_last_weeks(tmp_path: Path) -> None:
    today = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(today, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        for days_ago in (40, 15, 14, 3, 0):
            await happened(rig, clock, today - timedelta(days=days_ago), f"放了{days_ago}号气球")
        clock.now = today + timedelta(hours=1)
        for question, since in (
            ("最近我们聊了什么", 14),
            ("最近发生了什么事", 14),
            ("what happened recently", 30),
        ):
            recall = await rig.recall(question, FAMILY)
            assert recall.trace.arm is Arm.DATES
            lately = {f"放了{days_ago}号气球" for days_ago in (15, 14, 3, 0) if days_ago <= since}
            assert {hit.preview for hit in recall.hits} == lately, question


async def test_what_is_taken_by_date_keeps_within_the_budget_too(tmp_path: Path) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        for number in range(6):
            await happened(rig, clock, noon, f"记下了{number}号气球" + "，很高" * 9 * (number % 2))
        clock.now = noon + timedelta(days=1)
        whole = await rig.recall("昨天聊了什么", FAMILY, limit=20)
        assert len(whole.hits) == 6
        for budget in range(0, whole.tokens, 11):
            recall = await rig.recall("昨天聊了什么", FAMILY, 20, token_budget=budget)
            assert recall.trace.arm is Arm.DATES
            assert recall.tokens == recall.trace.tokens <= budget
            # What is too long is passed over: a short one behind it still fits.
            assert bool(recall.hits) is (budget >= min(hit.tokens for hit in whole.hits))


async def test_of_two_times_what_lies_between_is_no_part(tmp_path: Path) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        for day in range(4):
            await happened(rig, clock, noon + timedelta(days=day), f"记下了{day}号气球")
        clock.now = noon + timedelta(days=4)
        answer = await told(rig, "昨天和11月20号我们聊了什么")
        assert sorted(answer) == ["记下了0号气球", "记下了3号气球"]


async def test_a_day_without_anything_is_answered_with_nothing(tmp_path: Path) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock) as rig:
        await happened(rig, clock, noon, "聊了聊做了什么，说了什么事")
        await rig.until_indexed()
        clock.now = noon + timedelta(days=3)
        for question in ("昨天聊了什么", "what did we do yesterday", "2025年聊了什么", "昨天"):
            assert await told(rig, question) == [], question
        assert await told(rig, "3天前聊了什么") == ["聊了聊做了什么，说了什么事"]


async def test_days_are_those_of_the_own_scope_and_public_and_of_no_other(tmp_path: Path) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await happened(rig, clock, noon, "广场上有集市", PUBLIC)
        await happened(rig, clock, noon, "公司换了门禁", COMPANY)
        await happened(rig, clock, noon, "家里搬了家")
        clock.now = noon + timedelta(days=1)
        assert await told(rig, "昨天聊了什么") == ["家里搬了家", "广场上有集市"]
        assert await told(rig, "昨天聊了什么", COMPANY) == ["公司换了门禁", "广场上有集市"]
        assert await told(rig, "昨天聊了什么", PUBLIC) == ["广场上有集市"]


def digest(
    root: Path, day: date, text: str, *, scope: str = "家人", of_entries: bool = False
) -> None:
    """The entry of a day that sums it up, as it is found in the file."""
    at = datetime.combine(day, datetime.max.time(), SHANGHAI).replace(microsecond=0)
    memory = Memory(
        f"m-digest{day:%m%d}",
        text,
        at,
        tags=(DIGEST_TAG,),
        kind=MemoryKind.EVENT,
        active=False,
        provenance=Provenance(source=Source.REFLECTION),
        extra=(MADE_OF_ENTRIES,) if of_entries else (),
    )
    path = root / f"memory/scopes/{scope}/journal/{day.isoformat()}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + render(memory))


async def test_the_digests_of_the_days_come_first_in_the_order_of_their_days(
    tmp_path: Path,
) -> None:
    monday = local(SHANGHAI, 2026, 11, 9, 12, 0)
    clock = Clock(monday, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        for number in range(3):
            at = monday + timedelta(days=number)
            await happened(rig, clock, at, f"买了{number}盆绿萝")
            if number != 1:
                digest(rig.root, at.date(), f"第{number}天大家聊了养花")
        digest(rig.root, monday.date(), "集市那天", scope="public")
        await rig.engine.reconcile()
        clock.now = monday + timedelta(days=7)
        week = await told(rig, "上周我们做了什么")
        assert (
            week
            == [
                "第0天大家聊了养花",
                "集市那天",
                "第2天大家聊了养花",
                "买了1盆绿萝",  # of a day without a digest
                *week[4:],
            ]
        )
        assert sorted(week[4:]) == ["买了0盆绿萝", "买了2盆绿萝"]
        # Where few may be told, those of the own scope, and of them the last days.
        assert await told(rig, "上周我们做了什么", limit=2) == [
            "第0天大家聊了养花",
            "第2天大家聊了养花",
        ]
        assert await told(rig, "上周我们做了什么", limit=1) == ["第2天大家聊了养花"]


async def test_a_digest_keeps_its_day_wherever_the_bot_is_now(tmp_path: Path) -> None:
    digest(tmp_path, date(2026, 11, 20), "那天大家聊了养花")
    for zone in (SHANGHAI, NEW_YORK, ZoneInfo("Pacific/Kiritimati")):
        clock = Clock(local(zone, 2026, 11, 21, 12, 0), zone)
        async with running(tmp_path, clock=clock, follow=False) as rig:
            assert await told(rig, "昨天聊了什么") == ["那天大家聊了养花"]
            assert await told(rig, "今天聊了什么") == []


async def test_a_digest_made_of_entries_answers_for_its_day_and_for_nothing_else(
    tmp_path: Path,
) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    digest(tmp_path, date(2026, 11, 19), "阿强在杭州开了一家面馆，大家都去了")
    digest(tmp_path, date(2026, 11, 20), "阿强在杭州开了面馆；奶奶打了太极", of_entries=True)
    async with running(tmp_path, clock=clock) as rig:
        await rig.until_indexed()
        clock.now = noon + timedelta(days=1)
        assert await told(rig, "昨天聊了什么") == ["阿强在杭州开了面馆；奶奶打了太极"]
        for question in ("阿强在杭州开了什么面馆", "昨天阿强的面馆怎么样"):
            assert await told(rig, question) == ["阿强在杭州开了一家面馆，大家都去了"], question
    async with running(tmp_path, clock=clock, words=NoWords(), follow=False) as rig:
        scanned = await told(rig, "阿强在杭州开了什么面馆")
        assert "阿强在杭州开了面馆；奶奶打了太极" not in scanned


async def test_what_a_person_put_into_a_days_journal_belongs_to_that_day(tmp_path: Path) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        path = tmp_path / "memory/scopes/家人/journal/2026-11-03.md"
        path.parent.mkdir(parents=True)
        path.write_text("## 全家去了千岛湖\n", encoding="utf-8")
        await rig.engine.reconcile()
        assert await told(rig, "11月3号那天我们做了什么") == ["全家去了千岛湖"]
        assert await told(rig, "今天聊了什么") == []
    async with running(tmp_path, clock=clock, follow=False) as rig:
        assert await told(rig, "11月3号那天我们做了什么") == ["全家去了千岛湖"]


async def test_what_names_the_day_comes_behind_what_was_said_on_it(tmp_path: Path) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock) as rig:
        await happened(rig, clock, noon, "后天要去医院体检")  # 2026-11-22
        await happened(rig, clock, noon, "昨天的风很大")  # 2026-11-19
        await rig.until_indexed()
        plan = "后天（2026-11-22）要去医院体检"
        clock.now = noon + timedelta(days=1)
        assert await told(rig, "明天做什么") == [plan]
        await happened(rig, clock, noon + timedelta(days=2), "客厅装好了灯")
        await rig.until_indexed()
        clock.now = noon + timedelta(days=3)
        assert await told(rig, "昨天做了什么") == ["客厅装好了灯", plan]


async def test_it_needs_no_index_and_says_how_it_was_answered(tmp_path: Path) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock, words=NoWords(), follow=False) as rig:
        await happened(rig, clock, noon, "家里搬了家")
        clock.now = noon + timedelta(days=1)
        recall = await rig.recall("昨天聊了什么", FAMILY)
        assert [hit.preview for hit in recall.hits] == ["家里搬了家"]
        assert recall.trace.arm is Arm.DATES
        assert recall.trace.reranker == ""
        explained = await rig.engine.service.explain(conversation_id=FAMILY)
        for language in ("zh-CN", "en-US"):
            texts = Texts(language)
            assert texts.say("arm.dates") in why_text(texts, explained[0], detail=True)


@pytest.mark.parametrize(
    "question",
    ["昨天的面馆在哪里", "where did we eat yesterday", "聊了什么"],
)
async def test_a_question_for_something_is_not_answered_by_the_date_alone(
    tmp_path: Path, question: str
) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await happened(rig, clock, noon, "奶奶每天早晨打太极拳")
        clock.now = noon + timedelta(days=1)
        recall = await rig.recall(question, FAMILY, 5, in_talk=True)
        assert recall.trace.arm is not Arm.DATES
        assert recall.hits == ()


@pytest.mark.parametrize("years", ["近一百年聊了什么", "9999年聊了什么", "0001-01-01聊了什么"])
async def test_years_that_no_clock_can_count_are_answered_too(tmp_path: Path, years: str) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await happened(rig, clock, noon, "家里搬了家")
        expected: Sequence[str] = ["家里搬了家"] if years.startswith("近") else []
        assert await told(rig, years) == expected


async def test_a_memory_that_was_forgotten_moved_or_changed_is_found_where_it_is_now(
    tmp_path: Path,
) -> None:
    noon = local(SHANGHAI, 2026, 11, 20, 12, 0)
    clock = Clock(noon, SHANGHAI)
    admin = person(9, admin=True)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await happened(rig, clock, noon, "家里搬了家")
        await happened(rig, clock, noon, "家里养了猫")
        clock.now = noon + timedelta(days=1)
        service = rig.engine.service
        newest = {
            stored.memory.judgment: stored.memory.memory_id
            for stored in await service.newest(conversation_id=FAMILY, limit=9)
        }
        await rig.move(newest["家里搬了家"], "public", FAMILY, admin)
        await rig.edit(newest["家里养了猫"], "家里养了狗", FAMILY, admin)
        assert await told(rig, "昨天聊了什么") == ["家里养了狗", "家里搬了家"]
        assert await told(rig, "昨天聊了什么", COMPANY) == ["家里搬了家"]
        await rig.forget(newest["家里养了猫"], FAMILY, admin)
        assert await told(rig, "昨天聊了什么") == ["家里搬了家"]


async def a_week_of_long_digests(rig: Rig, monday: datetime) -> None:
    for number in range(7):
        day = monday.date() + timedelta(days=number)
        text = f"{day.isoformat()}：第{number}天" + "大家聊了很多琐碎的事" * 24
        digest(rig.root, day, text)
    await rig.engine.reconcile()


async def test_of_a_week_a_turn_is_told_every_day_however_long_the_journals_are(
    tmp_path: Path,
) -> None:
    monday = local(SHANGHAI, 2026, 11, 9, 12, 0)
    clock = Clock(monday + timedelta(days=9), SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await a_week_of_long_digests(rig, monday)
        plugin = TurnPlugin(rig)
        assert plugin.config.auto_inject_topk == 3
        for question in ("上周我们做了什么", "what did we do last week"):
            hits = (await recalled_for_turn(plugin, question, FAMILY)).hits
            told = [hit.preview.partition("：")[2][:3] for hit in hits]
            assert told == [f"第{number}天" for number in range(7)], question
            budget = plugin.config.inject_token_budget
            assert estimate_tokens(fence(hits, plugin.texts)) <= budget
        yesterday = (await recalled_for_turn(plugin, "上周五聊了什么", FAMILY)).hits
        assert len(yesterday) == 1
        assert len(yesterday[0].preview) > 200  # one day may say more


async def test_of_a_year_the_last_week_is_told_and_more_than_its_limit_of_no_single_day(
    tmp_path: Path,
) -> None:
    first = local(SHANGHAI, 2026, 10, 1, 12, 0)
    clock = Clock(first, SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        for number in range(12):
            digest(rig.root, first.date() + timedelta(days=number), f"第{number}天浇了花")
            digest(rig.root, first.date() + timedelta(days=number), "有集市", scope="public")
        await rig.engine.reconcile()
        clock.now = first + timedelta(days=40)
        plugin = TurnPlugin(rig)
        hits = (await recalled_for_turn(plugin, "2026年聊了什么", FAMILY)).hits
        assert [hit.preview for hit in hits] == [f"第{number}天浇了花" for number in range(5, 12)]
        for number in range(9):
            at = first + timedelta(days=30, minutes=number)
            await happened(rig, clock, at, f"买了{number}盆绿萝")
        clock.now = first + timedelta(days=31)
        assert len((await recalled_for_turn(plugin, "昨天聊了什么", FAMILY)).hits) == 3


async def test_the_tool_tells_a_week_too_unless_the_model_wants_fewer(tmp_path: Path) -> None:
    monday = local(SHANGHAI, 2026, 11, 9, 12, 0)
    clock = Clock(monday + timedelta(days=9), SHANGHAI)
    async with running(tmp_path, clock=clock, follow=False) as rig:
        await a_week_of_long_digests(rig, monday)
        plugin = TurnPlugin(rig)
        tool = RecallTool(source=holding(plugin))
        context = tool_context(FakeEvent.in_group(777))
        whole = await tool.call(context, query="上周我们做了什么")
        assert [f"第{number}天" in whole for number in range(7)] == [True] * 7
        few = await tool.call(context, query="上周我们做了什么", limit=2)
        assert [f"第{number}天" in few for number in range(7)] == [False] * 5 + [True] * 2
