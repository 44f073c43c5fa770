"""How the engine is doing, and what its owner is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .data_models import StoredMemory
from .loop import LoopStatus
from .migration import MigrationStatus
from .resolution import Pause, Remainder, Resolution

type IndexState = Literal["waiting", "building", "ready", "off", "lexical"]
"""What recall is served by: a ready index, and else a scan of the vault. ``lexical``: there is no
index of vectors, by choice or for want of a model."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """``notes`` counts their pieces by folder, ``backlog`` what is not yet in the index,
    ``leaving`` what has left the vault and is still in it: no recall shows it. ``left`` stands in
    scopes that policies derived before, and is seen by nobody to whom it belongs."""

    ready: bool
    embedder: str
    index: IndexState
    by_scope: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    backlog: int = 0
    leaving: int = 0
    scope_check_drops: int = 0
    words: IndexState = "waiting"
    notices: tuple[Notice, ...] = ()
    migration: MigrationStatus = field(default_factory=MigrationStatus)
    loop: LoopStatus = field(default_factory=LoopStatus)
    left: tuple[Remainder, ...] = ()

    @property
    def total(self) -> int:
        """All living memories."""
        return sum(self.by_scope.values())

    @property
    def vectors(self) -> int | None:
        """How many stand in the index of vectors; None where that is not open."""
        entries = self.total + sum(self.notes.values())
        is_open = self.index in ("building", "ready")
        return entries - self.backlog if is_open else None


@dataclass(frozen=True, slots=True)
class ScopeReport:
    """What a conversation reads and writes, and why. ``mixed_history``: the chat history that the
    model is given may hold words of a former scope, so replies are not read. ``left`` is what
    stands in scopes that were derived for it before."""

    resolution: Resolution
    visible: int
    damaged: bool
    paused: Pause | None = None
    mixed_history: bool = False
    left: tuple[Remainder, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """``code`` has a text in the i18n files, with the params named there. ``subject`` tells notices
    of one code apart (a map key, a file): one of each stands. What is no ``error`` is a warning."""

    code: str
    subject: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    error: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Memories, the newest first. ``more``: there are others beyond the limit."""

    memories: tuple[StoredMemory, ...] = ()
    more: bool = False
