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
from .project import Project, home_paths, project_paths
from .settings import LoadedSettings

type LevelName = Literal["project", "global"]
type _Level = tuple[LevelName, EnginePaths, Scope]


@dataclass(frozen=True, slots=True)
class AgentStore:
    """``level``: ``global`` for the home's store, ``project`` for one of the project's own."""

    level: LevelName
    paths: EnginePaths

    @property
    def named(self) -> Said:
        """What a person calls it."""
        return Said("家", "home") if self.level == "global" else Said("项目", "project")


def stores_of(loaded: LoadedSettings, folder: Path) -> tuple[AgentStore, ...]:
    """Returns the home's store, and the project's own where its user has agreed to it. Raises
    HomeError."""
    places = {level: paths for level, paths, _ in reversed(scopes_of(loaded, folder))}
    stores = [AgentStore(level, paths) for level, paths in places.items()]
    return tuple(stores if stores[0].paths != stores[-1].paths else stores[:1])


def scopes_of(loaded: LoadedSettings, folder: Path) -> tuple[_Level, ...]:
    """Returns the levels of what an agent in a folder may see, each with its store and scope, the
    nearest first: the project's scope, and the home's public one. Raises HomeError."""
    project, _ = chosen_project(loaded, folder)
    everywhere: _Level = ("global", *place_of(loaded, None))
    return (("project", *place_of(loaded, project)), everywhere) if project else (everywhere,)


def place_of(loaded: LoadedSettings, project: Project | None) -> tuple[EnginePaths, Scope]:
    """Returns where a project's memories lie; without one, those that hold everywhere."""
    home = loaded.settings.home
    if project is None:
        return home_paths(home), PUBLIC
    if project.own_store:
        return project_paths(home, project), PUBLIC
    return home_paths(home), project_scope(project, named=is_named(loaded))


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
