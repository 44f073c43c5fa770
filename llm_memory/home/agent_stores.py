"""The stores and scopes that an agent in a folder works with, for commands that work on files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..composition.paths import EnginePaths
from ..models.said import Said
from ..models.scope import PUBLIC, Scope
from ..storage.directory_lock import LOCK_NAME
from .memory_home import chosen_project, is_named, project_scope
from .project import home_paths, project_paths
from .settings import LoadedSettings

type LevelName = Literal["project", "global"]


@dataclass(frozen=True, slots=True)
class AgentStore:
    """``level``: ``global`` for the home's store, ``project`` for one of the project's own."""

    level: LevelName
    paths: EnginePaths

    @property
    def named(self) -> Said:
        """What a person calls it."""
        return Said("家", "home") if self.level == "global" else Said("项目", "project")


@dataclass(frozen=True, slots=True)
class LevelScope:
    """A scope of a store, and the level that an agent knows it by."""

    level: LevelName
    paths: EnginePaths
    scope: Scope


def stores_of(loaded: LoadedSettings, folder: Path) -> tuple[AgentStore, ...]:
    """Returns the home's store, and the project's own where its user has agreed to it. Raises
    HomeError."""
    home = loaded.settings.home
    project, _ = chosen_project(loaded, folder)
    stores = [AgentStore("global", home_paths(home))]
    if project is not None and project.own_store:
        stores.append(AgentStore("project", project_paths(home, project)))
    return tuple(stores)


def scopes_of(loaded: LoadedSettings, folder: Path) -> tuple[LevelScope, ...]:
    """Returns what an agent in a folder may see, the nearest first: the project's scope, and the
    home's public one. Raises HomeError."""
    home = loaded.settings.home
    project, _ = chosen_project(loaded, folder)
    global_level = LevelScope("global", home_paths(home), PUBLIC)
    if project is None:
        return (global_level,)
    if project.own_store:
        return (LevelScope("project", project_paths(home, project), PUBLIC), global_level)
    scope = project_scope(project, named=is_named(loaded))
    return (LevelScope("project", home_paths(home), scope), global_level)


def holder(paths: EnginePaths) -> int | None:
    """Returns the process that has a store open, as its lock says. Blocks."""
    for folder in paths.owned:
        try:
            signed = (folder / LOCK_NAME).read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        if found := re.match(r"pid ([0-9]{1,10})\b", signed):
            return int(found[1])
    return None
