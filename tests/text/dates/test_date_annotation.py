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
from astrbot_plugin_scoped_memory.tests.support.words import rows

pytestmark = pytest.mark.unit

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 21, 18, 22, tzinfo=SHANGHAI)
"""A Saturday."""


@pytest.mark.parametrize(("said", "stored"), rows("resolved"))
def test_words_that_say_how_far_from_now_get_their_date_and_no_others(
    said: str, stored: str
) -> None:
    assert resolve_dates(said, NOW) == stored


def test_the_day_is_the_one_of_the_speakers_zone() -> None:
    late = datetime(2026, 11, 21, 17, tzinfo=UTC)
    assert resolve_dates("明天", late) == "明天（2026-11-22）"
    assert resolve_dates("明天", late.astimezone(SHANGHAI)) == "明天（2026-11-23）"


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
moments = st.datetimes(timezones=st.just(UTC))


@given(texts, moments, moments)
def test_resolving_again_changes_nothing_whenever(
    text: str, now: datetime, later: datetime
) -> None:
    once = resolve_dates(text, now)
    assert resolve_dates(once, later) == once


ADDED = re.compile("（[0-9][0-9～ 年前后-]*）| [(](?:around )?[0-9][0-9to -]*[)]")


@given(texts.filter(lambda text: not ADDED.search(text)), moments, st.booleans())
def test_but_for_the_dates_the_sentence_stays(text: str, now: datetime, weekdays: bool) -> None:
    assert ADDED.sub("", resolve_dates(text, now, weekdays=weekdays)) == text


def test_each_row_of_the_page_for_owners_is_true() -> None:
    page = (Path(__file__).parents[3] / "docs" / "time-expressions.md").read_text(encoding="utf-8")
    table = page.split("| 记成 |\n| --- | --- |\n")[1].split("\n\n")[0]
    found = re.findall(r"^\| (.+) \| (.+) \|$", table, re.MULTILINE)
    assert len(found) >= 12
    for said, stored in found:
        assert resolve_dates(said, NOW) == stored


@pytest.mark.parametrize(("said", "stored"), rows("once"))
def test_the_weekday_of_one_event_is_the_coming_one(said: str, stored: str) -> None:
    assert resolve_dates(said, NOW, weekdays=True) == stored
    assert resolve_dates(stored, NOW + timedelta(days=9), weekdays=True) == stored
    if resolve_dates(said, NOW) == said:
        assert without_weekday_dates(stored) == said


@pytest.mark.parametrize(
    ("said", "stored"), [*rows("beside"), *((said, said) for (said,) in rows("again"))]
)
def test_what_has_its_date_comes_every_week_or_is_over_gets_none(said: str, stored: str) -> None:
    assert resolve_dates(said, NOW, weekdays=True) == stored


def test_other_dates_stay() -> None:
    for text in ("明天（2026-11-22）去医院", "生日（1990-01-02）", "next week (2026-11-23)"):
        assert without_weekday_dates(text) == text
