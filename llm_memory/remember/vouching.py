"""Vouches for a memory that an agent logged, in its Markdown file, as a person's editor would.

It works whether or not a program has the store open: that one takes the edit for a person's.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.data_models import Memory, Source, StoredMemory, Topic
from ..models.scope import Scope
from ..models.vault_layout import topic_of, topic_path
from ..storage.files import ChangedMeanwhile, Stamp, replace_durably, stamp_of
from ..vault.entry_locator import says_the_same
from ..vault.ledger import SqliteLedger
from ..vault.markdown.topic_file import Entry, TopicFile
from ..vault.vault_tree import FileSnapshot, VaultTree
from ..vault.vault_writer import VaultWriter
from .rules.gate import is_quotation
from .rules.routing import route

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


@dataclass(frozen=True, slots=True)
class _Found:
    """An entry as it is in a file."""

    snapshot: FileSnapshot
    file: TopicFile
    entry: Entry
    path: str

    @property
    def text(self) -> str:
        """Its lines, without blank ones at the end."""
        return "\n".join(self.file.lines[self.entry.start : self.entry.end]).rstrip()

    @property
    def is_instruction(self) -> bool:
        return topic_of(self.path) is Topic.INSTRUCTIONS


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
        self._writer = VaultWriter(self._tree, SqliteLedger())
        self._vouchers = vouchers

    def vouch(self, memory_id: str, *, trusted: bool) -> Vouched | None:
        """Vouch for an entry, or take the voucher back.

        Returns:
            None where the scope does not have it.

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
            if self._vouchers is not None:
                memory = found[0].entry.memory
                noted |= self._vouchers.vouch(self._scope, memory, trusted=trusted)
            with contextlib.suppress(ChangedMeanwhile):
                self._step(found, trusted=trusted)
                last = next(iter(self._find(memory_id)), first)
                before, after = (first.path, first.text), (last.path, last.text)
                changed, quoted = noted or before != after, last.entry.memory.quoted
                return Vouched(first.path, last.path, first.text, last.text, quoted, changed)
        name = first.path if first else memory_id
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
                found.append(_Found(*there, self._tree.relative(self._scope, path)))
        if not found and broken is not None:
            raise broken
        # A file that a person named may be a copy of one of ours.
        return sorted(found, key=lambda one: (one.is_instruction, topic_of(one.path) is None))

    def _step(self, found: list[_Found], *, trusted: bool) -> None:
        """Raises ChangedMeanwhile: it is to be looked at anew."""
        here = found[0]
        wanted = _as_vouched(here.entry.memory, trusted=trusted)
        topic = route(wanted.kind, wanted.judgment, trusted=trusted and not wanted.quoted)
        if (topic is Topic.INSTRUCTIONS) == here.is_instruction:
            if wanted != here.entry.memory:
                self._write(here, here.file.with_replaced(here.entry, wanted))
            return
        there = next((one for one in found[1:] if one.is_instruction), None)
        if there is not None and not says_the_same(there.entry.memory, wanted):
            # What we appended, and somebody changed the other since.
            self._write(there, there.file.without(there.entry))
            there = None
        if there is None:
            # First there, then not here: a crash in between leaves it in both.
            self._writer.append_unnoted(self._scope, topic_path(topic, wanted.created_at), wanted)
        self._write(here, here.file.without(here.entry))

    def _write(self, found: _Found, text: str) -> None:
        self._tree.refuse_links(found.snapshot.path)
        replace_durably(found.snapshot.path, text.encode(), found.snapshot.stamp)


def _as_vouched(memory: Memory, *, trusted: bool) -> Memory:
    """Returns the memory with its voucher, or without."""
    said = (memory.judgment, memory.reasoning, *memory.tags)
    provenance = replace(memory.provenance, trusted=trusted)
    return replace(memory, provenance=provenance, quoted=is_quotation(said, trusted=trusted))


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

    def changed(self, entries: Iterable[StoredMemory]) -> list[StoredMemory]:
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
