"""Where the engine keeps things, and the machine's clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from ..storage.local_zone import MACHINE_ZONE

LEASES: Final = "roles"
"""The folder of the roles' lock files, in a store's folder of state."""


@dataclass(frozen=True, slots=True)
class EnginePaths:
    """``owns_memory`` is False for the Markdown of a project that others may use or commit: no lock
    is put there, and its modes stay. ``data`` must then be the only data folder of that ``memory``.
    """

    data: Path
    memory: Path
    owns_memory: bool = True

    @classmethod
    def under(cls, data: Path, memory_root: Path | None = None) -> EnginePaths:
        """The layout below a data folder."""
        return cls(data, memory_root or data / "memory")

    @property
    def owned(self) -> tuple[Path, ...]:
        """The folders that one process alone may use, without those that lie in another."""
        data, memory = self.data.resolve(), self.memory.resolve()
        alone = not self.owns_memory or memory.is_relative_to(data)
        return (data,) if alone else (data, memory)

    @property
    def index(self) -> Path:
        return self.data / "index"

    @property
    def vectors(self) -> Path:
        """Those that were computed: a cache, too, but one that cost time or money."""
        return self.index / "chroma"

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def state(self) -> Path:
        return self.data / "state"

    @property
    def leases(self) -> Path:
        """A lock file for each role: who holds it holds the role."""
        return self.state / LEASES

    @property
    def daily_backups(self) -> Path:
        """One file a night. Beside them lies what upgrades changed, as it was before."""
        return self.data / "backups" / "daily"


def local_now() -> datetime:
    """Now, in the machine's own time zone, which knows how its clock stood on other days."""
    return datetime.now(MACHINE_ZONE)
