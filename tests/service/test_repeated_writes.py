"""A write that is repeated by its key is one write, whatever a person did to it meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, Reason, Refused, Stored
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person

pytestmark = pytest.mark.engine

HOME, ADMIN = group(777), person(9, "管理员", admin=True)
DRAFT = MemoryDraft("奶奶的手术在周五", actor=ADMIN, key="k" * 32)


async def remembered(rig: Rig, draft: MemoryDraft = DRAFT) -> Stored | Refused:
    return await rig.engine.service.remember(draft, conversation_id=HOME)


@pytest.mark.parametrize("deed", ["forgotten", "forgotten for good", "moved"])
async def test_a_repeated_call_brings_back_nothing_that_was_taken_out(rig: Rig, deed: str) -> None:
    first = await remembered(rig)
    assert isinstance(first, Stored)
    assert await remembered(rig) == first
    named = first.memory.memory.memory_id
    if deed == "moved":
        await rig.move(named, "公司", HOME, ADMIN)
    else:
        await rig.forget(named, HOME, ADMIN, for_good=deed != "forgotten")
    assert await remembered(rig) == Refused(Reason.CORRECTED)
    assert await rig.newest(HOME) == []


async def test_said_anew_it_is_stored_and_after_an_undo_it_is_the_same(rig: Rig) -> None:
    first = await remembered(rig)
    assert isinstance(first, Stored)
    named = first.memory.memory.memory_id
    await rig.forget(named, HOME, ADMIN)
    assert isinstance(await remembered(rig, replace(DRAFT, key="n" * 32)), Stored)
    await rig.restore(named, HOME, ADMIN)
    again = await remembered(rig)
    assert isinstance(again, Stored)
    assert again.memory.memory.memory_id == named
