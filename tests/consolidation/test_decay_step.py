"""A strength is weighed for the entry as it is when it is written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.consolidation.decay_step import DecayStep
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import Evidence
from astrbot_plugin_scoped_memory.tests.support.nights import passive

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("before", [{"active": True}, {"strength": 90}])
async def test_a_person_may_change_an_entry_before_it_is_written(before: dict[str, Any]) -> None:
    here = Scope.parse("家人")
    assert isinstance(here, Scope)
    now = StoredMemory(here, "patterns.md", passive(1, "奶奶爱喝乌龙茶", strength=50))
    stands = [replace(now, memory=replace(now.memory, **before))]
    served = Evidence(Key(here.name, now.memory.memory_id), useful=0, useless=1)
    taken: list[StoredMemory] = []

    def take_off(_: object) -> None:
        stands[0] = now  # as a person has it from here on

    parts: list[Any] = [
        SimpleNamespace(evidence=lambda _: [served], take_off=take_off),
        SimpleNamespace(replace=lambda stored, memory: replace(stored, memory=memory)),
        SimpleNamespace(get=lambda _: stands[0]),
        SimpleNamespace(writing=asyncio.Lock(), take=taken.append),
        None,
    ]
    done = await DecayStep(*parts).run(here, 1)
    assert [stored.memory.strength for stored in taken] == [47]
    assert done.faded == 1
