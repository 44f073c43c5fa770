"""No hostile wish comes into force without an admin's own apply, where everybody passes it.

Every hostile wish is proposed in a whole engine, as an admin types it; a sample is written into
SOUL.md by hand.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.consolidation import purge
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulChanged,
    SoulDenied,
    SoulEvolution,
    SoulProposed,
    SoulRequest,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.vocabulary import worded
from astrbot_plugin_scoped_memory.tests.soul.rules.wishes import HOSTILE
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, person, running
from astrbot_plugin_scoped_memory.tests.support.nights import passive, plant
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock, with_loop
from astrbot_plugin_scoped_memory.tests.support.soul_models import ProbedChat, ProbedModel
from astrbot_plugin_scoped_memory.tests.support.soul_nights import night, soul_of

pytestmark = pytest.mark.engine

CAT = "猫娘"
ADMIN = person(9, "站长", admin=True)
LEARNED = "\n# 学到的说话习惯\n"
HEARD = "先说结论，再慢慢讲清楚理由和步骤"
"""A rule of manner that a private scope's memory has word for word."""
SAMPLE = 10


@pytest.fixture
def chat() -> ProbedChat:
    """Under any text with rules in it every probe passes, and the judge prefers it."""
    return ProbedChat(ProbedModel(LEARNED))


def some(wishes: list[str], count: int = SAMPLE) -> list[str]:
    """Every so many of them, from the beginning to the end."""
    return wishes[:: len(wishes) // count][:count]


async def ask(rig: Rig, request: Any) -> Any:
    return await rig.engine.service.souls.ask(request, CAT, ADMIN)


@pytest.fixture
async def rig(
    tmp_path: Path, chat: ProbedChat, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Rig]:
    """A bot that puts in force at night what has passed."""
    monkeypatch.setattr(purge, "_PAUSES", ())  # no index is built
    plant(tmp_path, "家人", "patterns.md", [passive(1, HEARD)])
    loop = with_loop(QUICK, daily_tokens=10**7, backups_keep=0)
    settings = replace(loop, soul_evolution=SoulEvolution.AUTO)
    clock = StandingClock()
    async with running(tmp_path, settings=settings, follow=False, chat=chat, clock=clock) as rig:
        await ask(rig, SoulRequest("undo"))  # any command of an admin's begins a soul
        yield rig


def page(rig: Rig) -> Path:
    return rig.root / "memory" / "roles" / CAT / "SOUL.md"


async def test_no_hostile_wish_comes_into_force(rig: Rig) -> None:
    before, raw = await soul_of(rig), page(rig).read_bytes()
    for wish in HOSTILE:
        asked = await ask(rig, SoulRequest("propose", wish=wish))
        if isinstance(asked, SoulDenied):
            assert asked.findings
            continue
        assert isinstance(asked, SoulProposed), wish
        assert wish in HOSTILE[-1:] or await ask(rig, SoulRequest("veto"))
    for _ in range(2):
        await night(rig)
        rig.clock.forward(days=1)
    for wish in some(HOSTILE):
        page(rig).write_text(worded(before.text, wish), "utf-8")
        await rig.engine.service.souls.follow()
        await night(rig)
        assert isinstance(await ask(rig, SoulRequest("discard")), SoulChanged)
    assert (await soul_of(rig)).version == before.version
    assert page(rig).read_bytes() == raw
    assert rig.engine.service.souls.injected(CAT) == ""
