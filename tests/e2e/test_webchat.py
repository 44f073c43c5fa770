"""The panel's own chat gets its scope from the same function."""

import uuid

import pytest

from astrbot_plugin_scoped_memory.harness.panel import USER
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import ModelRequest, call
from astrbot_plugin_scoped_memory.tests.e2e.cast import MAP, MEMBER, ROOM_A

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "阁楼的望远镜归谁保管"
ANSWER = "阁楼的望远镜归姐姐保管"


def asked(rig: Rig) -> ModelRequest:
    """The last turn with our question; AstrBot also asks the model for a title of the chat."""
    return [r for r in rig.model.asked(QUESTION) if r.user_text == QUESTION][-1]


async def test_the_web_chat_reads_and_writes_the_scope_it_is_mapped_to(rig: Rig) -> None:
    await rig.remember(ROOM_A, MEMBER, ANSWER)
    mapped, unmapped = str(uuid.uuid4()), str(uuid.uuid4())
    umo = f"webchat:FriendMessage:webchat!{USER}!{mapped}"
    await rig.panel.map_scopes({**MAP, umo: "测试甲"})
    try:
        assert await rig.panel.chat(mapped, QUESTION) != ""
        assert ANSWER in asked(rig).everything
        assert await rig.panel.chat(unmapped, QUESTION) != ""
        assert ANSWER not in asked(rig).everything
        arguments = {
            "judgment": "网页里说的暗号是蓝色风筝",
            "reasoning": "在网页聊天里说的。",
            "tags": [],
            "strength": 50,
            "memory_type": "knowledge",
        }
        rig.model.on("网页上记一下", call("core_memory_remember", arguments), then="好。")
        await rig.panel.chat(mapped, "网页上记一下")
        assert scopes_with(rig.memory, "网页里说的暗号是蓝色风筝") == {"测试甲"}
    finally:
        await rig.panel.map_scopes(MAP)
