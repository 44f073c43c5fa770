"""Finds entries where they are now, after any edits of the files by people."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from ..errors import StateUnavailable, VaultFileBroken, VaultWriteFailed
from ..models.data_models import Memory, StoredMemory
from ..models.scope import Scope
from .folder_walk import Listing
from .ledger import SqliteLedger
from .markdown.topic_file import Entry, TopicFile
from .models import FileKey, KnownFile
from .vault_tree import FileSnapshot, VaultTree, is_gone


class EntryLocator:
    """The caller holds the vault's lock, and the ledger is open."""

    def __init__(self, tree: VaultTree, ledger: SqliteLedger) -> None:
        self._tree = tree
        self._ledger = ledger

    def find(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        """Returns the recallable entry with that id in one scope, if any."""
        for path in self.list_files(scope).files:
            with contextlib.suppress(VaultFileBroken):
                if (found := self._tree.find(path, memory_id)) is not None:
                    return self.stored(scope, found[0], found[2].memory)
        return None

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
        for path in listing.files:
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
