"""What a conversation is told of what it left in a former scope."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.core.commands.scope_moves import left_text
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import Remainder
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


def test_who_left_words_in_public_is_told_that_everybody_sees_them() -> None:
    texts, own = Texts("zh-CN"), Scope.parse("dm-1", derived=True)
    for source, everybody in ((PUBLIC, True), (Scope.parse("dm-2", derived=True), False)):
        left = Remainder(source, own, frozenset({"qq:FriendMessage:1"}), False, False, memories=1)
        assert ("谁都看得到" in left_text(texts, left)) is everybody
