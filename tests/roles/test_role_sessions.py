"""A session's note through the front door of the engine: found by its role, and by no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ConversationId, Refused
from astrbot_plugin_scoped_memory.llm_memory.models.roles import (
    RoleLease,
    RoleNote,
)
from astrbot_plugin_scoped_memory.llm_memory.roles.role_seat import lease_file
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.storage.held_file import HeldFile
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.engine

HERE = group(777, persona="backend")
TEXT = "连接池的上限定为 40，压测跑了三百个用例。"


def held(root: Path) -> HeldFile:
    file = HeldFile(lease_file(EnginePaths.under(root).leases, "backend"))
    assert file.take({"client": "cursor"})
    return file


async def note(rig: Rig, token: str, where: ConversationId = HERE) -> object:
    said = RoleNote(RoleLease("backend", token), TEXT, "cursor")
    return await rig.engine.service.note_role(said, conversation_id=where)


async def test_without_the_lease_or_off_the_record_nothing_is_written(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        assert await note(rig, "x" * 43) == Refused("role_held", detail="process ? (?)")
        file = held(tmp_path)
        await rig.engine.service.pause(conversation_id=HERE, actor=person(1, admin=True))
        assert await note(rig, file.token) == Refused("off_the_record")
        file.release()
    assert not (tmp_path / "memory" / "roles").exists()


async def test_where_the_map_is_broken_no_role_is_written(tmp_path: Path) -> None:
    async with running(tmp_path, {HERE.umo: "no/scope"}, follow=False) as rig:
        file = held(tmp_path)
        assert isinstance(await note(rig, file.token), Refused)
        file.release()
    assert not (tmp_path / "memory" / "roles").exists()
