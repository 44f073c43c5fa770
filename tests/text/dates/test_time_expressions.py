"""What words say of days: the table of Chinese and English cases, and what is no time at all."""

from __future__ import annotations

import re
import re._constants as sre_constants
import re._parser as sre_parse
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.dates.expressions import (
    Precision,
    TimeSpan,
    Towards,
    find_times,
    towards,
)
from astrbot_plugin_scoped_memory.llm_memory.text.dates.words import TIMES

pytestmark = pytest.mark.unit

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 18, 20, 30, tzinfo=SHANGHAI)
"""A Wednesday."""


def written(span: TimeSpan) -> str:
    """``words date`` or ``words first..last``, the dates without what the year 2026 tells."""
    days = f"{span.start}" if span.start == span.end else f"{span.start}..{span.end}"
    return f"{span.words} {days.replace('2026-', '')}"


def times(text: str, *, look: Towards = Towards.BACK, now: datetime = NOW) -> list[str]:
    return [written(span) for span in find_times(text, now, look)]


CHINESE = [
    ("周四，11月12号体检", "11月12号 11-12"),
    ("10号钢琴考级", "10号 11-10"),
    ("元旦上午去看冰雕", "元旦 01-01"),
    ("今天吃什么", "今天 11-18"),
    ("大后天回来", "大后天 11-21"),
    ("昨晚没睡好", "昨晚 11-17"),
    ("明早七点叫我", "明早 11-19"),
    ("本周", "本周 11-16..11-22"),
    ("上上周", "上上周 11-02..11-08"),
    ("下下周", "下下周 11-30..12-06"),
    ("上周三说的", "上周三 11-11"),
    ("下周1", "下周1 11-23"),
    ("这周六", "这周六 11-21"),
    ("上周三次迟到", "上周 11-09..11-15"),
    ("周三的会", "周三 11-18"),
    ("礼拜天", "礼拜天 11-15"),
    ("上周末", "上周末 11-14..11-15"),
    ("下周一起飞", "下周一 11-23"),
    ("下周一直播", "下周一 11-23"),
    ("这周日程很满", "这周 11-16..11-22"),
    ("下周日常规体检", "下周日 11-29"),
    ("上周二手车卖了", "上周 11-09..11-15"),
    ("这周三天都在家", "这周 11-16..11-22"),
    ("下周三天气好", "下周三 11-25"),
    ("这个周末", "这个周末 11-21..11-22"),
    ("上上个月", "上上个月 09-01..09-30"),
    ("下个月3号", "下个月3号 12-03"),
    ("上个月底", "上个月底 10-21..10-31"),
    ("下月初", "下月初 12-01..12-10"),
    ("月初", "月初 11-01..11-10"),
    ("月底", "月底 10-21..10-31"),
    ("今年", "今年 01-01..12-31"),
    ("去年5月", "去年5月 2025-05-01..2025-05-31"),
    ("明年二月", "明年二月 2027-02-01..2027-02-28"),
    ("今年年底", "今年年底 11-01..12-31"),
    ("去年夏天", "去年夏天 2025-06-01..2025-08-31"),
    ("去年冬天", "去年冬天 2025-12-01..02-28"),
    ("去年第三季度", "去年第三季度 2025-07-01..2025-09-30"),
    ("去年国庆去哪了", "去年国庆 2025-10-01"),
    ("去年今天", "去年今天 2025-11-18"),
    ("年底", "年底 11-01..12-31"),
    ("5 月 2 日", "5 月 2 日 05-02"),
    ("12月25日", "12月25日 2025-12-25"),
    ("12月25那天", "12月25 2025-12-25"),
    ("11月18日", "11月18日 11-18"),
    ("二月二十九号", "二月二十九号 2024-02-29"),
    ("5月1日到7日", "5月1日到7日 05-01..05-07"),
    ("二十一号", "二十一号 10-21"),
    ("3号那天", "3号 11-03"),
    ("15日交", "15日 11-15"),
    ("2026年5月", "2026年5月 05-01..05-31"),
    ("二〇二五年五月二十一号", "二〇二五年五月二十一号 2025-05-21"),
    ("98年5月", "98年5月 1998-05-01..1998-05-31"),
    ("1998年夏天", "1998年夏天 1998-06-01..1998-08-31"),
    ("2026/5/2 体检", "2026/5/2 05-02"),
    ("2026-05", "2026-05 05-01..05-31"),
    ("2026-05-02T10:00:00", "2026-05-02 05-02"),
    ("3天前", "3天前 11-15"),
    ("两三天前", "两三天前 11-15..11-16"),
    ("几天前", "几天前 11-08..11-17"),
    ("半天前", "半天前 11-18"),
    ("最近两三天", "最近两三天 11-15..11-18"),
    ("两周后", "两周后 11-29..12-05"),
    ("我们三天后出发", "三天后 11-21"),
    ("半个月前", "半个月前 10-31..11-06"),
    ("半年前", "半年前 05-01..05-31"),
    ("一年半前", "一年半前 2025-05-01..2025-05-31"),
    ("24小时前", "24小时前 11-17"),
    ("最近三天", "最近三天 11-15..11-18"),
    ("最近怎么样", "最近 11-04..11-18"),
    ("前几天", "前几天 11-11..11-17"),
    ("刚才说什么", "刚才 11-18"),
    ("5月2号和6月3号", "5月2号 05-02", "6月3号 06-03"),
]

