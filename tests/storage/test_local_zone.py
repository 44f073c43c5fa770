"""The machine's own zone: every moment has the day that the clock on its wall showed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.llm_memory.storage.local_zone import MACHINE_ZONE

ZONES = ["America/New_York", "Australia/Lord_Howe", "Europe/Dublin", "Asia/Shanghai", "UTC"]
pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(not hasattr(time, "tzset"), reason="no way to set the zone here"),
]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZoneInfo]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield ZoneInfo(request.param)
    monkeypatch.undo()
    time.tzset()


def test_it_agrees_with_the_table_of_zones_at_every_hour_of_a_year(zone: ZoneInfo) -> None:
    for hours in range(366 * 24):
        moment = datetime(2026, 1, 1, 0, 30, tzinfo=UTC) + timedelta(hours=hours)
        here, there = moment.astimezone(MACHINE_ZONE), moment.astimezone(zone)
        assert here.isoformat() == there.isoformat()
        assert here.fold == there.fold
        assert here.astimezone(UTC) == moment


@pytest.mark.usefixtures("zone")
def test_years_that_the_system_cannot_count_have_an_offset_too() -> None:
    for year in (1, 9999):
        assert datetime(year, 1, 1, tzinfo=MACHINE_ZONE).utcoffset() is not None
