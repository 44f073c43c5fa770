"""A history that may hold another scope's words is known as long as it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.reflection import model_histories
from astrbot_plugin_scoped_memory.tests.support.engines import running

pytestmark = pytest.mark.engine


async def test_a_mixed_history_stays_mixed_when_many_others_were_used_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_histories, "_MOST_CACHED", 4)
    async with running(tmp_path) as rig:
        histories = rig.engine.parts.histories
        assert not await histories.is_mixed("q:GroupMessage:7", "h", "家人")
        assert await histories.is_mixed("q:GroupMessage:7", "h", "公司")
        for number in range(9):
            await histories.is_mixed(f"q:GroupMessage:{number + 100}", "h", "家人")
        assert histories.current_is_mixed("q:GroupMessage:7")
        assert await histories.is_mixed("q:GroupMessage:7", "h", "公司")
        assert not await histories.is_of("q:GroupMessage:7", "h", "公司")
        assert not await histories.is_mixed("q:GroupMessage:7", "h2", "公司")  # /new
        assert not histories.current_is_mixed("q:GroupMessage:7")
