"""Records that come from elsewhere: what becomes of each, and how far a walk over them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime
from typing import Literal

from .settings import MigrationMode

type Fate = Literal["adopted", "merged", "quarantined", "broken", "done"]
"""What became of a record. ``merged``: the same words stood in the same scope already.
``quarantined``: its scope is no legal name, so it stands where only the owner of the files sees it.
``broken``: it holds nothing that could be kept as a memory, and was left as it is. These four of an
adoption add up to what was there; ``done``: by a walk that adopts nothing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record. ``patched``: whether its own metadata was filled in; None where none
    is. ``scope`` and ``memory_id`` are empty where its words belong to none, or none holds it now.
    ``reason``: why it is broken or quarantined: a stable code, never its words."""

    record_id: str
    fate: Fate
    patched: bool | None = None
    scope: str = ""
    memory_id: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """A memory that an adoption brought into the vault. ``digest`` tells whether it is still as it
    came; ``record_id`` which record it came from first."""

    scope: str
    memory_id: str
    digest: str
    record_id: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many records came to which end, since the first start."""

    scanned: int = 0
    patched: int = 0
    skipped: int = 0
    adopted: int = 0
    merged: int = 0
    quarantined: int = 0
    broken: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*map(sum, zip(astuple(self), astuple(other), strict=True)))


type MigrationState = Literal["idle", "running", "paused", "done", "reversed", "failed"]
"""Where a walk, a source or all of them stand. A running walk goes on at the next start; one that a
person took back does not begin again by itself."""


@dataclass(frozen=True, slots=True)
class Job:
    """One walk over one source, from its beginning to its end over all restarts: a ``scope``
    migration or an ``adoption``. What it added can be taken back by its ``batch``."""

    name: str
    kind: str
    source: str
    batch: str
    state: MigrationState
    begun: datetime
    detail: str = ""


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """All migrations together. Counters are cumulative over restarts, but for ``remaining``.
    ``reversed``: a person took it back, and it waits until it is asked to begin again. ``waiting``:
    a stable code. ``batches``: where each came from, by its id. ``mode_on``: records that state no
    scope are recalled as public ones now."""

    state: MigrationState = "idle"
    tally: Tally = Tally()
    remaining: int = 0
    reversed: bool = False
    waiting: str = ""
    detail: str = ""
    batches: Mapping[str, str] = field(default_factory=dict)
    mode: MigrationMode = MigrationMode.AUTO
    mode_on: bool = False
