"""Asked for a person, recall tells what is known of that person: facts first, inside the scope."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor, MemoryKind
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import ConversationId
from astrbot_plugin_scoped_memory.tests.recall.test_topic_recall import asked, previews, remember
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person

pytestmark = pytest.mark.engine

FAMILY, COMPANY = group(777), group(888)
MING, WEN = person(1, "小明"), person(2, "小雯")


async def _known(rig: Rig) -> None:
    await remember(rig, "大伟是做产品经理的", FAMILY, WEN)
    await remember(rig, "昨天和大伟去爬了香山", FAMILY, WEN, MemoryKind.EVENT)
    await remember(rig, "大伟不吃香菜", FAMILY, WEN, MemoryKind.EMOTIONAL)
    await remember(rig, "小明对猫毛过敏", FAMILY, MING)
    await remember(rig, "厨房的灯泡是暖光的", FAMILY, MING)
    await remember(rig, "大伟的工资是两万", COMPANY, WEN)


async def _told(
    rig: Rig, query: str, where: ConversationId = FAMILY, who: Actor = MING, limit: int = 3
) -> list[str]:
    return previews(await asked(rig, query, where, who, limit))


async def test_what_is_known_of_another_comes_facts_first(rig: Rig) -> None:
    await _known(rig)
    for query in ("介绍一下大伟", "大伟是个什么样的人", "你知道大伟什么"):
        told = await _told(rig, query)
        assert set(told[:2]) == {"大伟不吃香菜", "大伟是做产品经理的"}, query
        assert "香山" in told[2], query


async def test_what_is_known_of_the_asker_begins_with_what_names_them(rig: Rig) -> None:
    await _known(rig)
    assert await _told(rig, "你知道我什么", limit=2) == ["小明对猫毛过敏", "厨房的灯泡是暖光的"]
    of_her = await _told(rig, "你对我了解多少", who=WEN, limit=5)
    assert "小明对猫毛过敏" not in of_her
    assert "大伟不吃香菜" in of_her


async def test_a_request_in_a_talk_needs_no_form_of_a_question(rig: Rig) -> None:
    await _known(rig)
    recall = await rig.recall("介绍一下大伟", FAMILY, 2, in_talk=True)
    assert set(previews(recall)) == {"大伟不吃香菜", "大伟是做产品经理的"}


async def test_it_stays_inside_the_scope(rig: Rig) -> None:
    await _known(rig)
    assert await _told(rig, "介绍一下大伟", COMPANY, WEN, 5) == ["大伟的工资是两万"]
    for where in (FAMILY, group(999)):
        assert "大伟的工资是两万" not in await _told(rig, "大伟是谁", where, WEN, 9)


async def test_the_name_of_a_thing_is_answered_as_any_question(rig: Rig) -> None:
    await _known(rig)
    assert await _told(rig, "介绍一下法国的首都") == []
    told = await _told(rig, "说说厨房的灯泡")
    assert told == ["厨房的灯泡是暖光的"]
