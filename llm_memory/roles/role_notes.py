"""A role's one holder, the process that has its lock file until it ends, and what a session of it
leaves behind: a block of the day's file, and a line in MEMORY.md."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import Objection, Refused
from ..models.roles import Noted, NoteOutcome, RoleLease, RoleNote
from ..models.scope import Place
from ..models.settings import PrivacyMode
from ..models.vault_layout import MEMORY_PAGE
from ..remember.rules.gate import passing
from ..remember.rules.private import HIDDEN, without_private
from ..storage.appending import AppendFault, NotAppended, append_and_verify
from ..storage.held_file import is_held_with
from ..text.normalising import clean
from ..vault.markdown.appended_block import open_fence
from ..vault.markdown.daily_note import (
    MOST_LINES,
    NOTE_FILE,
    day_title,
    holds,
    memory_lines,
    note_block,
    note_name,
)
from ..vault.markdown.topic_file import newline_of
from ..vault.marked_page import rewrite
from ..vault.pages import PagesOnDisk, text_of
from .role_seat import LONGEST_NAME, lease_file, not_held

MOST_CHARACTERS: Final = 8_000
_PLACEHOLDERS: Final = tuple(mark for marks in HIDDEN.values() for mark in marks)


@dataclass(eq=False)
class RoleNotes:
    """Writes into the folder of the role that the caller holds, and into no other. ``_leases`` is
    the folder of the lock files."""

    _pages: PagesOnDisk
    _leases: Path
    _mode: PrivacyMode
    _english: bool

    def append(self, note: RoleNote, at: datetime) -> NoteOutcome:
        """Append a note to the day's file and renew the role's MEMORY.md. What stands there
        already, today or yesterday, is one block: a session's end is repeated where the answer to
        the first did not arrive. Blocks."""
        shelf = Place.of_folder(note.lease.folder)
        if shelf is None:
            return Refused("role_held", detail="?")
        if (refused := self._refused(note.lease)) is not None:
            return refused
        if len(note.text) > MOST_CHARACTERS:
            return Refused("too_long", detail=str(MOST_CHARACTERS))
        text, left_out = self._lasting(note.text)
        if not text:
            return Noted("", left_out)
        days = (note_name(at), note_name(at - timedelta(days=1)))
        again = any(holds(self._text(shelf, day), text) for day in days)
        try:
            if not again:
                self._write(shelf, text, note, at)
        except (NotAppended, VaultWriteFailed) as error:
            return Refused("not_written", detail=str(error))
        file = f"{shelf.folder}/{days[0]}"
        return Noted(file, left_out, again=again, page_left=not self._renew(shelf))

    def _refused(self, lease: RoleLease) -> Refused | None:
        path = lease_file(self._leases, lease.folder)
        with suppress(OSError):  # a disk without locks: nobody can hold it
            if is_held_with(path, lease.token):
                return None
        return not_held(path)

    def _lasting(self, text: str) -> tuple[str, tuple[Objection, ...]]:
        """Returns the lines that are written, and the others."""
        kept: list[str] = []
        left_out: list[Objection] = []
        sound = clean(text).encode(errors="replace").decode()  # no half of a surrogate pair
        for line in without_private(sound, self._mode).split("\n"):
            reason = next(iter(passing(line)), "")
            if self._mode is PrivacyMode.REJECT and any(mark in line for mark in _PLACEHOLDERS):
                reason = "private"
            if reason:
                left_out.append((reason, line.strip()))
            else:
                kept.append(line)
        return "\n".join(kept).strip(), tuple(left_out)

    def _write(self, shelf: Place, text: str, note: RoleNote, at: datetime) -> None:
        """Raises NotAppended, VaultWriteFailed."""

        def block(content: bytes) -> bytes:
            there = content.decode(errors="replace")  # what is no UTF-8 is refused behind us
            if (line := open_fence(there)) is not None:
                raise NotAppended(AppendFault.HIDDEN, str(line))
            client, newline = note.client[:LONGEST_NAME], newline_of(there)
            said = note_block(text, at, note.lease.folder, client, newline=newline)
            return said.encode(errors="replace")

        path = self._pages.path_in(shelf, note_name(at))
        append_and_verify(path, block, start=day_title(at).encode())

    def _text(self, shelf: Place, name: str) -> str:
        """A page's words, empty where it cannot be read."""
        try:
            return text_of(self._pages.read(shelf, name)) or ""
        except VaultWriteFailed:
            return ""

    def _renew(self, shelf: Place) -> bool:
        """Write what the newest notes begin with between the marks of MEMORY.md. Returns False if
        the page was left as it is."""
        days = sorted(filter(NOTE_FILE.fullmatch, self._pages.names(shelf)))[-MOST_LINES:]
        lines = memory_lines({name: self._text(shelf, name) for name in days})
        title = shelf.folder.rpartition("/")[2]
        try:
            done = rewrite(
                self._pages, shelf, MEMORY_PAGE, lambda _: lines, title=title, english=self._english
            )
        except VaultWriteFailed as error:
            logger.warning("page_not_written", page=f"{shelf.folder}/{MEMORY_PAGE}", error=error)
            return False
        return done is not None
