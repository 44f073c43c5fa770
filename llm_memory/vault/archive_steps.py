"""Entries into the archive, in steps that are tried again if an editor saves the file meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory
from .archive import VaultArchive
from .entry_locator import EntryLocator, says_the_same
from .vault_tree import MAX_FILE_BYTES, VaultTree, is_gone
from .vault_writer import VaultWriter


class ArchiveSteps:
    """The caller holds the vault's lock. Each step puts its entries into the archive first, then
    takes them out of their file: a crash between loses nothing."""

    def __init__(
        self, tree: VaultTree, entries: EntryLocator, writer: VaultWriter, archive: VaultArchive
    ) -> None:
        self._tree = tree
        self._entries = entries
        self._writer = writer
        self._archive = archive

    def one(self, stored: StoredMemory, by: Actor, at: datetime) -> Callable[[], str]:
        """The step returns the archive's path inside the scope. It raises VaultWriteFailed,
        KeyError, ChangedMeanwhile."""
        kept: list[tuple[Memory, str]] = []

        def step() -> str:
            snapshot, file, entry = self._entries.locate(stored)
            # Where an editor saved the file since, with the same words in it, the copy is there.
            if not kept or kept[-1][0] != entry.memory:
                path = self._tree.relative(stored.scope, snapshot.path)
                copy = self._archive.keep_forgotten(stored.scope, path, entry.memory, by=by, at=at)
                kept.append((entry.memory, copy))
            self._writer.cut(stored.scope, snapshot, file, entry)
            return kept[-1][1]

        return step

    def of_one_file(
        self, stored: Sequence[StoredMemory], by: Actor, at: datetime
    ) -> Callable[[], list[StoredMemory]]:
        """The step returns those of ``stored``, all of one file, that stood there with the words
        that were known. It raises VaultWriteFailed, ChangedMeanwhile."""
        scope, path = stored[0].scope, stored[0].path
        kept: set[Memory] = set()

        def step() -> list[StoredMemory]:
            self._tree.require_disk()
            target = self._tree.folder(scope) / path
            self._tree.refuse_links(target)
            try:
                snapshot = self._tree.read(target, patient=True, limit=MAX_FILE_BYTES)
                file = snapshot.parsed()
            except VaultFileBroken as error:
                if is_gone(target):
                    return []
                raise VaultWriteFailed(str(error)) from error
            found = [
                (one, entry)
                for one in stored
                if (entry := file.find(one.memory.memory_id)) is not None
                and says_the_same(entry.memory, one.memory)
            ]
            # Where an editor saved the file since, the copies are there.
            fresh = [entry.memory for _, entry in found if entry.memory not in kept]
            if fresh:
                self._archive.keep_forgotten(scope, path, *fresh, by=by, at=at)
                kept.update(fresh)
            if found:
                self._writer.cut(scope, snapshot, file, *(entry for _, entry in found))
            return [one for one, _ in found]

        return step
