"""What the engine logs stands in AstrBot's log, in the language that the panel says."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.log import logger
from astrbot_plugin_scoped_memory.tests.support.plugin import loaded

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


@pytest.fixture(autouse=True)
def in_chinese() -> Iterator[None]:
    """What comes after is in the language of an owner who has set none."""
    yield
    logger.speak("zh")


@pytest.mark.parametrize(
    ("language", "line"), [("zh-CN", "读到笔记 1 段"), ("en-US", "Pieces of notes read: 1")]
)
async def test_the_engine_speaks_in_the_log_of_the_bot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, language: str, line: str
) -> None:
    note = tmp_path / "memory" / "scopes" / "家人" / "a.md"
    note.parent.mkdir(parents=True)
    note.write_text("# 路由器\n\n密码在抽屉里\n", encoding="utf-8")
    plugin = loaded(tmp_path, language=language)
    with caplog.at_level(logging.INFO):
        plugin.open()
        try:
            await until_true(lambda: line in caplog.messages)
        finally:
            await plugin.close()
    assert [record.levelname for record in caplog.records if record.message == line] == ["INFO"]
    caplog.clear()
    logger.info("notes_read", count=1)
    assert line not in caplog.messages
