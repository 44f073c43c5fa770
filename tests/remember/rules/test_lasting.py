"""Guesses, open disputes and what holds for a few days are told from what lasts."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.remember.rules.lasting import passing

pytestmark = pytest.mark.unit


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
        ("今天接好了连接池，跑了 300 个用例", []),
        ("剩下的风险：迁移脚本可能要跑一小时", []),
        ("The template holds contemporary names", []),
        ("", []),
    ],
)
def test_each_reason_is_told_with_the_words_that_say_so(
    text: str, reasons: list[tuple[str, str]]
) -> None:
    assert list(passing(text)) == reasons
