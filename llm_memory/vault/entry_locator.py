"""Finds entries where they are now, after any edits of the files by people."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import StateUnavailable, VaultFileBroken, VaultWriteFailed
from ..models.data_models import Memory, StoredMemory
from ..models.scope import Scope
from ..models.vault_layout import folded
from ..storage.files import Stamp
from .folder_walk import Listing
from .ledger import SqliteLedger
from .markdown.topic_file import Entry, TopicFile
from .models import FileKey, KnownFile
from .vault_tree import FileSnapshot, VaultTree, is_gone


class EntryLocator:
    """The caller holds the vault's lock, and the ledger is open.

    ``applied``: the stamps of files that were compared with the ledger, which has each of their
    entries then.
    """

    def __init__(self, tree: VaultTree, ledger: SqliteLedger) -> None:
        self._tree = tree
        self._ledger = ledger
        self.applied: Mapping[FileKey, Stamp | None] = {}

    def find(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        """Returns the recallable entry with that id in one scope, if any."""
        return self.find_all(scope, [memory_id]).get(memory_id)

    def find_all(self, scope: Scope, memory_ids: Collection[str]) -> dict[str, StoredMemory]:
        """Returns the recallable entries of these ids in one scope, by id."""
        found: dict[str, StoredMemory] = {}
        for path in self._may_hold(scope, memory_ids):
            with contextlib.suppress(VaultFileBroken):
                for reading, _, entry in self._tree.find_all(path, memory_ids):
                    stored = self.stored(scope, reading, entry.memory)
                    found.setdefault(entry.memory.memory_id, stored)
        return found

    def _may_hold(self, scope: Scope, memory_ids: Collection[str]) -> tuple[Path, ...]:
        """Returns the files in which the entries may be: those that the ledger names, and those
        whose entries the ledger may not have."""
        try:
            known, entries = self._ledger.files(), self._ledger.entries_named(memory_ids)
        except StateUnavailable:
            return self.list_files(scope).files
        named = {folded(entry.path) for entry in entries if entry.scope == scope.name}
        found: list[Path] = []
        for relative, stamp in self._tree.stamps(scope).files:
            key = scope.name, relative
            file = known.get(key)
            if file is not None and file.is_copy:
                continue
            is_known = file is not None and "" != file.digest == file.last
            is_applied = is_known and self.applied.get(key) == stamp
            if not is_applied or folded(relative) in named:
                found.append(self._tree.folder(scope) / relative)
        return tuple(found)

    def list_files(self, scope: Scope) -> Listing:
        """Returns the files whose entries may be recalled, without copies of other files."""
        listing, known = self._tree.list_files(scope), dict[FileKey, KnownFile]()
        with contextlib.suppress(StateUnavailable):
            known = self._ledger.files()
        copies = {
            self._tree.folder(scope) / file.path
            for file in known.values()
            if file.is_copy and file.scope == scope.name
        }
        return replace(listing, files=tuple(path for path in listing.files if path not in copies))

    def stored(self, scope: Scope, snapshot: FileSnapshot, memory: Memory) -> StoredMemory:
        """Returns the memory as it is in the file that was read."""
        return StoredMemory(scope, self._tree.relative(scope, snapshot.path), memory)

    def unchanged(self, stored: StoredMemory) -> tuple[FileSnapshot, TopicFile, Entry]:
        """Returns the entry if it is unchanged. Raises KeyError otherwise: a person's edit wins."""
        snapshot, file, entry = self.locate(stored)
        if not says_the_same(entry.memory, stored.memory):
            raise KeyError(stored.memory.memory_id)
        return snapshot, file, entry

    def locate(self, stored: StoredMemory) -> tuple[FileSnapshot, TopicFile, Entry]:
        """Returns the entry as it is now, also if a person moved it to another file of the scope.

        Raises KeyError only if it was deleted, not if its file cannot be read just now.
        """
        scope, memory_id = stored.scope, stored.memory.memory_id
        self._tree.require_disk()
        known = self._tree.folder(scope) / stored.path
        self._tree.refuse_links(known)
        problem = ""
        try:
            if (found := self._tree.find(known, memory_id)) is not None:
                return found
        except VaultFileBroken as error:
            problem = "" if is_gone(known) else str(error)
        listing = self.list_files(scope)
        for path in self._may_hold(scope, [memory_id]):
            with contextlib.suppress(VaultFileBroken):
                if path != known and (found := self._tree.find(path, memory_id)) is not None:
                    return found
        if problem or listing.shut:
            raise VaultWriteFailed(problem or f"{listing.shut[0] or scope.name}: unreadable")
        raise KeyError(memory_id)


def says_the_same(one: Memory, other: Memory) -> bool:
    """True if two entries are equal but for their time: one without a time has its file's, which
    changes."""
    return replace(one, created_at=other.created_at) == other
