"""Without an embedder there are words alone: no index of vectors is opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, is_stored
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.index.ports import Page
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import MemoryStore
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running

pytestmark = pytest.mark.engine

HERE, OFFICE = group(777), group(888)


class Unasked(MemoryStore):
    """Of which nothing may be asked but to be gone."""

    def load(self, fingerprint: Fingerprint, most: int) -> Iterator[Page]:
        raise AssertionError("the index of vectors was opened")


async def test_recall_and_its_status_say_that_words_alone_serve(tmp_path: Path) -> None:
    async with running(tmp_path, words_alone=True, store=Unasked()) as rig:
        stored = await rig.remember("爷爷对花生过敏", HERE)
        await rig.remember("报销要在周五以前交", OFFICE)
        await rig.until_indexed()
        found = await rig.recall("谁对花生过敏？", HERE)
        assert [hit.memory_id for hit in found.hits] == [stored.memory.memory.memory_id]
        assert found.trace.arm is Arm.LEXICAL
        assert found.trace.notes == []
        status = await rig.engine.status()
        assert (status.index, status.embedder) == ("lexical", "lexical")
        assert (status.backlog, status.leaving) == (0, 0)
        assert not rig.engine.parts.trust.cohorts
        again = await rig.engine.service.remember(
            MemoryDraft("爷爷花生过敏", actor=person(10001)), conversation_id=HERE
        )
        assert is_stored(again, "reinforced")
    assert rig.notices == []
    names = {path.name for path in (tmp_path / "index").iterdir()}
    assert {name.split("-")[0] for name in names} == {"words.sqlite"}
