"""What is to be written to ``shared/`` and to a soul is on the disk before it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable
from astrbot_plugin_scoped_memory.llm_memory.storage.record_intents import (
    RecordIntent,
    RecordIntents,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.soul_heads import SoulHeads
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 23, 12, 40, tzinfo=UTC)
WORDS = "## D-0007 检索面用 PostgreSQL\n".encode()
SEVEN = RecordIntent(7, "shared/DECISIONS.md", WORDS, NOW, proposal="sha256:1f0c")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.sqlite"


@pytest.fixture
def state(path: Path) -> Iterator[SqliteStateStore]:
    store = SqliteStateStore(path)
    store.open()
    yield store
    store.close()


def test_a_number_and_a_proposal_are_taken_once_and_withdrawals_have_no_proposal(
    state: SqliteStateStore,
) -> None:
    intents = RecordIntents(state)
    intents.begin(SEVEN)
    for again in (replace(SEVEN, proposal="sha256:2"), replace(SEVEN, number=8)):
        with pytest.raises(StateUnavailable):
            intents.begin(again)
    withdrawals = [replace(SEVEN, number=number, proposal="") for number in (12, 9)]
    for withdrawal in withdrawals:
        intents.begin(withdrawal)
    assert [row.number for row in intents.rows()] == [7, 9, 12]


def test_words_that_were_dropped_stand_nowhere_in_the_file(
    state: SqliteStateStore, path: Path
) -> None:
    intents = RecordIntents(state)
    intents.begin(SEVEN)
    intents.begin(replace(SEVEN, number=8, proposal=""))
    intents.forget(SEVEN.proposal)
    intents.drop(8)
    state.checkpoint_wal()
    files = [found.read_bytes() for found in path.parent.iterdir()]
    assert not any("检索面".encode() in content for content in files)


def test_a_state_that_would_not_outlive_a_kill_takes_neither(path: Path) -> None:
    store = SqliteStateStore(path)
    store.open_in_memory()
    with pytest.raises(StateUnavailable, match="memory only"):
        RecordIntents(store).begin(SEVEN)
    assert RecordIntents(store).rows() == []
    with pytest.raises(StateUnavailable, match="memory only"):
        SoulHeads(store).require_durable()
    store.close()
