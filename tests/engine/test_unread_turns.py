"""What was said and is not read yet is recalled by its words, by whom its memory would be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import DmScope, Expanded, Purged
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    answer,
    learned,
    reflect,
    say,
    texts_of,
)

SAID, ASKED = "门禁卡放在鞋柜第二格", "门禁卡放在哪儿"
ADMIN = person(9, "管理员", admin=True)
CHAT, OUTSIDE = private(1002), group(888)  # of the family's scope, and of another one's


async def test_it_is_recalled_in_its_scope_alone_and_is_in_no_index(tmp_path: Path) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        await say(rig, SAID)
        await rig.engine.loop.reflection.read_due()
        assert await rig.texts(ASKED, CHAT) == [SAID]
        assert await rig.texts(ASKED, FAMILY) == [SAID]
        assert await rig.texts(ASKED, OUTSIDE) == []
        await rig.until_indexed()
        assert (await rig.engine.status()).by_scope == {}
        recall = await rig.engine.service.recall(
            ASKED, conversation_id=CHAT, limit=3, token_budget=600, actor=person(2)
        )
        (hit,) = recall.hits
        assert (hit.who, hit.unvouched) == ("小明", True)
        expanded = await rig.engine.service.expand(hit.pointer, conversation_id=CHAT)
        assert isinstance(expanded, Expanded)
        assert not expanded.memory.memory.active
        hidden = await rig.engine.service.expand(hit.pointer, conversation_id=OUTSIDE)
        assert not isinstance(hidden, Expanded)
    index = [path for path in (tmp_path / "index").rglob("*") if path.is_file()]
    assert index
    assert not any("鞋柜".encode() in path.read_bytes() for path in index)
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        assert await rig.texts(ASKED, CHAT) == [SAID]


async def test_once_it_was_read_what_was_learned_takes_its_place(tmp_path: Path) -> None:
    chat = ScriptedChat(answer(learned("门禁卡在鞋柜第二格里")))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, SAID)
        await rig.engine.loop.reflection.read_due()
        await reflect(rig)
        assert await rig.texts(ASKED, CHAT) == ["门禁卡在鞋柜第二格里"]


@pytest.mark.parametrize("text", ["门禁卡放在哪儿？", "门禁卡呢", "哈哈哈哈", "你好呀，今天挺暖和"])
async def test_questions_and_small_talk_are_not_recalled(tmp_path: Path, text: str) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        await say(rig, text)
        await rig.engine.loop.reflection.read_due()
        assert await rig.texts(text, CHAT) == []


async def test_what_was_said_in_private_is_told_to_its_speaker_alone(tmp_path: Path) -> None:
    alone, others = private(5001), private(5002)
    settings = replace(QUICK, dm_scope=DmScope.PUBLIC)
    async with running(tmp_path, chat=ScriptedChat(), settings=settings) as rig:
        await say(rig, SAID, where=alone, who=person(5001))
        await rig.engine.loop.reflection.read_due()
        assert await rig.texts(ASKED, alone) == [SAID]
        assert await rig.texts(ASKED, others) == []
        assert await rig.texts(ASKED, group(999)) == []
        assert await rig.texts(ASKED, FAMILY) == []


async def test_off_the_record_nothing_of_it_is_told_anywhere(tmp_path: Path) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        await say(rig, SAID)
        await rig.engine.loop.reflection.read_due()
        await rig.engine.service.pause(conversation_id=FAMILY, actor=ADMIN)
        assert await rig.texts(ASKED, CHAT) == []
        await rig.engine.service.resume(conversation_id=FAMILY, actor=ADMIN)
        assert await rig.texts(ASKED, CHAT) == [SAID]


async def test_forgotten_by_its_speaker_it_is_neither_told_nor_learned(tmp_path: Path) -> None:
    chat = ScriptedChat(otherwise=answer(learned(SAID)))
    async with running(tmp_path, chat=chat) as rig:
        service = rig.engine.service
        await say(rig, SAID)
        await rig.engine.loop.reflection.read_due()
        (hit,) = (await service.recall(ASKED, conversation_id=CHAT, limit=3, token_budget=600)).hits
        for who, done in ((person(2), False), (person(1), True)):
            outcome = await service.forget(hit.memory_id, conversation_id=CHAT, actor=who)
            assert isinstance(outcome, Purged) is done
        assert await rig.texts(ASKED, CHAT) == []
        await reflect(rig)
        assert texts_of(rig) == {}
