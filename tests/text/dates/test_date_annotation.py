"""What is stored can be read in a month: relative words get their date behind them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.dates.date_annotation import (
    resolve_dates,
    without_weekday_dates,
)
from astrbot_plugin_scoped_memory.llm_memory.text.dates.expressions import find_times

pytestmark = pytest.mark.unit

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 21, 18, 22, tzinfo=SHANGHAI)
"""A Saturday."""

RESOLVED = [
    ("前天晚上看了电影", "前天（2026-11-19）晚上看了电影"),
    ("下周三体检", "下周三（2026-11-25）体检"),
    ("上周末去爬山", "上周末（2026-11-14～2026-11-15）去爬山"),
    ("下个月底结婚", "下个月底（2026-12-21～2026-12-31）结婚"),
    ("去年毕业", "去年（2025 年）毕业"),
    ("去年5月2号认识的", "去年5月2号（2025-05-02）认识的"),
    ("今年年底交房", "今年年底（2026-11～2026-12）交房"),
    ("3天前发烧", "3天前（2026-11-18）发烧"),
    ("三个月前分手", "三个月前（2026-08）分手"),
    ("他说“明天见”", "他说“明天（2026-11-22）见”"),
    ("tomorrow I fly to Oslo", "tomorrow (2026-11-22) I fly to Oslo"),
    ("yesterday's soup", "yesterday's (2026-11-20) soup"),
    ("in Lisbon last summer", "in Lisbon last summer (2026-06 to 2026-08)"),
    ("The baby came two weeks ago", "The baby came two weeks ago (around 2026-11-07)"),
    ("Leaving in 3 days", "Leaving in 3 days (2026-11-24)"),
    ("从下周一起公司要打卡", "从下周一（2026-11-23）起公司要打卡"),
    ("自下周三起停水", "自下周三（2026-11-25）起停水"),
    ("下周一起去爬山", "下周（2026-11-23～2026-11-29）一起去爬山"),
    ("媽媽後天打疫苗", "媽媽後天（2026-11-23）打疫苗"),
    (
        "下禮拜三開會，上週末爬山",
        "下禮拜三（2026-11-25）開會，上週末（2026-11-14～2026-11-15）爬山",
    ),
    ("明天吃什么还没定", "明天（2026-11-22）吃什么还没定"),
    ("明天 meeting tomorrow", "明天（2026-11-22） meeting tomorrow (2026-11-22)"),
]

LEFT_ALONE = [
    "2026-11-22 去医院", "2026年5月2日结婚", "生日5月2号", "周一闭馆", "图书馆每周三闭馆",
    "每个月底交房租", "每天跑步", "最近很累", "前几天感冒了", "刚才说的",
    "明天（2026-11-22）去医院", "明天(11月22日)去医院", "2026-11-22（明天）去医院",
    "11月22日，也就是明天，去医院", "两三天前", "喜欢《明天会更好》", "歌名是“昨天”",
    "看 https://example.org/今天/a", "写在 `明天.md` 里", "```\n明天 = 1\n```", "今日头条",
    "手术三天后拆线", "我一点也不喜欢他", "三点建议", "born on May 2nd", "open on Monday",
    "gym every Monday", "recently tired", "the other day", "tomorrow (2026-11-22)",
    "2026-11-22, i.e. tomorrow", 'the song "Yesterday"', "`tomorrow`",
    "see https://example.org/today", "mail today@example.org", "notes/today.md",
    "日报格式：昨天做了什么、今天做什么", "站会模板：今天完成了哪些，明天打算做什么，遇到的问题",
    "standup: what I did yesterday, what I will do today", "週報：昨天做了什麼、今天要做什麼",
    "He wrote it in 3 days", "a few days ago", "may I", "",
]  # fmt: skip


@pytest.mark.parametrize(("said", "stored"), RESOLVED, ids=[said for said, _ in RESOLVED])
def test_words_that_say_how_far_from_now_get_their_date(said: str, stored: str) -> None:
    assert resolve_dates(said, NOW) == stored


@pytest.mark.parametrize("said", LEFT_ALONE)
def test_what_is_exact_vague_habitual_resolved_or_quoted_stays(said: str) -> None:
    assert resolve_dates(said, NOW) == said


def test_the_day_is_the_one_of_the_speakers_zone() -> None:
    late = datetime(2026, 11, 21, 17, tzinfo=UTC)
    assert resolve_dates("明天", late) == "明天（2026-11-22）"
    assert resolve_dates("明天", late.astimezone(SHANGHAI)) == "明天（2026-11-23）"


def test_a_resolved_text_is_found_by_its_date() -> None:
    stored = resolve_dates("下周三体检", NOW)
    later = datetime(2027, 3, 1, tzinfo=SHANGHAI)
    assert "2026-11-25" in [str(span.start) for span in find_times(stored, later)]


PIECES = """
今天 明天 昨 天 前 后 大 上周 下周 三 末 个 月 底 去年 五 十 2 5月 号 日 的 到 每 半 两 最近 （ ）
( ) ， 。 2026-05-02 2026 - ` “ ” " 《 》 in ago last next the May 2nd week days Monday every 3
read wrote . , of
""".split()  # noqa: SIM905
texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*PIECES, " "]), max_size=20).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join),
)


@given(texts, st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_resolving_again_changes_nothing_whenever(
    text: str, now: datetime, later: datetime
) -> None:
    once = resolve_dates(text, now)
    assert resolve_dates(once, later) == once


ADDED = re.compile("（[0-9][0-9～ 年前后-]*）| [(](?:around )?[0-9][0-9to -]*[)]")


@given(
    texts.filter(lambda text: not ADDED.search(text)),
    st.datetimes(timezones=st.just(UTC)),
    st.booleans(),
)
def test_but_for_the_dates_the_sentence_stays(text: str, now: datetime, weekdays: bool) -> None:
    assert ADDED.sub("", resolve_dates(text, now, weekdays=weekdays)) == text


def test_each_row_of_the_page_for_owners_is_true() -> None:
    page = (Path(__file__).parents[3] / "docs" / "time-expressions.md").read_text(encoding="utf-8")
    table = page.split("| 记成 |\n| --- | --- |\n")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (.+) \| (.+) \|$", table, re.MULTILINE)
    assert len(rows) >= 12
    for said, stored in rows:
        assert resolve_dates(said, NOW) == stored


ONCE = [
    ("小雯周六要带男朋友回家", "小雯周六（2026-11-21）要带男朋友回家"),
    ("周一交报告", "周一（2026-11-23）交报告"),
    ("星期三上午检修", "星期三（2026-11-25）上午检修"),
    ("周末去爬山", "周末（2026-11-21～2026-11-22）去爬山"),
    ("活动改到周五晚上了", "活动改到周五（2026-11-27）晚上了"),
    ("周二去苏州，周四回来", "周二（2026-11-24）去苏州，周四（2026-11-26）回来"),
    ("She visits on Tuesday", "She visits on Tuesday (2026-11-24)"),
    ("hiking at the weekend", "hiking at the weekend (2026-11-21 to 2026-11-22)"),
    ("Pickle arrives this weekend", "Pickle arrives this weekend (2026-11-21 to 2026-11-22)"),
    ("下周五去，周日回来", "下周五（2026-11-27）去，周日回来"),
    ("周三去杭州，周一回来", "周三（2026-11-25）去杭州，周一回来"),
    ("flies Wednesday, back on Monday", "flies Wednesday (2026-11-25), back on Monday"),
    ("週一交報告", "週一（2026-11-23）交報告"),
    ("周六下午五点聚餐", "周六（2026-11-28）下午五点聚餐"),
    ("周六晚上八點半聚餐", "周六（2026-11-21）晚上八點半聚餐"),
    ("周六六点半吃饭", "周六（2026-11-21）六点半吃饭"),
    ("周六上午大扫除", "周六（2026-11-28）上午大扫除"),
    ("Dinner on Saturday at 5 pm", "Dinner on Saturday (2026-11-28) at 5 pm"),
    ("Dinner on Saturday at 7 pm", "Dinner on Saturday (2026-11-21) at 7 pm"),
]  # fmt: skip
AGAIN = [
    "每周六去游泳", "周六都去游泳", "每周三和周五晚上有课", "周一到周五上班", "逢周日休息",
    "图书馆周一闭馆", "周六去看了电影", "周日吃过火锅", "周一（2026-11-23）交报告",
    "生日5月2号", "《周六夜现场》", "双周五开例会", "every Tuesday we run", "She works on Mondays",
    "We met on Tuesday at the harbour", "usually on Saturday", "周六（2026-11-28）交报告",
]  # fmt: skip
BESIDE = [
    "The fee is due by Friday 4 December", "The party is on Sunday 10 May",
    "The fee is due Friday, December 4", "The fee is due on Friday the 4th of December",
    "The fee is due Friday the 4th", "The fee is due on Friday 12/4",
    "It is on 4 December, a Friday",
    "It is on 4 December (Friday)", "Friday (4 December) is the day", "Friday 2026-12-04 at noon",
    "周五12月4日交报告", "周五，12月4日交报告",
    "周五（12月4日）交报告", "星期五 12月4日交报告", "12月4日（周五）交报告",
    "12月4日，周五，交报告", "12月4日是周五", "周五4号交报告",
    "12-04（周五）回来", "12/4(周五)回来",
]  # fmt: skip
NOT_BESIDE = [
    ("周五交报告，12月6日放榜", "周五（2026-11-27）交报告，12月6日放榜"),
    ("周五，12月6日前的最后一次", "周五（2026-11-27），12月6日前的最后一次"),
    ("She comes on Friday, 6 December is too late",
     "She comes on Friday (2026-11-27), 6 December is too late"),
    ("昨天12月4日的票到了", "昨天（2026-11-20）12月4日的票到了"),
    ("Friday in December suits her", "Friday (2026-11-27) in December suits her"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "stored"), [*((said, said) for said in BESIDE), *NOT_BESIDE])
def test_a_weekday_beside_its_date_gets_none_of_its_own(said: str, stored: str) -> None:
    assert resolve_dates(said, NOW, weekdays=True) == stored


@pytest.mark.parametrize(("said", "stored"), ONCE)
def test_the_weekday_of_one_event_is_the_coming_one(said: str, stored: str) -> None:
    assert resolve_dates(said, NOW, weekdays=True) == stored
    assert resolve_dates(stored, NOW + timedelta(days=9), weekdays=True) == stored


@pytest.mark.parametrize("said", AGAIN)
def test_what_comes_every_week_or_is_over_gets_no_date(said: str) -> None:
    assert resolve_dates(said, NOW, weekdays=True) == said


@pytest.mark.parametrize("said", [said for said, _ in ONCE if resolve_dates(said, NOW) == said])
def test_the_date_of_a_weekday_can_be_taken_off_again(said: str) -> None:
    assert without_weekday_dates(resolve_dates(said, NOW, weekdays=True)) == said


def test_other_dates_stay() -> None:
    for text in ("明天（2026-11-22）去医院", "生日（1990-01-02）", "next week (2026-11-23)"):
        assert without_weekday_dates(text) == text
