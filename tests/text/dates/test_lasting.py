"""How long something is to last, as people say it."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from astrbot_plugin_scoped_memory.llm_memory.text.dates.lasting import end_of

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 28, 15, 0, tzinfo=ZoneInfo("Asia/Shanghai"))
"""A Saturday."""


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (10, "十分钟|10分钟|for 10 minutes|ten mins please|先停十分鐘|10 分钟后恢复|10m"),
        (30, "半小时|半个小时吧|half an hour|三十分|两刻钟"),
        (90, "一个半小时|1小时30分钟|一小时半|an hour and a half|1.5 hours|one and a half hours"),
        (2 * 1440, "两天|48小时|for two days|2d"),
        (7 * 1440, "一周|一个星期|a week"),
        (180, "到六点|到晚上六点|until 6pm|until 18:00|今天下午6点"),
        (210, "到6点半|till 6:30 pm"),
        (540, "今天|到明天|until tomorrow"),
        (180, "到晚上|到傍晚|until this evening|until tonight"),
        (27 * 60, "到明天晚上|停到明晚|until tomorrow evening"),
        (17 * 60, "到明天早上|到早上|until tomorrow morning"),
        (21 * 60, "到明天中午|until noon"),
        (51 * 60, "到周一晚上|until Monday night"),
        (17 * 60, "明天早上八点|到早上8点"),
        (6 * 1440 - 900, "until Friday|到周五"),
    ],
)
def test_lengths_and_ends_are_understood(minutes: int, said: str) -> None:
    for one in said.split("|"):
        assert end_of(one, NOW) == NOW + timedelta(minutes=minutes), one


@pytest.mark.parametrize(
    "said",
    [
        "abc",
        "随便",
        "一会儿",
        "十分感谢",
        "两只猫",
        "for ever",
        "昨天",
        "10",
        "0分钟",
        "9999年",
        "到9点99分",
    ],
)
def test_what_is_no_time_to_come_is_none(said: str) -> None:
    assert end_of(said, NOW) is None
