"""A role of a project: who holds it, and what a session of it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

from .data_models import Objection, Refused


@dataclass(frozen=True, slots=True)
class RoleLease:
    """A role, by its folder (``role_folder``), and what proves that the caller holds it."""

    folder: str
    token: str


@dataclass(frozen=True, slots=True)
class RoleNote:
    """What was done, concluded and left at risk. ``client``: the program that says so."""

    lease: RoleLease
    text: str
    client: str = ""


@dataclass(frozen=True, slots=True)
class Noted:
    """It is on disk, in a file under the memory root, or no line was left to write. ``left_out``:
    lines that are private, or will not last. ``again``: the file held it before. ``page_left``:
    MEMORY.md of the role is as it was, for its marks are damaged, or it or a note of the last days
    cannot be read or written."""

    file: str
    left_out: tuple[Objection, ...] = ()
    again: bool = False
    page_left: bool = False


NoteOutcome = Noted | Refused
