"""An admin's accept publishes exactly the bytes that were shown, which name neither the scope, nor
the conversation, nor who proposed it. That nothing else is told elsewhere: `tests/laws`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, Refused, Stored
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import proposal_key
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import Draft, RecordFile, Reference
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import normalise
from astrbot_plugin_scoped_memory.tests.support.deciding import Accept, Reject
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = pytest.mark.engine

FAMILY = group(777)
ADMIN = person(9, "站长", admin=True)
Publish = partial(Accept, to=RecordFile.DECISIONS)


HIDDEN = (
    "{}说窗帘选灰的",
    "窗帘选灰的，{}同意",
    "窗帘选灰的 @{}",
    "窗帘选灰的 \\{}",
    "窗帘选灰的" + "，免得再洗一次" * 20 + "，{}说的",
)
JOINED = ("\u200b", "\u00ad", "\ufe0f", "\u202e", "")
NAMED = ("小明", "家人", "10001", "aiocqhttp:GroupMessage:777", "aiocqhttp:10001")


@pytest.mark.parametrize("named", NAMED)
async def test_what_is_shown_names_nobody(tmp_path: Path, named: str) -> None:
    forbidden = [normalise(name) for name in NAMED]
    async with running(tmp_path, clock=StandingClock()) as rig:
        service = rig.engine.service
        nameless = replace(ADMIN, person="aiocqhttp:10001", name="10001")
        for number, (joined, form) in enumerate(product(JOINED, HIDDEN)):
            text = form.format(joined.join(named))
            for words, why in ((text, "洗过了"), (f"窗帘选第 {number} 种", text)):
                draft = MemoryDraft(words, why, actor=person(10001), proposed=True)
                stored = await service.remember(draft, conversation_id=FAMILY)
                if isinstance(stored, Refused):
                    continue
                change = Publish(stored.memory.memory.memory_id, reference=Reference("12"))
                # A platform may tell no name: then it tells the account.
                shown = await service.decide(change, conversation_id=FAMILY, actor=nameless)
                if isinstance(shown, Draft):
                    said = normalise(shown.text.replace(proposal_key(change.proposal), ""))
                    assert not [one for one in forbidden if one in said], text


async def test_a_purged_proposal_leaves_its_words_in_the_record_alone(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        service = rig.engine.service
        at: dict[str, Any] = {"conversation_id": FAMILY, "actor": ADMIN}
        for decided in (True, False):
            draft = MemoryDraft(f"窗帘用 ZX000{decided:d}Q 号布", "耐洗", proposed=True)
            stored = await service.remember(draft, conversation_id=FAMILY)
            assert isinstance(stored, Stored)
            memory_id = stored.memory.memory.memory_id
            shown = await service.decide(Publish(memory_id), **at)
            assert isinstance(shown, Draft)
            if decided:
                await service.decide(Publish(memory_id, shown=shown.digest), **at)
            await service.forget(memory_id, **at, for_good=True)
            late = await service.decide(Publish(memory_id, shown=shown.digest), **at)
            assert isinstance(late, Refused)
        await rig.engine.sleep.run_once("nightly")
    assert _holding(tmp_path, b"ZX0000Q") == set()
    assert _holding(tmp_path, b"ZX0001Q") == {"memory/shared/DECISIONS.md"}


def _holding(root: Path, word: bytes) -> set[str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix() for path in files if word in path.read_bytes()}


@pytest.mark.parametrize("meanwhile", ["forgotten", "purged", "rejected", "edited"])
async def test_what_was_taken_back_while_another_accept_ran_is_not_published(
    tmp_path: Path, meanwhile: str
) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        service = rig.engine.service
        at: dict[str, Any] = {"conversation_id": FAMILY, "actor": ADMIN}
        draft = MemoryDraft("窗帘用灰布", "耐洗", actor=person(10001), proposed=True)
        stored = await service.remember(draft, conversation_id=FAMILY)
        assert isinstance(stored, Stored)
        memory_id = stored.memory.memory.memory_id
        async with service.parts.recorder._lock:
            waiting = asyncio.ensure_future(service.decide(Publish(memory_id, unseen=True), **at))
            await asyncio.sleep(0.05)
            match meanwhile:
                case "rejected":
                    await service.decide(Reject(memory_id), **at)
                case "edited":
                    await service.edit(memory_id, "窗帘用白布", **at)
                case _:
                    await service.forget(memory_id, **at, for_good=meanwhile == "purged")
        assert await waiting == Refused("no_proposal")
        assert not (tmp_path / "memory" / "shared").exists()
