"""Guesses, open disputes and what holds for a few days are told from what lasts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.llm_memory.remember.rules.lasting import passing

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 27, 18, 0, tzinfo=UTC)  # a Friday


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("我猜可能是网络的问题", [("guess", "我猜可能是网络的问题")]),
        ("I guess it might be the network", [("guess", "I guess it might be the network")]),
        ("重试几次待定", [("dispute", "待定")]),
        ("The retry count is TBD.", [("dispute", "TBD")]),
        ("要不要换成 gRPC？", [("dispute", "？")]),
        ("先临时关掉缓存", [("stale", "临时")]),
        ("The cache is off for now", [("stale", "for now")]),
        ("先临时用 4 个，个数待定", [("dispute", "待定"), ("stale", "临时")]),
        ("检索面用 PostgreSQL", []),
        ("这周由小陈值班", [("stale", "这周")]),
        ("The freeze lasts until Monday", [("stale", "Monday")]),
        ("从 2026-12-01 起只支持 3.12", []),
        ("未定义的字段一律忽略", []),
        ("If two reviewers disagree, the owner decides", []),
        ("先写数据库，再发消息", []),
        ("大概三成的请求是重复的", []),
        ("把握不够的标“也许”", []),
        ("Nothing tells how likely an answer is", []),
        ("剩下的风险：迁移脚本可能要跑一小时", []),
        ("The template holds contemporary names", []),
        ("", []),
    ],
)
def test_each_reason_is_told_with_the_words_that_say_so(
    text: str, reasons: list[tuple[str, str]]
) -> None:
    assert list(passing(text, NOW)) == reasons


def test_what_a_diary_tells_of_its_own_day_is_no_plan() -> None:
    done = "今天接好了连接池，跑了 300 个用例"
    assert list(passing(done, NOW, diary=True)) == []
    assert list(passing("明天接着弄", NOW, diary=True)) == [("stale", "明天")]
