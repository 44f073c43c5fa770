"""Vouches for a memory that an agent logged, in its Markdown file, as a person's editor would.

It works whether or not a program has the store open: that one takes the edit for a person's.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.data_models import Memory, Source, StoredMemory, Topic
from ..models.scope import Scope
from ..models.vault_layout import topic_of, topic_path
from ..storage.files import ChangedMeanwhile, Stamp, replace_durably, stamp_of
from ..vault.ledger import SqliteLedger
from ..vault.markdown.entry import render
from ..vault.markdown.topic_file import Entry, TopicFile
from ..vault.vault_tree import FileSnapshot, VaultTree
from ..vault.vault_writer import VaultWriter
from .rules.gate import is_quotation
from .rules.routing import topic_for

_TRIES: Final = 10
"""Attempts while another program keeps writing to the file."""


@dataclass(frozen=True, slots=True)
class Vouched:
    """What became of an entry.

    Attributes:
        path: Its file inside the scope, before.
        moved_to: Its file now.
        before: Its lines, before.
        after: Its lines now.
        quoted: It stays a quotation: with anyone's voucher it would override other rules.
        changed: Something was written, here or in the home's list of what was vouched for.
    """

    path: str
    moved_to: str
    before: str
    after: str
    quoted: bool
    changed: bool


type _Found = tuple[str, FileSnapshot, TopicFile, Entry]
"""An entry as it is in a file, whose path inside the scope comes first."""


class Voucher:
    """Vouches for entries of a scope. Blocks.

    Args:
        memory: The memory folder of the store.
        vouchers: Where the home says what is trusted: a project's files may be pulled. None where
            the files themselves say it.
    """

    def __init__(self, memory: Path, scope: Scope, vouchers: HomeVouchers | None) -> None:
        self._scope = scope
        self._tree = VaultTree(memory, contextlib.nullcontext())
        ledger = SqliteLedger()  # in memory
        ledger.open()
        self._writer = VaultWriter(self._tree, ledger)
        self._vouchers = vouchers

    def vouch(self, memory_id: str, *, trusted: bool) -> Vouched | None:
        """Vouch for an entry, or take the voucher back. Returns None where the scope does not have
        it.

        Raises:
            VaultFileBroken: A file that may have it cannot be read.
            VaultWriteFailed, OSError: A file cannot be written, or another program keeps writing.
        """
        first: _Found | None = None
        noted = False
        for _ in range(_TRIES):
            found = self._find(memory_id)
            if not found:
                return None
            first = first or found[0]
            memory = found[0][3].memory
            if self._vouchers is not None:
                noted |= self._vouchers.vouch(self._scope, memory, trusted=trusted)
            with contextlib.suppress(ChangedMeanwhile):
                path, now = self._step(found, _as_vouched(memory, trusted=trusted))
                before, after = (render(one).rstrip() for one in (first[3].memory, now))
                changed = noted or (first[0], before) != (path, after)
                return Vouched(first[0], path, before, after, now.quoted, changed)
        name = first[0] if first else memory_id
        raise VaultWriteFailed(f"{name}: another program keeps writing to it, try again")

    def _find(self, memory_id: str) -> list[_Found]:
        """Returns where it is: first in a file that is no instructions, for a move that was
        interrupted leaves it in both. Raises VaultFileBroken if it is nowhere, but a file cannot be
        read."""
        found: list[_Found] = []
        broken: VaultFileBroken | None = None
        for path in self._tree.list_files(self._scope).files:
            try:
                there = self._tree.find(path, memory_id)
            except VaultFileBroken as error:
                broken = broken or error
                continue
            if there is not None:
                found.append((self._tree.relative(self._scope, path), *there))
        if not found and broken is not None:
            raise broken
        # A file that a person named may be a copy of one of ours.
        return sorted(found, key=lambda one: (_is_instruction(one), topic_of(one[0]) is None))

    def _step(self, found: list[_Found], wanted: Memory) -> tuple[str, Memory]:
        """Put the entry where it belongs, then take it from where it was: a crash in between leaves
        it in both, until it is vouched for again. Raises ChangedMeanwhile: it is to be looked at
        anew."""
        topic = topic_for(wanted)
        of_rules = topic is Topic.INSTRUCTIONS
        home = next((one for one in found if _is_instruction(one) is of_rules), None)
        former = next((one for one in found if _is_instruction(one) is not of_rules), None)
        if home is None:
            path = self._writer.append(self._scope, topic_path(topic, wanted.created_at), wanted)
        else:
            path, snapshot, file, entry = home
            if entry.memory != wanted:
                self._writer.replace(self._scope, snapshot, file, entry, wanted)
        if former is not None:
            _, snapshot, file, entry = former
            self._writer.cut(self._scope, snapshot, file, entry)
        return path, wanted


def _is_instruction(found: _Found) -> bool:
    return topic_of(found[0]) is Topic.INSTRUCTIONS


def _as_vouched(memory: Memory, *, trusted: bool) -> Memory:
    """Returns the memory with its voucher, or without."""
    said = (memory.judgment, memory.reasoning, *memory.tags)
    origin = replace(memory.provenance, trusted=trusted)
    return replace(memory, provenance=origin, quoted=is_quotation(said, trusted=trusted))


FILE_NAME: Final = "vouched.txt"
"""Below the state: a line an entry, of its words alone the hash."""


class HomeVouchers:
    """What the owner of a home has vouched for in a project's committed store. ``state`` is the
    store's state folder, in the home. Blocks, for a moment.

    A pull brings entries that call themselves trusted, or written by hand. There the files give no
    trust: the home does, by a hash of each entry's words, so that other words under an id lose it.
    """

    def __init__(self, state: Path) -> None:
        self._file = state / FILE_NAME
        self._stamp: Stamp | None = None
        self._marks: frozenset[str] = frozenset()
        self._followed: frozenset[str] = frozenset()

    def as_held(self, stored: StoredMemory) -> StoredMemory:
        """Returns an entry as the home has it: trusted if its owner has vouched for it, whatever
        the file says of it."""
        trusted = _mark(stored.scope, stored.memory) in self._known()
        memory = _as_vouched(stored.memory, trusted=trusted)
        denied = memory.provenance.source is Source.PERSON and not trusted
        origin = replace(memory.provenance, denied=denied)
        return replace(stored, memory=replace(memory, provenance=origin))

    def vouch(self, scope: Scope, memory: Memory, *, trusted: bool) -> bool:
        """Vouch for an entry's words, or take that back. Returns whether anything changed. Raises
        VaultWriteFailed."""
        mark, known = _mark(scope, memory), self._known()
        if (mark in known) is trusted:
            return False
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lines = sorted(known ^ {mark})
        replace_durably(self._file, "".join(f"{one}\n" for one in lines).encode())
        return True

    def changed(self, entries: Iterable[StoredMemory]) -> list[StoredMemory]:
        """Returns the entries whose trust is another one since this was asked last."""
        differ, self._followed = self._known() ^ self._followed, self._known()
        if not differ:
            return []
        return [stored for stored in entries if _mark(stored.scope, stored.memory) in differ]

    def _known(self) -> frozenset[str]:
        stamp, marks = None, ""
        with contextlib.suppress(OSError):
            stamp = stamp_of(self._file.stat())
        if stamp != self._stamp:
            with contextlib.suppress(OSError):
                marks = self._file.read_text("ascii", errors="replace")
            self._stamp, self._marks = stamp, frozenset(marks.split())
        return self._marks


def _mark(scope: Scope, memory: Memory) -> str:
    said = (memory.judgment, memory.reasoning, memory.context, *memory.tags, *memory.extra)
    whole = "\0".join((scope.name, memory.memory_id, *said))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
