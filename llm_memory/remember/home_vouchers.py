"""What the owner of a home has vouched for in a project's committed store.

A pull brings entries that call themselves trusted, or written by hand. There the files give no
trust: the home does, by a hash of each entry's words, so that other words under an id lose it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from ..models.data_models import Memory, Source, StoredMemory
from ..models.scope import Scope
from ..storage.files import Stamp, replace_durably, stamp_of
from .rules.instructions import is_quotation

FILE_NAME: Final = "vouched.txt"
"""Below the state: a line an entry, of its words alone the hash."""


class HomeVouchers:
    """``state`` is the store's state folder, in the home. Blocks, for a moment."""

    def __init__(self, state: Path) -> None:
        self._file = state / FILE_NAME
        self._stamp: Stamp | None = None
        self._marks: frozenset[str] = frozenset()
        self._followed: frozenset[str] = frozenset()

    def as_held(self, stored: StoredMemory) -> StoredMemory:
        """Returns an entry as the home has it: trusted if its owner has vouched for it, whatever
        the file says of it."""
        memory, origin = stored.memory, stored.memory.provenance
        trusted = _mark(stored.scope, memory) in self._known()
        denied = origin.source is Source.PERSON and not trusted
        origin = replace(origin, trusted=trusted, denied=denied)
        said = (memory.judgment, memory.reasoning, *memory.tags)
        quoted = is_quotation(said, trusted=trusted)
        return replace(stored, memory=replace(memory, provenance=origin, quoted=quoted))

    def vouch(self, scope: Scope, memory: Memory, *, trusted: bool) -> bool:
        """Vouch for an entry's words, or take that back. Returns whether anything changed. Raises
        VaultWriteFailed."""
        mark, known = _mark(scope, memory), self._known()
        if (mark in known) is trusted:
            return False
        marks = known | {mark} if trusted else known - {mark}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(self._file, "".join(f"{one}\n" for one in sorted(marks)).encode())
        return True

    def changed(self, entries: Iterator[StoredMemory]) -> list[StoredMemory]:
        """Returns the entries whose trust is another one since this was asked last."""
        differ, self._followed = self._known() ^ self._followed, self._known()
        if not differ:
            return []
        return [stored for stored in entries if _mark(stored.scope, stored.memory) in differ]

    def _known(self) -> frozenset[str]:
        stamp = None
        with suppress(OSError):
            stamp = stamp_of(self._file.stat())
        if stamp != self._stamp:
            self._stamp, self._marks = stamp, frozenset()
            with suppress(OSError):
                self._marks = frozenset(self._file.read_text("ascii", errors="replace").split())
        return self._marks


def _mark(scope: Scope, memory: Memory) -> str:
    said = (memory.judgment, memory.reasoning, memory.context, *memory.tags, *memory.extra)
    whole = "\0".join((scope.name, memory.memory_id, *said))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
