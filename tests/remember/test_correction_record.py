"""The record of corrections in memory is what it would be after a restart, whatever was noted."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.models.deeds import CORRECTIONS, DeedKind
from astrbot_plugin_scoped_memory.llm_memory.remember.deeds import Deeds, lost
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.tests.support.engines import Ticker

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
IDS = ("m-aaaa", "m-bbbb")
SCOPES = ("家人", "公司")

kinds = st.sampled_from([*map(str, CORRECTIONS), "drop", "by hand", "back"])
steps = st.lists(
    st.tuples(kinds, st.sampled_from(SCOPES), st.sampled_from(IDS), st.integers(-3, 6)),
    max_size=12,
)


def known(record: Deeds) -> list[object]:
    """All that others learn from the record."""
    pairs = [(scope, memory_id) for scope in (*SCOPES, "public") for memory_id in IDS]
    return [
        *(record.of_scope(scope) for scope in (*SCOPES, "public")),
        *(record.was_taken_out(*pair) for pair in pairs),
        *(record.is_purged(*pair) for pair in pairs),
    ]


@given(steps)
def test_it_is_what_a_restart_reads(made: list[tuple[str, str, str, int]]) -> None:
    async def play(root: Path) -> None:
        state, clock = SqliteStateStore(root / "state.sqlite"), Ticker()
        state.open()
        record = Deeds(state, clock)
        record.load()
        numbers: list[int] = []
        for what, scope, memory_id, number in made:
            memory = Memory(memory_id, f"{memory_id}对花生过敏", NOW)
            if what == "drop":
                await record.drop(numbers[abs(number) :][:1])
            elif what == "by hand":
                await record.forgotten_by_hand([(scope, memory)] * 3)
            elif what == "back":
                await record.changed_by_hand([(scope, None, scope, memory)])
            else:
                at = clock() + timedelta(hours=number)
                target = SCOPES[scope == SCOPES[0]]
                deed = lost(DeedKind(what), scope, memory, target=target, at=at)
                numbers += await record.note([deed])
            fresh = Deeds(state, clock)
            fresh.load()
            assert known(record) == known(fresh)
        state.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))
