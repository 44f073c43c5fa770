"""A role has one holder at a time. The second is told who it is, and takes over at its death."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.roles import RoleLease
from astrbot_plugin_scoped_memory.llm_memory.roles.role_notes import RoleSeat, lease_file, not_held
from astrbot_plugin_scoped_memory.llm_memory.storage.held_file import is_held_with

pytestmark = pytest.mark.unit

AT = datetime(2026, 11, 27, 10, 20, 31, tzinfo=timezone(timedelta(hours=8)))
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
from datetime import datetime
from pathlib import Path
import checkout
checkout.register()
from astrbot_plugin_scoped_memory.llm_memory.roles.role_notes import RoleSeat
seat = RoleSeat(Path(sys.argv[2]), "后端", datetime.now)
seat.take("cursor")
print("taken", flush=True)
time.sleep(600)
"""


def seat(folder: Path, role: str = "后端") -> RoleSeat:
    return RoleSeat(folder, role, lambda: AT)


def test_the_second_is_told_who_holds_the_role_until_it_is_given_back(tmp_path: Path) -> None:
    first, second, other = seat(tmp_path), seat(tmp_path), seat(tmp_path, "qa")
    lease = first.take("cursor")
    assert isinstance(lease, RoleLease)
    assert first.take("another name") == lease
    assert is_held_with(lease_file(tmp_path, lease.folder), lease.token)
    assert second.take("codex") == Refused("role_held", detail="cursor (2026-11-27T10:20:31+08:00)")
    assert isinstance(other.take(), RoleLease)
    first.release()
    taken = second.take("codex")
    assert isinstance(taken, RoleLease)
    assert taken.token != lease.token
    second.release()
    other.release()
    assert not_held(lease_file(tmp_path, lease.folder)) == Refused(
        "role_held", detail="process ? (?)"
    )


def test_a_role_whose_name_is_a_path_has_a_file_of_the_folder_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "roles"
    taken = seat(folder, "../x").take()
    assert isinstance(taken, RoleLease)
    assert [path.parent for path in tmp_path.rglob("*.lock")] == [folder]


@pytest.mark.process
def test_the_death_of_the_holder_frees_the_role(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(SCRIPTS), str(tmp_path)], stdout=subprocess.PIPE
    )
    mine = seat(tmp_path)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"taken"
        told = mine.take()
        assert isinstance(told, Refused)
        assert told.detail.startswith("cursor ")
    finally:
        holder.kill()
        holder.communicate()
    assert isinstance(mine.take(), RoleLease)
    mine.release()
