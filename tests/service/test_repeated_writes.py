"""A write that is repeated by its key is one write, whatever a person did to it meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    MemoryDraft,
    Reason,
    Refused,
    Stored,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.engine

HOME, ADMIN = group(777), person(9, "管理员", admin=True)
DRAFT = MemoryDraft("奶奶的手术在周五", actor=ADMIN, key="k" * 32)

type Deed = Callable[[Rig, str], Awaitable[object]]


def forget(rig: Rig, memory_id: str, *, for_good: bool = False) -> Awaitable[object]:
    return rig.engine.service.forget(
        memory_id, conversation_id=HOME, actor=ADMIN, for_good=for_good
    )


def move(rig: Rig, memory_id: str) -> Awaitable[object]:
    return rig.engine.service.move(memory_id, "公司", conversation_id=HOME, actor=ADMIN)


TAKEN_OUT: dict[str, Deed] = {
    "forgotten": forget,
    "forgotten for good": lambda rig, named: forget(rig, named, for_good=True),
    "moved": move,
}


async def remembered(rig: Rig) -> Stored | Refused:
    outcome = await rig.engine.service.remember(DRAFT, conversation_id=HOME)
    assert isinstance(outcome, Stored | Refused)
    return outcome


async def told(rig: Rig) -> list[str]:
    found = await rig.engine.service.newest(conversation_id=HOME)
    return [one.memory.judgment for one in found]


@pytest.mark.parametrize("deed", TAKEN_OUT.values(), ids=TAKEN_OUT)
async def test_a_repeated_call_brings_back_nothing_that_was_taken_out(
    tmp_path: Path, deed: Deed
) -> None:
    async with running(tmp_path) as rig:
        first = await remembered(rig)
        assert isinstance(first, Stored)
        assert await remembered(rig) == replace(first)
        await deed(rig, first.memory.memory.memory_id)
        assert await remembered(rig) == Refused(Reason.CORRECTED)
        assert await told(rig) == []


async def test_said_anew_it_is_stored_and_after_an_undo_it_is_the_same(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        first = await remembered(rig)
        assert isinstance(first, Stored)
        await forget(rig, first.memory.memory.memory_id)
        anew = replace(DRAFT, key="n" * 32)
        assert isinstance(await rig.engine.service.remember(anew, conversation_id=HOME), Stored)
        await rig.engine.service.restore(
            first.memory.memory.memory_id, conversation_id=HOME, actor=ADMIN
        )
        again = await remembered(rig)
        assert isinstance(again, Stored)
        assert again.memory.memory.memory_id == first.memory.memory.memory_id
