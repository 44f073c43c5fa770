"""The Markdown tree ``memory/scopes/<scope>/``: every acknowledged memory is in it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import StateUnavailable, VaultFileBroken, VaultWriteFailed
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory, Topic
from ..models.scope import Scope
from ..models.vault_layout import topic_path
from ..storage.files import ChangedMeanwhile
from .archive import BY_HAND, VaultArchive
from .entry_locator import EntryLocator, says_the_same
from .fresh_ids import FreshIds, MakeId, random_id
from .ledger import SqliteLedger
from .ledger_port import EntryLedger
from .models import FileKey, KnownEntry, KnownFile, RemovedEntry, Repair, SeenFile
from .ports import FileReport, Look, Place, Settled, VaultContent
from .repair import VaultRepair
from .scan import VaultScan
from .vault_tree import MAX_FILE_BYTES, VaultTree, is_gone
from .vault_writer import VaultWriter, written_digest

_TRIES = 10
"""Attempts at a change while an editor keeps saving the file."""


class MarkdownVault:
    """Implements the ``Vault`` port. One lock: a reader never sees half an entry of ours."""

    def __init__(
        self,
        root: Path,
        ledger: EntryLedger | None = None,
        *,
        make_id: MakeId | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``now``: seconds since 1970. Without a ledger one in memory is used; ids are random
        without ``make_id``."""
        self._lock = threading.RLock()
        self._tree = VaultTree(root, self._lock)
        self.ledger = ledger or SqliteLedger()
        self._opened = False
        self._writer = VaultWriter(self._tree, self.ledger, now)
        self._entries = EntryLocator(self._tree, self.ledger)
        self._scan = VaultScan(self._tree)
        self._archive = VaultArchive(self._tree, self._writer)
        self._ids = FreshIds(make_id or random_id, self.ledger, self._archive)
        self._repair = VaultRepair(self._tree, self._scan, self._writer, self._ids)

    def open(self) -> None:
        """Create the tree. Raises VaultWriteFailed."""
        self._tree.open()

    def ensure(self, scope: Scope) -> None:
        self._tree.make(scope)

    def named(self, name: str) -> Scope | None:
        return self._tree.named(name)

    def scopes(self) -> tuple[Scope, ...]:
        return tuple(scope for scope, _ in self._tree.folders() if scope is not None)

    def strays(self) -> tuple[FileReport, ...]:
        """Returns folders that are no scope: they are not read until their name is legal."""
        return tuple(
            FileReport(name, "", "illegal_folder")
            for scope, name in self._tree.folders()
            if scope is None
        )

    def read(self, scope: Scope) -> VaultContent:
        self._ready()
        return self._scan.read(scope, self._entries.survey(scope))

    def look(self) -> Look:
        return self._scan.look()

    def see(
        self, places: Sequence[Place], known: dict[FileKey, KnownFile], *, anew: bool
    ) -> list[SeenFile | FileReport | KnownFile]:
        return list(self._scan.see(places, known, anew=anew))

    def stamps(self, keys: Sequence[FileKey]) -> dict[FileKey, tuple[int, int, int] | None]:
        return self._scan.stamps(keys)

    def settle(
        self, seen: SeenFile, repair: Repair, known: Sequence[KnownEntry], *, name: bool
    ) -> Settled | None:
        with self._lock:
            self._ready()
            self._archive_before_cut(seen, repair)
            for entry in repair.taken_back:
                self._archive.keep_edited(
                    seen.scope, entry.path, entry.memory, by=BY_HAND, at=self._at()
                )
            return self._repair.settle(seen, repair, known, name=name)

    def _archive_before_cut(self, seen: SeenFile, repair: Repair) -> None:
        """Entries that a stale save brought back were forgotten or moved, so their words exist
        elsewhere. If they do not (the whole tree was restored from a backup, say), they are
        archived before they are cut."""
        cut = set(repair.cut)
        lost = [
            KnownEntry(seen.scope.name, seen.path, entry.memory, entry.digest)
            for entry in seen.entries
            if (entry.memory.memory_id, entry.digest) in cut
            and not self._stands_elsewhere(seen.scope, entry.memory)
        ]
        if lost:
            self._archive.bury(lost, at=self._at())

    def _at(self) -> datetime:
        return self._moment().astimezone().replace(microsecond=0)

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._writer.now(), UTC)

    def _stands_elsewhere(self, scope: Scope, memory: Memory) -> bool:
        forgotten = self._archive.forgotten(scope, memory.memory_id)
        if any(says_the_same(copy.memory, memory) for copy in forgotten):
            return True
        others = (
            self._entries.find(other, memory.memory_id) for other in self.scopes() if other != scope
        )
        return any(there and says_the_same(there.memory, memory) for there in others)

    def bury(self, entries: Sequence[KnownEntry], *, at: datetime) -> None:
        with self._lock:
            self._archive.bury(entries, at=at)

    def buried(self, entries: Sequence[KnownEntry]) -> dict[tuple[str, str], bool]:
        with self._lock:
            return self._archive.buried(entries)

    def recently_removed(self, since: float) -> list[RemovedEntry]:
        with self._lock:
            return [
                RemovedEntry(
                    scope.name, copy.path, copy.memory.memory_id, written_digest(copy.memory), at
                )
                for scope in self.scopes()
                for copy, at in self._archive.lately(scope, since)
            ]

    def append(self, scope: Scope, topic: Topic, memory: Memory) -> StoredMemory:
        with self._lock:
            self._ready()
            if not memory.memory_id:
                (memory_id,) = self._ids.take(scope, self._moment(), 1)
                memory = replace(memory, memory_id=memory_id)
            relative = self._writer.append(scope, topic_path(topic, memory.created_at), memory)
        return StoredMemory(scope, relative, memory)

    def append_many(
        self, scope: Scope, entries: Sequence[tuple[Topic, Memory]]
    ) -> list[StoredMemory]:
        pairs = [(topic_path(topic, memory.created_at), memory) for topic, memory in entries]
        with self._lock:
            self._ready()
            paths = self._writer.append_many(scope, pairs)
        return [
            StoredMemory(scope, path, memory)
            for path, (_, memory) in zip(paths, pairs, strict=True)
        ]

    def _ready(self) -> None:
        """Open a ledger in memory if the caller opened none."""
        if not self._opened:
            self.ledger.open()
            self._opened = True

    def current(self, stored: StoredMemory) -> StoredMemory | None:
        with self._lock:
            self._ready()
            try:
                reading, _, entry = self._entries.locate(stored)
            except KeyError:
                return None
        return self._entries.stored(stored.scope, reading, entry.memory)

    def replace(self, stored: StoredMemory, memory: Memory) -> StoredMemory:
        def step() -> StoredMemory:
            reading, file, entry = self._entries.unchanged(stored)
            self._writer.replace(stored.scope, reading, file, entry, memory)
            return self._entries.stored(stored.scope, reading, memory)

        return self._retrying(step)

    def edit(
        self, stored: StoredMemory, memory: Memory, *, by: Actor, at: datetime
    ) -> StoredMemory:
        """The former version is archived first: a crash in between leaves a surplus copy there."""

        def step() -> StoredMemory:
            reading, file, entry = self._entries.unchanged(stored)
            path = self._tree.relative(stored.scope, reading.path)
            self._archive.keep_edited(stored.scope, path, entry.memory, by=by, at=at)
            self._writer.replace(stored.scope, reading, file, entry, memory)
            return self._entries.stored(stored.scope, reading, memory)

        return self._retrying(step)

    def unedit(self, stored: StoredMemory) -> StoredMemory | None:
        def step() -> StoredMemory | None:
            before = self._archive.edited(stored.scope, stored.memory.memory_id)
            if before is None:
                return None
            reading, file, entry = self._entries.locate(stored)
            self._writer.replace(stored.scope, reading, file, entry, before.memory)
            with contextlib.suppress(VaultWriteFailed, VaultFileBroken):
                self._archive.cut_edited(before)
            return self._entries.stored(stored.scope, reading, before.memory)

        return self._retrying(step)

    def move(self, stored: StoredMemory, target: Scope) -> StoredMemory:
        """Write to the other scope first, then cut from this one: the ledger records the move, so
        that the next start completes it after a crash."""
        copied: list[StoredMemory] = []

        def step() -> StoredMemory:
            reading, file, entry = self._entries.locate(stored)
            memory_id = entry.memory.memory_id
            there = self._entries.find(target, memory_id)
            if there is not None and not says_the_same(there.memory, entry.memory):
                if not copied:  # another entry with that id: neither may be cut
                    raise KeyError(memory_id)
                # An editor saved it since we copied it.
                self._writer.cut(target, *self._entries.locate(there))
                there = None
            if there is None:
                path = self._tree.relative(stored.scope, reading.path)
                there = self._copied(entry.memory, stored.scope, path, target)
                copied.append(there)
            self._writer.cut(stored.scope, reading, file, entry)
            with contextlib.suppress(StateUnavailable):
                self.ledger.end_move(memory_id)
            return there

        return self._retrying(step)

    def _copied(self, memory: Memory, source: Scope, path: str, target: Scope) -> StoredMemory:
        with contextlib.suppress(StateUnavailable):
            self.ledger.begin_move(memory.memory_id, source.name, target.name)
        try:
            return StoredMemory(target, self._writer.append(target, path, memory), memory)
        except VaultWriteFailed:
            with contextlib.suppress(StateUnavailable):
                self.ledger.end_move(memory.memory_id)
            raise

    def finish_moves(self) -> None:
        """An entry that was copied already is cut from its source; else it is kept there."""
        with self._lock, contextlib.suppress(StateUnavailable):
            for memory_id, source, target in self.ledger.unfinished_moves():
                if self._finish_move(memory_id, self._tree.named(source), self._tree.named(target)):
                    self.ledger.end_move(memory_id)

    def _finish_move(self, memory_id: str, source: Scope | None, target: Scope | None) -> bool:
        """Returns False if it must be tried again."""
        if source is None or target is None:
            return True
        there, stands = self._entries.find(target, memory_id), self._entries.find(source, memory_id)
        if there is None or stands is None or not says_the_same(there.memory, stands.memory):
            return True
        try:
            self._writer.cut(source, *self._entries.locate(stands))
        except KeyError:
            return True
        except (VaultWriteFailed, ChangedMeanwhile):
            return False
        return True

    def archive(self, stored: StoredMemory, *, by: Actor, at: datetime) -> str:
        """Write to the archive first, then cut from the file: a crash in between loses nothing."""
        kept: list[tuple[Memory, str]] = []

        def step() -> str:
            reading, file, entry = self._entries.locate(stored)
            # On a retry after an editor's save with the same words, the copy exists already.
            if not kept or kept[-1][0] != entry.memory:
                path = self._tree.relative(stored.scope, reading.path)
                copy = self._archive.keep_forgotten(stored.scope, path, entry.memory, by=by, at=at)
                kept.append((entry.memory, copy))
            self._writer.cut(stored.scope, reading, file, entry)
            return kept[-1][1]

        return self._retrying(step)

    def archive_many(
        self, stored: Sequence[StoredMemory], *, by: Actor, at: datetime
    ) -> list[StoredMemory]:
        by_file: dict[FileKey, list[StoredMemory]] = {}
        for one in stored:
            by_file.setdefault((one.scope.name, one.path), []).append(one)
        return [one for some in by_file.values() for one in self._archive_some(some, by, at)]

    def _archive_some(
        self, stored: Sequence[StoredMemory], by: Actor, at: datetime
    ) -> list[StoredMemory]:
        """Archive entries of one file: write all to the archive, then cut all, each in one
        write."""
        scope, path = stored[0].scope, stored[0].path
        kept: set[Memory] = set()

        def step() -> list[StoredMemory]:
            self._tree.refuse_absence()
            target = self._tree.folder(scope) / path
            self._tree.refuse_links(target)
            try:
                reading = self._tree.read(target, patient=True, limit=MAX_FILE_BYTES)
                file = reading.parsed()
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
            # On a retry after an editor's save the copies exist already.
            fresh = [entry.memory for _, entry in found if entry.memory not in kept]
            if fresh:
                self._archive.keep_forgotten(scope, path, *fresh, by=by, at=at)
                kept.update(fresh)
            if found:
                self._writer.cut(scope, reading, file, *(entry for _, entry in found))
            return [one for one, _ in found]

        return self._retrying(step)

    def restore(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        with self._lock:
            self._ready()
            copies = self._archive.forgotten(scope, memory_id)
            if not copies:
                return None
            # A crash while it was forgotten may have left older copies, or the entry itself in its
            # file: that one wins.
            stored = self._entries.find(scope, memory_id)
            if stored is None:
                last = copies[-1]
                relative = self._writer.append(scope, last.path, last.memory)
                stored = StoredMemory(scope, relative, last.memory)
            # The entry is restored, so this succeeds: a copy that cannot be cut from the archive,
            # on a full disk, is the same as after a crash.
            with contextlib.suppress(VaultWriteFailed, VaultFileBroken):
                self._archive.cut_forgotten(scope, stored.memory)
        return stored

    def archived(self, scope: Scope, memory_id: str) -> Memory | None:
        copies = self._archive.forgotten(scope, memory_id)
        return copies[-1].noted if copies else None

    def forgotten(
        self, scope: Scope, memory_ids: Collection[str], *, by: Actor | None = None
    ) -> set[str]:
        with self._lock:
            return self._archive.holds(scope, memory_ids, by=by)

    def archived_ids(self) -> set[str]:
        with self._lock:
            return self._archive.ids()

    def archived_words(self, scope: Scope) -> set[tuple[str, str]] | None:
        with self._lock:
            return self._archive.words(scope)

    def erase(self, scope: Scope, unwanted: Callable[[Memory], bool]) -> int:
        with self._lock:
            self._tree.refuse_absence()
            try:
                return self._archive.erase(scope, unwanted)
            except VaultFileBroken as error:
                raise VaultWriteFailed(str(error)) from error

    def _retrying[R](self, step: Callable[[], R]) -> R:
        """Returns the result of a change, which is tried again if an editor saves the file in
        between.

        Raises VaultWriteFailed, KeyError.
        """
        with self._lock:
            self._ready()
            name = ""
            for _ in range(_TRIES):
                try:
                    return step()
                except ChangedMeanwhile as error:
                    name = str(error)
            raise VaultWriteFailed(f"{name}: somebody else writes to it all the time")
