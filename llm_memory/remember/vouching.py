"""Whom a store's files are believed: an entry that its owner vouches for, and what a home knows of
the entries of a project, whose files may be pulled."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ..models.data_models import Memory, Source, StoredMemory
from ..models.scope import Scope
from ..storage.files import replace_durably
from .rules.gate import is_quotation


def quoted(memory: Memory) -> Memory:
    """Returns the memory as a quotation where its words are to be one."""
    said = (memory.judgment, memory.reasoning, *memory.tags)
    return replace(memory, quoted=is_quotation(said, trusted=memory.provenance.trusted))


def as_vouched(memory: Memory, *, trusted: bool) -> Memory:
    """Returns the memory with its voucher, or without."""
    denied = memory.provenance.source is Source.PERSON and not trusted
    origin = replace(memory.provenance, trusted=trusted, denied=denied)
    return quoted(replace(memory, provenance=origin))


class HomeVouchers:
    """What the owner of a home has vouched for in a project's committed store. ``state`` is the
    store's state folder, in the home. Blocks, for a moment.

    A pull brings entries that call themselves trusted, or written by hand. There the files give no
    trust: the home does, by a hash of each entry's words, so that other words under an id lose it.
    """

    def __init__(self, state: Path) -> None:
        self._file = state / "vouched.txt"

    @cached_property
    def _marks(self) -> frozenset[str]:
        try:
            return frozenset(self._file.read_text("ascii", errors="replace").split())
        except OSError:
            return frozenset()

    def as_held(self, stored: StoredMemory) -> StoredMemory:
        """Returns an entry with the home's trust in it, whatever the file says."""
        trusted = _mark(stored.scope, stored.memory) in self._marks
        return replace(stored, memory=as_vouched(stored.memory, trusted=trusted))

    def vouch(self, scope: Scope, memory: Memory, *, trusted: bool) -> None:
        """Vouch for an entry's words, or take that back. Raises VaultWriteFailed."""
        mark = _mark(scope, memory)
        marks = self._marks | {mark} if trusted else self._marks - {mark}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(self._file, "".join(f"{one}\n" for one in sorted(marks)).encode())
        self._marks = marks


def _mark(scope: Scope, memory: Memory) -> str:
    said = (memory.judgment, memory.reasoning, memory.context, *memory.tags, *memory.extra)
    whole = "\0".join((scope.name, memory.memory_id, *said))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
