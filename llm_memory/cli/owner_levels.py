"""What the owner's commands work with: the levels of a folder, and what answers at each."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ..catalogue.rules.pointers import is_note_id, pointed_id
from ..errors import HomeError
from ..home.memory_home import MemoryHome, open_home
from ..mcp_server.levels import Level, levels_of
from ..models.data_models import StoredMemory
from ..sharing.ports import OwnerMemory
from .home_flags import project_folder, read_settings
from .messages import shown, warn
from .paths import plugin_version


@dataclass(frozen=True, slots=True)
class OwnerLevel:
    """A level that a person sees in a folder, and what answers the owner there. The tools of
    agents get the level alone."""

    level: Level
    owner: OwnerMemory

    def as_json(self, stored: StoredMemory) -> dict[str, object]:
        """Returns what scripts read of a memory."""
        memory = stored.memory
        return {
            "id": memory.memory_id,
            "level": self.level.label(stored.scope.name),
            "path": stored.path,
            "text": memory.judgment,
            "said_at": None if memory.undated else memory.created_at.isoformat(),
            "who": memory.who,
            "trusted": memory.provenance.vouched,
        }

    def pointer(self, stored: StoredMemory) -> str:
        """Returns where a memory stands, as ``search`` and ``read`` write it."""
        return shown(f"{self.level.label(stored.scope.name)}/{stored.pointer}")


def levels_here(home: MemoryHome) -> tuple[OwnerLevel, ...]:
    """Returns the levels that a person in this folder sees, the nearest first."""
    levels = levels_of(home)
    everywhere = OwnerLevel(levels.global_level, home.global_store.owner)
    if levels.project is None or home.project is None:
        return (everywhere,)
    return (OwnerLevel(levels.project, home.project.owner), everywhere)


def stores_here(levels: Sequence[OwnerLevel]) -> Sequence[OwnerLevel]:
    """Returns a level for each store: a project in the home sees what is global there, too."""
    return levels if levels[0].level.own_store else levels[:1]


def asked[T](args: argparse.Namespace, work: Callable[[Sequence[OwnerLevel]], Awaitable[T]]) -> T:
    """Returns what ``work`` makes of the levels of this folder. Raises HomeError, and NoOwner where
    another program has the store open and does not answer."""
    loaded = read_settings(args)
    home = open_home(loaded, project_folder(args), os.environ, plugin_version())
    warn((*loaded.warnings, *home.warnings))

    async def whole() -> T:
        home.start()
        try:
            return await work(levels_here(home))
        finally:
            await home.close()

    return asyncio.run(whole())


def memory_id_of(text: str) -> str:
    """Returns the id in an id or a pointer. Raises HomeError where it names no memory."""
    found = pointed_id(text)
    if found is None or is_note_id(found):
        raise HomeError("memories.no_id", name=shown(text[:80]))
    return found