ENGLISH = [
    ("The deadline is Friday December 11", "December 11 2025-12-11"),
    ("12 November, a Thursday", "12 November 11-12"),
    ("We are away Nov 5-9", "Nov 5-9 11-05..11-09"),
    ("closed from 5th to 9th of November", "5th to 9th of November 11-05..11-09"),
    ("Dentist on 11/12 at 3", "11/12 11-12"),
    ("party Thursday 11/12", "11/12 11-12"),
    ("Christmas lunch at my place", "Christmas 2025-12-25"),
    ("free on Fri and Sat?", "Fri 11-13", "Sat 11-14"),
    ("what did I eat today", "today 11-18"),
    ("yesterday's dinner", "yesterday's 11-17"),
    ("the day after tomorrow", "the day after tomorrow 11-20"),
    ("tonight at eight", "tonight 11-18"),
    ("last Wednesday", "last Wednesday 11-11"),
    ("this past Saturday", "this past Saturday 11-14"),
    ("next Friday", "next Friday 11-27"),
    ("on Wed", "Wed 11-18"),
    ("last Sat.", "last Sat. 11-14"),
    ("this week", "this week 11-16..11-22"),
    ("the week before last", "the week before last 11-02..11-08"),
    ("over the weekend", "over the weekend 11-14..11-15"),
    ("the end of last month", "the end of last month 10-21..10-31"),
    ("early next year", "early next year 2027-01-01..2027-03-31"),
    ("last winter", "last winter 2025-12-01..02-28"),
    ("this fall", "this fall 09-01..11-30"),
    ("summer of 2024", "summer of 2024 2024-06-01..2024-08-31"),
    ("last Christmas", "last Christmas 2025-12-25"),
    ("next New Year's Eve", "next New Year's Eve 12-31"),
    ("two weeks ago", "two weeks ago 11-01..11-07"),
    ("a couple of days ago", "a couple of days ago 11-16"),
    ("a few days ago", "a few days ago 11-11..11-16"),
    ("half a year ago", "half a year ago 05-01..05-31"),
    ("leaving in two weeks", "in two weeks 11-29..12-05"),
    ("five days from now", "five days from now 11-23"),
    ("the past week", "the past week 11-11..11-18"),
    ("the next two weeks", "the next two weeks 11-18..12-02"),
    ("the other day", "the other day 11-11..11-17"),
    ("on May 2nd, 2025 we", "May 2nd, 2025 2025-05-02"),
    ("the 2nd of May", "2nd of May 05-02"),
    ("second of May", "second of May 05-02"),
    ("Dec 25", "Dec 25 2025-12-25"),
    ("Sept. 3rd", "Sept. 3rd 09-03"),
    ("february 29", "february 29 2024-02-29"),
    ("May 2025", "May 2025 2025-05-01..2025-05-31"),
    ("late October 2025", "late October 2025 2025-10-21..2025-10-31"),
    ("mid-June", "mid-June 06-11..06-20"),
    ("last May", "last May 05-01..05-31"),
    ("December was cold", "December 2025-12-01..2025-12-31"),
    ("in 2024", "2024 2024-01-01..2024-12-31"),
    ("on the 21st.", "the 21st 10-21"),
    ("last weekend before April 10", "April 10 04-10"),
    ("在May 2nd那天", "May 2nd 05-02"),
]

NO_TIMES = [
    "我一点也不喜欢他", "二十四岁", "三点建议", "他有两点不满", "星期日报", "后天性失明",
    "明明天气很好", "这本周刊", "星期天报", "五月天的演唱会", "每周三有课", "每个周末去爬山",
    "每逢周五聚餐", "每年5月2日", "每月3号交房租", "一周一次", "一周三次", "周一到周五上班",
    "目前天气不错", "以前天天跑步", "最后天黑了", "后天努力",
    "今日头条", "三号楼", "21号线", "中山路21号", "电话号码", "第3号选手", "7号电池",
    "手术三天后复查", "三天后悔", "周杰伦", "四周都是山", "5个月大", "三个月的猫", "月饼",
    "上月球", "如今年轻人", "三十年河东", "2月30日", "13月5号", "32号", "版本 2.0.1", "温度36.5",
    "1/2 杯糖", "12:30", "刚刚好", "两年的合同", "第二天", "生日快乐", "光明天使", "比分 3-2",
    "QQ 10001", "一日三餐", "3日游", "may I help you", "it may rain", "march forward",
    "wait a second", "the second time", "march 8 miles", "this may be", "back in a minute",
    "the next day", "the next Friday", "the previous week", "the previous Sunday",
    "the Monday before", "on the weekends", "those 2 may come", "every Monday", "each Friday",
    "on Mondays", "Black Friday deals", "sat in the sun", "April said hi",
    "Ask June about it", "an august person", "21st century", "the 3rd floor",
    "finished it in 3 days", "the last one", "next to me", "room 2024", "mayday",
    "todays", "v2026.5.2", "https://example.org/2026/05/02/a", "May 5 people come",
    "February 30th", "",
]  # fmt: skip


