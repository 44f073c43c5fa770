"""How the engine is doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .former_scopes import LeftBehind
from .loop import LoopStatus
from .migration import MigrationStatus
from .notices import Notice
from .resolution import Resolution
from .turns import Pause


class IndexState(StrEnum):
    """What recall is served by."""

    WAITING = "waiting"
    """No embedder yet, or the index is opening: recall scans the vault."""
    BUILDING = "building"
    """A new collection is filled behind: recall scans the vault."""
    READY = "ready"
    """Recall asks the index; what is not in it yet is scanned."""
    OFF = "off"
    """The index cannot be used: recall scans the vault."""
    LEXICAL = "lexical"
    """There is no vector index, by choice or for want of a model: recall asks the words."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """``by_scope`` counts living memories, ``notes`` the pieces of notes by their folder under the
    memory root, ``backlog`` those of both that are not yet in the index, ``leaving`` what has left
    the vault and is still in the index: no recall shows it. ``left`` stands in scopes that policies
    derived before, and is seen by nobody to whom it belongs."""

    ready: bool
    embedder: str
    index: IndexState
    by_scope: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    backlog: int = 0
    leaving: int = 0
    queue: int = 0
    scope_check_drops: int = 0
    words: IndexState = IndexState.WAITING
    notices: tuple[Notice, ...] = ()
    migration: MigrationStatus = field(default_factory=MigrationStatus)
    loop: LoopStatus = field(default_factory=LoopStatus)
    left: tuple[LeftBehind, ...] = ()

    @property
    def total(self) -> int:
        """All living memories."""
        return sum(self.by_scope.values())


@dataclass(frozen=True, slots=True)
class ScopeReport:
    """What a conversation reads and writes, and why. ``visible`` counts what it can recall;
    ``paused`` is None where it is on the record. ``mixed_history``: the chat
    history that the model is given may hold words of a former scope, so replies are not read.
    ``left`` is what stands in scopes that were derived for it before."""

    resolution: Resolution
    visible: int
    damaged: bool
    strangers_in_public: bool
    paused: Pause | None = None
    mixed_history: bool = False
    left: tuple[LeftBehind, ...] = ()


@dataclass(frozen=True, slots=True)
class MapChange:
    """How a conversation's entry in the map changed its scope. ``sharing``: so many keys of the map
    give the scope that it has now."""

    before: Resolution
    after: Resolution
    sharing: int


@dataclass(frozen=True, slots=True)
class MapSummary:
    """The scope map at start-up: keys by scope, and how many entries are ignored."""

    by_scope: Mapping[str, tuple[str, ...]]
    ignored: int
    held: int
