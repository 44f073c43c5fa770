"""A session's note through the front door of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.roles import RoleLease, RoleNote
from astrbot_plugin_scoped_memory.llm_memory.roles.role_seat import RoleSeat
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running

pytestmark = pytest.mark.engine

HERE = group(777, persona="backend")


@pytest.mark.parametrize("broken", [False, True])
async def test_off_the_record_or_where_the_map_is_broken_no_role_is_written(
    tmp_path: Path, broken: bool
) -> None:
    async with running(tmp_path, {HERE.umo: "no/scope" if broken else "家人"}, follow=False) as rig:
        seat = RoleSeat(EnginePaths.under(tmp_path).leases, "backend", rig.clock)
        lease, service = seat.take("cursor"), rig.engine.service
        assert isinstance(lease, RoleLease)
        if not broken:
            await service.pause(conversation_id=HERE, actor=person(1, admin=True))
        note = RoleNote(lease, "连接池的上限定为 40。", "cursor")
        assert isinstance(await service.note_role(note, conversation_id=HERE), Refused)
        seat.release()
    assert not (tmp_path / "memory" / "roles").exists()