@pytest.mark.parametrize(
    "case", [*CHINESE, *ENGLISH, *((text,) for text in NO_TIMES)], ids=lambda case: case[0]
)
def test_words_name_their_days_and_what_only_looks_like_a_time_none(case: tuple[str, ...]) -> None:
    text, *expected = case
    assert times(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5月2号", "5月2号 2027-05-02"),  # 165 days ahead, 200 behind
        ("9月1号", "9月1号 09-01"),
        ("12月25日", "12月25日 12-25"),
        ("18号", "18号 11-18"),
        ("25号", "25号 11-25"),
        ("五月", "五月 2027-05-01..2027-05-31"),
        ("月底", "月底 11-21..11-30"),
        ("周三", "周三 11-18"),
        ("周二", "周二 11-24"),
        ("周末", "周末 11-21..11-22"),
        ("Monday", "Monday 11-23"),
        ("on Dec 25", "Dec 25 12-25"),
        ("明天", "明天 11-19"),
        ("昨天", "昨天 11-17"),
        ("下周五", "下周五 11-27"),
    ],
)
def test_when_storing_a_date_without_a_year_is_the_nearest_and_a_weekday_lies_ahead(
    text: str, expected: str
) -> None:
    assert times(text, look=Towards.TOLD) == [expected]


@pytest.mark.parametrize(
    "case",
    [
        ("11月20号有什么事", "11月20号 11-20"),
        ("1月2號有什麼安排", "1月2號 2027-01-02"),
        ("周二要干嘛", "周二 11-24"),
        ("禮拜一有空嗎", "禮拜一 11-23"),
        ("周日忙不忙", "周日 11-22"),
        ("周末有什么计划", "周末 11-21..11-22"),
        ("元旦有什么计划", "元旦 2027-01-01"),
        ("十月有什么安排", "十月 2027-10-01..2027-10-31"),
        ("any plans for Tuesday?", "Tuesday 11-24"),
        ("what's on May 2nd", "May 2nd 2027-05-02"),
        ("am I free on Monday", "Monday 11-23"),
        ("are there any meetings on Monday?", "Monday 11-23"),
        ("周一有面试吗", "周一 11-23"),
        ("plans for Christmas?", "Christmas 12-25"),
        ("11月20号说过什么", "11月20号 2025-11-20"),
        ("周四发生了什么", "周四 11-12"),
        ("國慶去了哪裡", "國慶 10-01"),
        ("what did we do on Friday", "Friday 11-13"),
        ("what happened on Dec 25", "Dec 25 2025-12-25"),
        ("周四是在哪儿吃的饭？", "周四 11-12"),
        ("周四的会几点", "周四 11-19"),
        ("周一的会几点", "周一 11-16"),
        ("周一说过要做什么", "周一 11-16"),
        ("圣诞树放哪了",),
        ("the Christmas tree",),
        ("王国庆的电话",),
    ],
    ids=lambda case: case[0],
)
def test_a_question_looks_ahead_or_back_as_its_words_do_or_for_the_nearest(
    case: tuple[str, ...],
) -> None:
    text, *expected = case
    assert times(text, look=towards(text)) == expected


def test_how_exact_the_words_are_is_told() -> None:
    text = "昨天，上周，上个月，去年，周末"
    spans = find_times(text, NOW)
    assert [span.precision for span in spans] == [
        Precision.DAY, Precision.WEEK, Precision.MONTH, Precision.YEAR, Precision.SPAN,
    ]  # fmt: skip


def test_it_is_told_whether_words_say_how_far_from_now_and_whether_that_is_a_guess() -> None:
    for text in ("昨天", "上周三", "3天前", "去年5月2号", "yesterday", "last May"):
        assert [span.relative for span in find_times(text, NOW)] == [True], text
    for text in ("2026-05-02", "5月2号", "周三", "月底", "on Monday", "May 2nd"):
        assert [span.relative for span in find_times(text, NOW)] == [False], text
    for text in ("最近", "前几天", "两三天前", "recently", "a few days ago"):
        assert [span.vague for span in find_times(text, NOW)] == [True], text


