"""A role's one holder, the process that has its lock file until it ends, and what a session of it
leaves behind: a block of the day's file, and a line in MEMORY.md."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import Objection, Refused
from ..models.roles import Noted, NoteOutcome, RoleNote
from ..models.scope import Place
from ..models.settings import PrivacyMode
from ..models.vault_layout import MEMORY_PAGE
from ..remember.rules.gate import passing
from ..remember.rules.private import HIDDEN, without_private
from ..storage.appending import AppendFault, NotAppended, append_and_verify
from ..storage.directory_lock import is_held_with
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
        path, held = lease_file(self._leases, note.lease.folder), False
        with suppress(OSError, ValueError):  # no locks, or no name of a file: nobody can hold it
            held = is_held_with(path, note.lease.token)
        if (shelf := Place.of_folder(note.lease.folder)) is None or not held:
            return not_held(path)
        if len(note.text) > MOST_CHARACTERS:
            return Refused("too_long", detail=str(MOST_CHARACTERS))
        text, left_out = self._lasting(note.text)
        if not text:
            return Noted("", left_out)
        today, yesterday = note_name(at), note_name(at - timedelta(days=1))
        try:
            before = self._readable(shelf, yesterday)
            again = holds(self._text(shelf, today), text) or holds(before, text)
            if not again:
                file, block = self._pages.path_in(shelf, today), partial(_block, text, note, at)
                append_and_verify(file, block, start=day_title(at).encode())
        except (NotAppended, VaultWriteFailed) as error:
            return Refused("not_written", detail=str(error))
        page_left = not self._renew(shelf)
        return Noted(f"{shelf.folder}/{today}", left_out, again=again, page_left=page_left)

    def _lasting(self, text: str) -> tuple[str, tuple[Objection, ...]]:
        """Returns the lines that are written, and the others."""
        lines = without_private(clean(text), self._mode).split("\n")
        told = [(self._passing(line), line) for line in lines]
        kept = "\n".join(line for reason, line in told if not reason)
        return kept.strip(), tuple((reason, line.strip()) for reason, line in told if reason)

    def _passing(self, line: str) -> str:
        """Returns why a line is left out, empty for one that is written."""
        if self._mode is PrivacyMode.REJECT and any(mark in line for mark in _PLACEHOLDERS):
            return "private"
        return next(iter(passing(line)), "")

    def _text(self, shelf: Place, name: str) -> str:
        """A page's words, none of what is no UTF-8. Raises VaultWriteFailed."""
        return text_of(self._pages.read(shelf, name)) or ""

    def _readable(self, shelf: Place, name: str) -> str:
        """A page's words, none of one that cannot be read: nothing of it is written again."""
        with suppress(VaultWriteFailed):
            return self._text(shelf, name)
        return ""

    def _renew(self, shelf: Place) -> bool:
        """Write what the newest notes begin with between the marks of MEMORY.md. Returns False if
        the page was left as it is."""
        days = sorted(filter(NOTE_FILE.fullmatch, self._pages.names(shelf)))[-MOST_LINES:]
        form = partial(rewrite, title=shelf.folder.rpartition("/")[2], english=self._english)
        try:
            lines = memory_lines({name: self._readable(shelf, name) for name in days})
            return form(self._pages, shelf, MEMORY_PAGE, lambda _: lines) is not None
        except VaultWriteFailed as error:
            logger.warning("page_not_written", page=f"{shelf.folder}/{MEMORY_PAGE}", error=error)
            return False


def _block(text: str, note: RoleNote, at: datetime, content: bytes) -> bytes:
    """Returns what is appended to a day's file. Raises NotAppended."""
    there = content.decode(errors="replace")  # what is no UTF-8 is refused behind us
    if (line := open_fence(there)) is not None:
        raise NotAppended(AppendFault.HIDDEN, str(line))
    client, newline = note.client[:LONGEST_NAME], newline_of(there)
    return note_block(text, at, note.lease.folder, client, newline=newline).encode(errors="replace")
