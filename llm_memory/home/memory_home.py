"""What a folder's agent remembers with: the home's store, and the project's where it has one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HomeError
from ..models.workflow import TOPK
from ..service.paths import LEASES, EnginePaths, local_now
from ..sharing.endpoint import Endpoint, read_endpoint
from ..texts import Said
from .agent_stores import agent_name, chosen_project
from .project import project_paths
from .settings import HomeSettings, LoadedSettings
from .workflow import role_names

if TYPE_CHECKING:
    from ..roles.role_seat import RoleSeat
    from .owned_store import OwnedStore
    from .shared_store import SharedStore


@dataclass(frozen=True, slots=True)
class MemoryHome:
    """Attributes:
    global_store: The home's store, or a bot's.
    project: The store that holds the project's memories; None outside projects.
    name: The project's name, empty outside projects.
    of_a_bot: The store is a bot's: public is what everybody there reads.
    roles: Those of a project with a memory root of its own.
    warnings: What is to be told to the person who started this.
    role: The role that is spoken in, empty for none.
    topk: How many memories a prompt is given by itself.
    """

    global_store: SharedStore
    project: SharedStore | None
    name: str
    of_a_bot: bool = False
    roles: tuple[str, ...] = ()
    warnings: tuple[Said, ...] = ()
    role: str = ""
    topk: int = TOPK

    @property
    def stores(self) -> tuple[SharedStore, ...]:
        """Each store once."""
        return tuple(dict.fromkeys(filter(None, (self.global_store, self.project))))

    def as_role(self, name: str) -> MemoryHome:
        """Returns the same, spoken to in a role. Raises HomeError for one that the project has
        not."""
        if name in self.roles:
            return replace(self, role=name)
        known = ", ".join(self.roles) or Said("common.none")
        raise HomeError("home.no_role", role=repr(name), known=known)

    def new_seat(self) -> RoleSeat | None:
        """Returns a new seat of the role that is spoken in, not taken yet; None without one."""
        if not self.role or self.project is None:
            return None
        from ..roles.role_seat import RoleSeat

        return RoleSeat(self.project.state / LEASES, self.role, local_now)

    def start(self) -> None:
        """Begin to open or follow the stores."""
        for store in self.stores:
            store.start()

    async def close(self) -> None:
        """Close the stores. Idempotent."""
        import asyncio

        await asyncio.gather(*(store.close() for store in self.stores), return_exceptions=True)


def open_home(
    loaded: LoadedSettings, folder: Path, environ: Mapping[str, str], version: str
) -> MemoryHome:
    """Returns the stores for an agent that works in a folder, not started yet. Raises HomeError
    where the home's folder cannot be had."""
    settings = loaded.settings
    found = home_of(loaded, folder, lambda paths: _store(paths, settings, environ, version))
    make_home(settings.home)
    return found


def home_of(
    loaded: LoadedSettings, folder: Path, store: Callable[[EnginePaths], Any]
) -> MemoryHome:
    """Returns the stores for an agent that works in a folder, as ``store`` makes them of where they
    lie. Makes nothing itself. Raises HomeError."""
    project, warnings = chosen_project(loaded, folder)
    home = store(EnginePaths.under(loaded.settings.home))
    if project is None:
        return MemoryHome(home, None, "")
    stated = project.workflow.topk if project.workflow else None
    topk = TOPK if stated is None else stated
    if not project.own_store:
        name = agent_name(loaded, project)
        return MemoryHome(home, home, name, warnings=warnings, topk=topk)
    own = store(project_paths(loaded.settings.home, project))
    roles = role_names(project.memory, project.workflow)
    return MemoryHome(home, own, project.shown, warnings=warnings, roles=roles, topk=topk)


def follow_bot(state: Path, name: str) -> MemoryHome:
    """Returns the store of a bot that runs on this machine and shares it, by its state folder.
    ``name`` is the project's, as a person said it: it opens the scope that is mapped to it."""
    return _followed(state, name, lambda: read_endpoint(state))


def connect(address: str, token_file: Path, name: str) -> MemoryHome:
    """Returns the store that an owner has published at an address, such as a container's.

    Raises HomeError for what is no ``host:port``, and a token that cannot be read.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise HomeError("home.address", address=address)
    read_token(token_file)
    number = int(port)
    return _followed(
        token_file.parent, name, lambda: Endpoint(host, number, read_token(token_file), 0)
    )


def _followed(state: Path, name: str, endpoint: Callable[[], Endpoint | None]) -> MemoryHome:
    from .shared_store import SharedStore

    store = SharedStore(state, state, None, endpoint=endpoint)
    warnings = () if name else (Said("home.no_name"),)
    return MemoryHome(store, store if name else None, name, of_a_bot=True, warnings=warnings)


def read_token(file: Path) -> str:
    """Returns the token in a file: alone, or an endpoint file's. Raises HomeError."""
    found = read_endpoint(file.parent) if file.name.endswith(".json") else None
    if found is not None:
        return found.token
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise HomeError("home.token_unreadable", path=file, why=error) from error
    if not token:
        raise HomeError("home.token_empty", path=file)
    return token


def _store(
    paths: EnginePaths, settings: HomeSettings, environ: Mapping[str, str], version: str
) -> SharedStore:
    async def own() -> OwnedStore:
        import asyncio

        # Loaded by the owner alone: a follower stays small.
        await asyncio.to_thread(importlib.import_module, ".owned_store", __package__)
        from .owned_store import OwnedStore

        return OwnedStore(paths, settings, environ, version)

    from .shared_store import SharedStore

    return SharedStore(paths.data, paths.state, own)


def make_home(home: Path) -> None:
    """Make the home's folder. Raises HomeError where it cannot be made or written to."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = home / ".writable"
        probe.touch()
        probe.unlink(missing_ok=True)  # another program that starts has done it
    except OSError as error:
        why = error.strerror or error
        raise HomeError("home.unusable", path=home, why=why) from error
