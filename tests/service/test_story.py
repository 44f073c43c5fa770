"""What one scope was told stays in it, whatever happens to the bot between."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Expanded,
    MemoryDraft,
    PointerNotVisible,
    Rejected,
    RejectReason,
)
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, group, private, running

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"
QUESTION = "给奶奶做饭，菜里能放花生吗"
SHUT = "图书馆周一闭馆"


async def test_a_family_memory_is_recalled_in_the_family_and_nowhere_else(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        stored = await rig.remember(PEANUTS, group(777))
        await rig.remember(SHUT, group(999))
    async with running(tmp_path) as rig:
        await rig.until_indexed()
        assert await rig.texts(QUESTION, private(1002)) == [PEANUTS]
        for stranger in (group(888), group(999), private(1001)):
            assert PEANUTS not in await rig.texts(QUESTION, stranger)
            expansion = await rig.engine.service.expand(
                stored.memory.pointer, conversation_id=stranger
            )
            assert expansion == PointerNotVisible(stored.memory.pointer)
        for anyone in (group(777), private(1002), group(888), group(999), private(1001)):
            assert await rig.texts("图书馆周一开门吗", anyone) == [SHUT]
        seen = await rig.engine.service.expand(stored.memory.pointer, conversation_id=private(1002))
        assert isinstance(seen, Expanded)
        assert seen.memory.memory.judgment == PEANUTS


async def test_a_new_mapping_changes_what_is_read_and_written_next_and_nothing_before(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        await rig.remember(SHUT, group(999))
        await rig.remember("公司的门禁密码每周换", group(888))
    async with running(tmp_path, {**MAP, "aiocqhttp:GroupMessage:999": "公司"}) as rig:
        assert "公司的门禁密码每周换" in await rig.texts("门禁密码换了吗", group(999))
        await rig.remember("会议室在三楼靠窗", group(999))
        assert "会议室在三楼靠窗" in await rig.texts("会议室在几楼", group(888))
        assert await rig.texts("会议室在几楼", private(1001)) == []
        assert SHUT in await rig.texts("图书馆周一开门吗", private(1001))
    async with running(tmp_path) as rig:
        assert "公司的门禁密码每周换" not in await rig.texts("门禁密码换了吗", group(999))
        assert "会议室在三楼靠窗" in await rig.texts("会议室在几楼", group(888))
        await rig.remember("羽毛球场周三免费", group(999))
        assert "羽毛球场周三免费" in await rig.texts("羽毛球场哪天免费", private(1001))


async def test_a_typo_in_the_map_publishes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, {**MAP, "aiocqhttp:GroupMessage:999": "家 人"}) as rig:
        assert any(n.subject == "aiocqhttp:GroupMessage:999" for n in rig.notices)
        outcome = await rig.engine.service.remember(
            MemoryDraft("小红的手术在周五"), conversation_id=group(999)
        )
        assert isinstance(outcome, Rejected)
        assert outcome.reason is RejectReason.READ_ONLY
        await rig.remember(PEANUTS, group(777))
        await rig.remember(SHUT, private(1001))
        assert await rig.texts("奶奶周一去图书馆吗", group(999)) == [SHUT]
