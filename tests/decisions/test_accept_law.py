"""An accept that ends before or after any one thing that it writes: it is then not done at all, or
is completed at the next start, once and under its number. What a person wrote stays as it is."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    accepted_as,
    is_proposed,
    proposal_key,
)
from astrbot_plugin_scoped_memory.llm_memory.decisions.shared_files import SharedFiles
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import (
    Accept,
    Recorded,
    RecordFile,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.record_intents import RecordIntents
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.decision_record import records_of
from astrbot_plugin_scoped_memory.tests.decisions.test_deciding import (
    accepted,
    decide,
    deciding,
    shared,
)
from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.support.programs.crashes import crash_at
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = [pytest.mark.engine, pytest.mark.property]

PERSONS = "# 决定\r\n人写的，没有换行"
WRITES = ((RecordIntents, "begin"), (RecordIntents, "advance"), (SharedFiles, "append"))


async def test_killed_at_any_moment_it_is_done_once_or_not_at_all(tmp_path: Path) -> None:
    left: set[tuple[bool, bool]] = set()
    for moment in count(1):
        if not await is_killed(tmp_path / str(moment), moment, left):
            break
    # Neither record nor status; the record alone; both.
    assert left == {(False, False), (True, False), (True, True)}


async def is_killed(root: Path, moment: int, left: set[tuple[bool, bool]]) -> bool:
    """Accept, end at this moment, start again. Returns False if it had been done by then. ``left``
    takes what the files say before the next start: whether there is a record, and a status."""
    async with deciding(root) as (rig, (memory_id,)):
        shared(root).parent.mkdir(parents=True)
        shared(root).write_bytes(PERSONS.encode())
        with crash_at(moment, *WRITES) as clockwork:
            await decide(rig, Accept(memory_id, unseen=True))
    entry = root / "memory" / "scopes" / "家人" / "decisions.md"
    left.add(("## D-0001" in shared(root).read_text("utf-8"), "D-0001" in entry.read_text("utf-8")))
    async with running(root, clock=StandingClock()) as rig:
        (stored,) = rig.engine.rooms.catalogue.all()
        written = len(records_of(shared(root).read_bytes().decode()))
        assert accepted_as(stored.memory) == written
        assert is_proposed(stored.memory) is (not written)
        again = await accepted(rig, memory_id)
        assert again == Recorded(1, RecordFile.DECISIONS, 4, again=bool(written))
    text = shared(root).read_bytes().decode()
    (found,) = records_of(text)
    assert found.record.proposal == proposal_key(memory_id)
    assert text.startswith(f"{PERSONS}\r\n\r\n## D-0001 ")
    return clockwork.struck
