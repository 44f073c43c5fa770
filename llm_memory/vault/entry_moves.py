"""Moves an entry from one scope to another, so that a crash leaves it in one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from ..catalogue.rules.talk_anchor import without_anchor
from ..errors import StateUnavailable, VaultWriteFailed
from ..models.data_models import Memory, StoredMemory
from ..models.scope import Scope
from ..storage.files import ChangedMeanwhile
from .entry_locator import EntryLocator, says_the_same
from .ledger import SqliteLedger
from .vault_tree import VaultTree
from .vault_writer import VaultWriter


class EntryMoves:
    """The caller holds the vault's lock."""

    def __init__(
        self, tree: VaultTree, entries: EntryLocator, writer: VaultWriter, ledger: SqliteLedger
    ) -> None:
        self._tree = tree
        self._entries = entries
        self._writer = writer
        self._ledger = ledger

    def step(self, stored: StoredMemory, target: Scope) -> Callable[[], StoredMemory]:
        """A move as a step that is tried again if an editor saves the file in between: into the
        other scope first, then out of this one. The ledger knows that a move is under way.

        The step raises VaultWriteFailed, KeyError, ChangedMeanwhile.
        """
        copied: list[StoredMemory] = []

        def step() -> StoredMemory:
            reading, file, entry = self._entries.locate(stored)
            memory_id = entry.memory.memory_id
            leaving = without_anchor(entry.memory)  # the talk stays where it was said
            there = self._entries.find(target, memory_id)
            if there is not None and not says_the_same(there.memory, leaving):
                if not copied:  # another one of that id: neither is ours to cut
                    raise KeyError(memory_id)
                # An editor saved it since we copied it.
                self._writer.cut(target, *self._entries.locate(there))
                there = None
            if there is None:
                path = self._tree.relative(stored.scope, reading.path)
                there = self._copy(leaving, stored.scope, path, target)
                copied.append(there)
            self._writer.cut(stored.scope, reading, file, entry)
            with contextlib.suppress(StateUnavailable):
                self._ledger.end_move(memory_id)
            return there

        return step

    def _copy(self, memory: Memory, source: Scope, path: str, target: Scope) -> StoredMemory:
        with contextlib.suppress(StateUnavailable):
            self._ledger.begin_move(memory.memory_id, source.name, target.name)
        try:
            return StoredMemory(target, self._writer.append(target, path, memory), memory)
        except VaultWriteFailed:
            with contextlib.suppress(StateUnavailable):
                self._ledger.end_move(memory.memory_id)
            raise

    def finish(self) -> None:
        """What was copied already is cut from where it was; what was not stays there. Raises
        StateUnavailable."""
        for memory_id, source, target in self._ledger.unfinished_moves():
            if self._finish(memory_id, self._tree.named(source), self._tree.named(target)):
                self._ledger.end_move(memory_id)

    def _finish(self, memory_id: str, source: Scope | None, target: Scope | None) -> bool:
        """False if it has to be tried again."""
        if source is None or target is None:
            return True
        there, stands = self._entries.find(target, memory_id), self._entries.find(source, memory_id)
        if there is None or stands is None:
            return True
        if not says_the_same(there.memory, without_anchor(stands.memory)):
            return True
        try:
            self._writer.cut(source, *self._entries.locate(stands))
        except KeyError:
            return True
        except (VaultWriteFailed, ChangedMeanwhile):
            return False
        return True
