"""When a night is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.consolidation.rules.schedule import (
    last_due,
)

pytestmark = pytest.mark.unit

BERLIN = ZoneInfo("Europe/Berlin")
zones = st.sampled_from([BERLIN, ZoneInfo("America/New_York"), ZoneInfo("Asia/Shanghai")])
moments = st.datetimes(datetime(2020, 1, 2), datetime(2035, 1, 1))  # noqa: DTZ001
times = st.tuples(st.integers(0, 23), st.integers(0, 59))


@given(moments, zones, times)
def test_a_night_was_due_about_a_day_back_at_most(
    moment: datetime, zone: ZoneInfo, at: tuple[int, int]
) -> None:
    now = moment.replace(tzinfo=UTC).astimezone(zone)
    last = last_due(now, at)
    assert timedelta() <= now.astimezone(UTC) - last.astimezone(UTC) <= timedelta(hours=26)
    assert last_due(last, at) == last
    assert last_due(last - timedelta(seconds=1), at) < last


def test_an_hour_that_a_night_lacks_or_has_twice_is_due_once() -> None:
    due = last_due(datetime(2026, 3, 29, 12, tzinfo=BERLIN), (2, 30))
    assert due.astimezone(UTC) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert f"{due:%H:%M}" == "03:30"
    due = last_due(datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN), (2, 30))
    assert due.astimezone(UTC) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert last_due(datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN), (2, 30)) == due
