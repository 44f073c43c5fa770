"""A role of a project: who holds it, and what a session of it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

from .data_models import Refused


@dataclass(frozen=True, slots=True)
class RoleLease:
    """Attributes:
    folder: The role's folder below ``roles/``, see ``role_folder``.
    token: What proves that the caller holds the role.
    """

    folder: str
    token: str


@dataclass(frozen=True, slots=True)
class RoleNote:
    """What was done, concluded and left at risk. ``client``: the program that says so."""

    lease: RoleLease
    text: str
    client: str = ""


@dataclass(frozen=True, slots=True)
class LineLeftOut:
    """A line of a note that was not written. ``reason`` is ``private``, or why it will not last:
    ``guess``, ``dispute`` or ``stale``."""

    line: str
    reason: str


@dataclass(frozen=True, slots=True)
class Noted:
    """It is on disk.

    Attributes:
        file: Path under the memory root; empty where no line was left to write.
        again: The file held it before, and nothing was written.
        page_left: MEMORY.md of the role is as it was: its marks are damaged, or it cannot be
            written.
    """

    file: str
    left_out: tuple[LineLeftOut, ...] = ()
    again: bool = False
    page_left: bool = False


@dataclass(frozen=True, slots=True)
class NotHeld:
    """The caller does not hold the role. ``holder`` is the program that does, since when as that
    program wrote it; both are empty where nobody does."""

    holder: str = ""
    since: str = ""


NoteOutcome = Noted | NotHeld | Refused
