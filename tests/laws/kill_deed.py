"""What a deed of the kill table is: it is acknowledged, and may be cut off at any moment.

A new one is a class in one of the files beside this one: what stands before it, what is done, and
what is to be compared beside the facts of ``kill_facts.facts_of``. Its place in the list at the end
of that file puts it into the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
)
from astrbot_plugin_scoped_memory.tests.fakes.words import NoWords
from astrbot_plugin_scoped_memory.tests.laws.kill_facts import (
    Facts,
    cut_off,
    differences,
    facts_of,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    Ticker,
    group,
    person,
    running,
)

FAMILY, WORK, SQUARE = group(777), group(888), group(999)
ADMIN = person(9, "站长", admin=True)
PEANUTS, KEY, TENT = "奶奶对花生过敏", "备用钥匙在花盆下面", "帐篷在阁楼里"

type Tell = Callable[..., None]


class Heard(Protocol):
    """Somebody who is told what was acknowledged."""

    def acknowledge(self, *facts: str) -> None: ...


type Window = Callable[[], AbstractContextManager[Heard]]
"""Opened around what may be cut off."""


def opened(
    root: Path, scope_map: Mapping[str, object] = MAP, **options: Any
) -> AbstractAsyncContextManager[Rig]:
    """An engine without indexes."""
    return running(root, scope_map, follow=False, words=NoWords(), clock=Ticker(), **options)


class Deed:
    """What stands before it, the deed, and what is to be looked at afterwards.

    ``act`` may be asked again after it was cut off, over what that left: as a person does, it looks
    first whether there is anything left to do.
    """

    in_steps = False
    """It may be cut off between parts that are each done or not done."""
    torn = False
    """What it appends may be cut off in the middle."""
    places: tuple[ConversationId, ...] = (FAMILY, WORK, SQUARE)

    @property
    def name(self) -> str:
        return type(self).__name__

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        """Without indexes: they can be made again, and another law holds them."""
        return running(root, follow=False, words=NoWords(), clock=Ticker())

    async def prepare(self, root: Path) -> None:
        """Leave a folder over which the deed can be done."""
        async with self.engine(root) as rig:
            await self.before(rig)

    async def before(self, rig: Rig) -> None:
        """What was said before."""
        await rig.remember(PEANUTS, FAMILY)
        await rig.remember(KEY, FAMILY)
        await rig.remember(TENT, SQUARE)

    async def act(self, rig: Rig, tell: Tell) -> None:
        """Do it, and ``tell`` what was acknowledged before all of it is."""
        raise NotImplementedError

    async def facts(self, rig: Rig) -> Facts:
        """What is to be compared."""
        return await facts_of(rig, self.places)

    async def play(self, root: Path, window: Window) -> tuple[Facts, Facts]:
        """Do it undisturbed over a prepared folder: the facts before and after."""
        async with self.engine(root) as rig:
            start = await self.facts(rig)
            with window() as heard:
                await self.act(rig, heard.acknowledge)
            return start, await self.facts(rig)

    def cut_off(self, found: Facts, start: Facts, whole: Facts) -> list[str]:
        """What is not as a kill may leave it."""
        if self.in_steps:
            return cut_off(found, start, whole)
        return differences(found, start) and differences(found, whole)

    def unlike(self, found: Facts, start: Facts, whole: Facts) -> list[str]:
        """What is not as if it had never been cut off, once it was done again."""
        return differences(found, whole)


class Opening(Deed):
    """What an engine does by itself when it opens."""

    in_steps = True

    async def act(self, rig: Rig, tell: Tell) -> None:
        pass

    async def play(self, root: Path, window: Window) -> tuple[Facts, Facts]:
        with window():
            async with self.engine(root) as rig:
                start = await self.facts(rig)
                await self.act(rig, lambda *_: None)
                return start, await self.facts(rig)