def test_a_sunday_belongs_to_the_week_that_ends() -> None:
    sunday = datetime(2026, 11, 22, 9, tzinfo=SHANGHAI)
    assert times("上周三 本周 下周一 周末", now=sunday) == [
        "上周三 11-11", "本周 11-16..11-22", "下周一 11-23", "周末 11-21..11-22",
    ]  # fmt: skip
    assert times("last Sunday, next Monday", now=sunday) == [
        "last Sunday 11-15", "next Monday 11-23",
    ]  # fmt: skip


def test_the_day_is_the_one_of_the_zone_in_which_it_was_said() -> None:
    moment = datetime(2026, 11, 18, 17, tzinfo=UTC)  # past midnight in Shanghai
    assert times("今天", now=moment) == ["今天 11-18"]
    assert times("今天", now=moment.astimezone(SHANGHAI)) == ["今天 11-19"]


def test_a_clock_change_moves_no_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    before = datetime(2026, 10, 25, 0, 30, tzinfo=berlin)  # the day has 25 hours
    assert times("tomorrow, in 3 days, last week", now=before) == [
        "tomorrow 10-26", "in 3 days 10-28", "last week 10-12..10-18",
    ]  # fmt: skip
    late = datetime(2026, 10, 25, 23, 50, tzinfo=berlin)
    assert times("24 hours ago", now=late) == ["24 hours ago 10-25"]


@pytest.mark.parametrize(
    "text",
    ["9999年前", "9999 years ago", "九千年后", "明年", "去年", "后天", "上周", "last winter"],
)
@pytest.mark.parametrize("now", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)])
def test_where_the_calendar_ends_nothing_is_raised(text: str, now: datetime) -> None:
    for look in Towards:
        assert len(find_times(text, now, look)) <= 1


PIECES = """
今天 昨 天 前 后 大 上 下 周 三 末 个 月 底 初 年 去 明 五 十 二 2 5 号 日 的 到 每 半 几 两 最近
零 2026 - / . in ago last next the May 2nd week day days Monday every of on 3 past few a ' s , 。
""".split()  # noqa: SIM905
sentences = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*PIECES, " "]), max_size=20).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join),
)
moments = st.datetimes(
    timezones=st.sampled_from(
        [UTC, SHANGHAI, ZoneInfo("America/New_York"), timezone(timedelta(hours=-12))]
    )
)


@given(sentences, moments, st.sampled_from(Towards))
def test_any_text_gives_ordered_times_that_stand_in_it(
    text: str, now: datetime, look: Towards
) -> None:
    spans = find_times(text, now, look)
    place = 0
    for span in spans:
        assert span.start <= span.end
        assert place <= span.first < span.last <= len(text)
        assert span.words == text[span.first : span.last]
        place = span.last


def repeats(parsed: Any) -> Iterator[tuple[int, bool]]:
    """The upper bound of each repetition in a parsed pattern, and whether it stands in another."""
    for code, argument in parsed:
        if code in {sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT}:
            _, most, inner = argument
            yield int(most), any(bound > 1 for bound, _ in repeats(inner)) and most > 1
            yield from repeats(inner)
        elif isinstance(argument, tuple | list):
            parts = argument if isinstance(argument, tuple) else [argument]
            for part in parts:
                for inner in part if isinstance(part, list) else [part]:
                    if isinstance(inner, sre_parse.SubPattern):
                        yield from repeats(inner)


def test_a_hostile_text_costs_no_more_than_a_long_one() -> None:
    """No pattern repeats without a bound, and none repeats a repetition: matching is linear."""
    for pattern in (one for kind in ("zh:", "en:", "digits:") for one in TIMES.starting(kind)):
        found = list(repeats(sre_parse.parse(pattern.pattern, pattern.flags & ~re.UNICODE)))
        assert all(most <= 80 for most, _ in found), pattern.pattern
        assert not any(nested for _, nested in found), pattern.pattern


def test_a_long_text_is_read_to_its_end() -> None:
    text = "今天" * 2_000 + "，最近三天。" + "the last " * 2_000 + "week"
    spans = find_times(text, NOW)
    assert len(spans) == 2_002
    assert spans[-1].words == "the last week"


PAGE = (Path(__file__).parents[3] / "docs" / "time-expressions.md").read_text(encoding="utf-8")


def test_each_row_of_the_page_for_owners_is_true() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([0-9-]{10})(?: 到 ([0-9-]{10}))? \|$", PAGE, re.MULTILINE)
    assert len(rows) >= 20
    for words, start, end in rows:
        (span,) = find_times(words, NOW, towards(words))
        assert (span.words, str(span.start), str(span.end)) == (words, start, end or start)
