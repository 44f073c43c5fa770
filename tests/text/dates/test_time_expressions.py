"""What words say of days, by ``tests/data/texts.tsv``; how long something is to last; and that what
is stored can be read in a month: relative words get their date behind them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.dates.date_annotation import (
    resolve_dates,
    without_weekday_dates,
)
from astrbot_plugin_scoped_memory.llm_memory.text.dates.expressions import (
    Precision,
    TimeSpan,
    Towards,
    find_times,
    towards,
)
from astrbot_plugin_scoped_memory.llm_memory.text.dates.lasting import end_of
from astrbot_plugin_scoped_memory.tests.support.words import rows

pytestmark = pytest.mark.unit

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 18, 20, 30, tzinfo=SHANGHAI)
"""A Wednesday."""
SATURDAY = datetime(2026, 11, 28, 15, 0, tzinfo=SHANGHAI)
SAID = datetime(2026, 11, 21, 18, 22, tzinfo=SHANGHAI)
"""Another Saturday."""


def written(span: TimeSpan) -> str:
    """``words date`` or ``words first..last``, the dates without what the year 2026 tells."""
    days = f"{span.start}" if span.start == span.end else f"{span.start}..{span.end}"
    return f"{span.words} {days.replace('2026-', '')}"


def times(text: str, *, look: Towards = Towards.BACK, now: datetime = NOW) -> list[str]:
    return [written(span) for span in find_times(text, now, look)]


@pytest.mark.parametrize("case", rows("times"), ids=lambda case: case[0])
def test_words_name_their_days_and_what_only_looks_like_a_time_none(case: tuple[str, ...]) -> None:
    text, *expected = case
    assert times(text) == expected


def test_when_storing_a_date_without_a_year_is_the_nearest_and_a_weekday_lies_ahead() -> None:
    for text, expected in rows("told"):
        assert times(text, look=Towards.TOLD) == [expected], text


def test_a_question_looks_ahead_or_back_as_its_words_do_or_for_the_nearest() -> None:
    for text, *expected in rows("asked"):
        assert times(text, look=towards(text)) == expected, text


def test_it_is_told_how_exact_words_are_whether_from_now_and_whether_a_guess() -> None:
    spans = find_times("昨天，上周，上个月，去年，周末", NOW)
    assert [span.precision for span in spans] == [
        Precision.DAY, Precision.WEEK, Precision.MONTH, Precision.YEAR, Precision.SPAN,
    ]  # fmt: skip
    for text, relative, vague in (
        ("昨天 上周三 3天前 去年5月2号 yesterday, last May", True, False),
        ("2026-05-02 5月2号 周三 月底 on Monday, May 2nd", False, False),
        ("最近 前几天 两三天前 recently, a few days ago", True, True),
    ):
        for span in find_times(text, NOW):
            assert (span.relative, span.vague) == (relative, vague) or span.vague is vague is True


def test_the_day_is_the_one_of_the_zone_in_which_it_was_said_and_of_its_week() -> None:
    moment = datetime(2026, 11, 18, 17, tzinfo=UTC)  # past midnight in Shanghai
    assert times("今天", now=moment) == ["今天 11-18"]
    assert times("今天", now=moment.astimezone(SHANGHAI)) == ["今天 11-19"]
    sunday = datetime(2026, 11, 22, 9, tzinfo=SHANGHAI)
    assert times("上周三 本周 下周一 last Sunday", now=sunday) == [
        "上周三 11-11", "本周 11-16..11-22", "下周一 11-23", "last Sunday 11-15",
    ]  # fmt: skip
    berlin = ZoneInfo("Europe/Berlin")
    before = datetime(2026, 10, 25, 0, 30, tzinfo=berlin)  # the day has 25 hours
    assert times("tomorrow, in 3 days", now=before) == ["tomorrow 10-26", "in 3 days 10-28"]
    late = datetime(2026, 10, 25, 23, 50, tzinfo=berlin)
    assert times("24 hours ago", now=late) == ["24 hours ago 10-25"]


@pytest.mark.parametrize("text", ["9999年前", "9999 years ago", "九千年后", "后天", "last winter"])
@pytest.mark.parametrize("now", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)])
def test_where_the_calendar_ends_nothing_is_raised(text: str, now: datetime) -> None:
    for look in Towards:
        assert len(find_times(text, now, look)) <= 1


PIECES = """
今天 昨 天 前 后 大 上 下 周 三 末 个 月 底 初 年 去 明 五 十 二 2 5 号 日 的 到 每 半 几 两 最近
零 2026 - / . in ago last next the May 2nd week day days Monday every of on 3 past few a ' s , 。
明天 上周 下周 5月 （ ） ( ) 2026-05-02 ` “ ” " 《 》 read wrote
""".split()  # noqa: SIM905
sentences = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([*PIECES, " "]), max_size=20).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join),
)
moments = st.datetimes(timezones=st.sampled_from([UTC, SHANGHAI, timezone(timedelta(hours=-12))]))


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


def test_a_long_text_is_read_to_its_end() -> None:
    text = "今天" * 2_000 + "，最近三天。" + "the last " * 2_000 + "week"
    spans = find_times(text, NOW)
    assert (len(spans), spans[-1].words) == (2_002, "the last week")


PAGE = (Path(__file__).parents[3] / "docs" / "time-expressions.md").read_text(encoding="utf-8")


def test_each_row_of_the_page_for_owners_is_true() -> None:
    asked = r"^\| ([^|]+) \| ([0-9-]{10})(?: 到 ([0-9-]{10}))? \|$"
    found = re.findall(asked, PAGE, re.MULTILINE)
    for words, start, end in found:
        (span,) = find_times(words, NOW, towards(words))
        assert (span.words, str(span.start), str(span.end)) == (words, start, end or start)
    table = PAGE.split("| 记成 |\n| --- | --- |\n")[1].split("\n\n")[0]
    stored = re.findall(r"^\| (.+) \| (.+) \|$", table, re.MULTILINE)
    assert len(found) >= 20 and len(stored) >= 12
    assert [resolve_dates(said, SAID) for said, _ in stored] == [told for _, told in stored]


@pytest.mark.parametrize(("minutes", "said"), rows("lasting"))
def test_lengths_and_ends_are_understood_and_what_is_no_time_to_come_is_none(
    minutes: str, said: str
) -> None:
    for one in said.split("|"):
        end = SATURDAY + timedelta(minutes=int(minutes)) if minutes else None
        assert end_of(one, SATURDAY) == end, one


@pytest.mark.parametrize(("said", "stored"), rows("resolved"))
def test_words_that_say_how_far_from_now_get_their_date_and_no_others(
    said: str, stored: str
) -> None:
    assert resolve_dates(said, SAID) == stored


@given(sentences, moments, moments)
def test_resolving_again_changes_nothing_whenever(
    text: str, now: datetime, later: datetime
) -> None:
    once = resolve_dates(text, now)
    assert resolve_dates(once, later) == once


ADDED = re.compile("（[0-9][0-9～ 年前后-]*）| [(](?:around )?[0-9][0-9to -]*[)]")


@given(sentences.filter(lambda text: not ADDED.search(text)), moments, st.booleans())
def test_but_for_the_dates_the_sentence_stays(text: str, now: datetime, weekdays: bool) -> None:
    assert ADDED.sub("", resolve_dates(text, now, weekdays=weekdays)) == text


@pytest.mark.parametrize(("said", "stored"), rows("once"))
def test_the_weekday_of_one_event_is_the_coming_one(said: str, stored: str) -> None:
    assert resolve_dates(said, SAID, weekdays=True) == stored
    assert resolve_dates(stored, SAID + timedelta(days=9), weekdays=True) == stored
    if resolve_dates(said, SAID) == said:
        assert without_weekday_dates(stored) == said


@pytest.mark.parametrize(
    ("said", "stored"), [*rows("beside"), *((said, said) for (said,) in rows("again"))]
)
def test_what_has_its_date_comes_every_week_or_is_over_gets_none(said: str, stored: str) -> None:
    assert resolve_dates(said, SAID, weekdays=True) == stored
    for text in ("明天（2026-11-22）去医院", "生日（1990-01-02）", "next week (2026-11-23)"):
        assert without_weekday_dates(text) == text
