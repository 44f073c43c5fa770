"""The end of each soul's chain is kept by role, and says whose it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.storage.soul_heads import SoulHead, SoulHeads
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore

pytestmark = pytest.mark.unit

ONE, TWO = SoulHead(1, "ab", 1, "cd"), SoulHead(2, "ef", 2, "01")


def test_the_latest_is_there_after_a_kill_with_its_roles_scope(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    state = SqliteStateStore(path)
    state.open()
    heads = SoulHeads(state)
    assert heads.get("猫娘") is None
    heads.put("猫娘", ONE)
    heads.put("猫娘", TWO)
    heads.put("%none", ONE)
    other = SqliteStateStore(path)
    other.open()
    assert (SoulHeads(other).get("猫娘"), SoulHeads(other).get("%none")) == (TWO, ONE)
    other.close()
    with closing(sqlite3.connect(path)) as connection:
        rows = set(connection.execute("SELECT role, scope FROM soul_head"))
    assert rows == {("猫娘", "@role:猫娘"), ("%none", "@role:%none")}
    state.close()


def test_a_state_in_memory_says_so(tmp_path: Path) -> None:
    state = SqliteStateStore(tmp_path / "state.sqlite")
    state.open_in_memory()
    with pytest.raises(StateUnavailable, match="memory only"):
        SoulHeads(state).require_durable()
    state.close()
