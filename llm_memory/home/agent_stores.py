"""The stores and scopes that an agent in a folder works with."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from ..models.scope import PUBLIC, Scope
from ..scopes.rules.scope_resolution import project_scope
from ..service.paths import EnginePaths
from ..storage.directory_lock import signed_pid
from ..texts import Said, at
from .places import is_folder
from .project import Project, find_project, project_paths, short_hash
from .settings import LoadedSettings
from .trusted_roots import is_trusted

_MARK: Final = 8
"""Hexadecimal digits of a folder's hash."""
_LONGEST: Final = 64 - len("project-") - _MARK - 1


@dataclass(frozen=True, slots=True)
class AgentStore:
    """A level of what an agent may see, and where its memories lie: a scope of a store."""

    level: Literal["project", "global"]
    paths: EnginePaths
    scope: Scope

    @property
    def named(self) -> Said:
        """What a person calls it."""
        return Said("home.itself" if self.level == "global" else "home.project")

    def holder(self) -> int | None:
        """Returns the process that has the store open, as its lock says. Blocks."""
        return next(filter(None, map(signed_pid, self.paths.owned)), None)


def stores_of(loaded: LoadedSettings, folder: Path) -> tuple[AgentStore, ...]:
    """Returns the home's store, and the project's own where its user has agreed to it. Raises
    HomeError."""
    stores = {one.paths: one for one in scopes_of(loaded, folder)}
    return tuple(reversed(stores.values()))


def scopes_of(loaded: LoadedSettings, folder: Path) -> tuple[AgentStore, ...]:
    """Returns the levels of what an agent in a folder may see, the nearest first: the project's
    scope, and the home's public one. Raises HomeError."""
    project, _ = chosen_project(loaded, folder)
    everywhere = AgentStore("global", *place_of(loaded, None))
    if project is None:
        return (everywhere,)
    return AgentStore("project", *place_of(loaded, project)), everywhere


def place_of(loaded: LoadedSettings, project: Project | None) -> tuple[EnginePaths, Scope]:
    """Returns where a project's memories lie; without one, those that hold everywhere."""
    home = loaded.settings.home
    if project is None:
        return EnginePaths.under(home), PUBLIC
    if project.own_store:
        return project_paths(home, project), PUBLIC
    return EnginePaths.under(home), project_scope(agent_name(loaded, project))


def chosen_project(loaded: LoadedSettings, folder: Path) -> tuple[Project | None, tuple[Said, ...]]:
    """Returns the project of a folder, and what its user is to be told. It has no store of its own
    here where its user has not agreed to that one: a checkout may be a stranger's. Raises
    HomeError."""
    home = loaded.settings.home
    project = find_project(folder, loaded.settings.project, os.environ, home)
    if project is None:
        return None, ()
    told = project.workflow.warnings if project.workflow else ()
    why = _why_not_used(project, home) if project.own_store else None
    return (project, told) if why is None else (replace(project, own_store=False), (*told, why))


def _why_not_used(project: Project, home: Path) -> Said | None:
    memory, root, workflow = project.memory, project.root, project.workflow
    if is_trusted(home, *project.agreement):
        if is_folder(memory):
            return None
        return Said("home.root_gone", path=memory)
    if workflow is not None and workflow.root is not None and not project.is_memory_inside:
        return at(workflow.path, "home.root_outside", path=workflow.root)
    command = "init" if project.stated_root else "init --store"
    return Said("home.brought", path=root, command=command)


def agent_name(loaded: LoadedSettings, project: Project) -> str:
    """Returns what a project is called in the home: as a person named it by a flag, variable or the
    home's file, else with a mark of its folder. A folder that calls itself like another project
    must not read that one's memories."""
    if loaded.named and loaded.named == loaded.settings.project:
        return project.name
    mark = short_hash(os.path.normcase(project.root.resolve()), _MARK)
    return f"{project.name[:_LONGEST]}-{mark}"
