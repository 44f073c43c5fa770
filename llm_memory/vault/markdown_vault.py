"""The Markdown tree ``memory/scopes/<scope>/``: every acknowledged memory is in it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import StateUnavailable, VaultFileBroken, VaultWriteFailed
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory, Topic
from ..models.scope import Scope
from ..models.vault_layout import is_passed_by, is_recalled, topic_path
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import make_id
from ..storage.files import ChangedMeanwhile, Stamp
from .archive import BY_HAND, VaultArchive
from .archive_steps import ArchiveSteps
from .entry_locator import EntryLocator, says_the_same
from .entry_moves import EntryMoves
from .ledger import SqliteLedger
from .markdown.topic_file import digest
from .models import (
    FileKey,
    FileReport,
    FoundFile,
    KnownEntry,
    KnownFile,
    Look,
    RemovedEntry,
    Repair,
    RepairedFile,
    SeenFile,
    VaultContent,
)
from .repair import VaultRepair
from .scan import VaultScan
from .vault_tree import MAX_FILE_BYTES, VaultTree
from .vault_writer import VaultWriter, written_digest

_TRIES = 10
"""Attempts at a change while an editor keeps saving the file."""


class MarkdownVault:
    """The truth. Every method blocks; one lock: a reader never sees half an entry of ours."""

    def __init__(
        self,
        root: Path,
        ledger: SqliteLedger | None = None,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``now``: seconds since 1970. A ledger is opened with the vault; without one, one in
        memory is used."""
        self._lock = threading.RLock()
        self._tree = VaultTree(root, self._lock)
        self.ledger = ledger or SqliteLedger()
        if ledger is None:
            self.ledger.open()
        self._writer = VaultWriter(self._tree, self.ledger, now)
        self._entries = EntryLocator(self._tree, self.ledger)
        self._moves = EntryMoves(self._tree, self._entries, self._writer, self.ledger)
        self._scan = VaultScan(self._tree)
        self._archive = VaultArchive(self._tree, self._writer)
        self._archive_steps = ArchiveSteps(self._tree, self._entries, self._writer, self._archive)
        self._repair = VaultRepair(self._tree, self._scan, self._writer)

    def open(self) -> None:
        """Create the tree, and open the ledger. Raises VaultWriteFailed."""
        self._tree.open()
        self.ledger.open()

    def ensure(self, scope: Scope) -> None:
        """Create the scope's folder. Raises VaultWriteFailed."""
        self._tree.make(scope)

    def named(self, name: str) -> Scope | None:
        """Returns the scope of a folder of ours, which may have been removed."""
        return self._tree.named(name)

    def scopes(self) -> tuple[Scope, ...]:
        """Returns the scopes that have a folder."""
        return tuple(scope for scope, _ in self._tree.folders() if scope is not None)

    def inhabited(self) -> list[str]:
        """Returns the names of the scopes in whose files anything stands."""
        return [
            scope.name
            for scope in self.scopes()
            if any(size for _, (_, size, _) in self._tree.stamps(scope).files)
        ]

    def read(self, scope: Scope) -> VaultContent:
        """Returns all recallable entries of a scope."""
        return self._scan.read(scope, self._entries.list_files(scope))

    def is_absent(self) -> bool:
        """Returns whether the whole tree is gone, as with a disk that was taken out."""
        return self._scan.is_absent()

    def trust_ledger(self, applied: Mapping[FileKey, Stamp | None]) -> None:
        """Search no file whose stamp is in ``applied``, which the caller goes on filling: it was
        compared, so the ledger knows whether an entry is in it."""
        self._entries.applied = applied

    def is_as_known(self, path: Path) -> bool:
        """Returns whether no entry can have changed with a change of this path: its content is what
        the ledger has of it, or no entries are read from it."""
        if (key := self._tree.place_of(path)) is None:
            return False
        if is_passed_by(key[1]) or (key[1].endswith(".md") and not is_recalled(key[1])):
            return True
        with self._lock, contextlib.suppress(StateUnavailable, VaultFileBroken):
            known = self.ledger.file(key)
            if known is not None and not known.timeless:
                return digest(self._tree.read(path, limit=MAX_FILE_BYTES).raw) == known.digest
        return False

    def look(self) -> Look:
        """Returns the files that exist, without opening them."""
        return self._scan.look()

    def see(
        self, found_files: Iterable[FoundFile], known: dict[FileKey, KnownFile]
    ) -> list[SeenFile | FileReport | KnownFile]:
        """Returns one answer for each file: its content, a report, or the ``known`` record of an
        unchanged file."""
        return list(self._scan.see(cooperative(found_files), known))

    def stamps(self, keys: Sequence[FileKey]) -> dict[FileKey, tuple[int, int, int] | None]:
        """Returns the present stamps of files, None for a missing one."""
        return self._scan.stamps(keys)

    def write_repair(
        self, seen: SeenFile, repair: Repair, known: Sequence[KnownEntry], *, name: bool
    ) -> RepairedFile | None:
        """Write what a file needs after a person's save, and record its new state.

        Returns None if the file changed since it was seen. Without ``name`` no ids are given: a
        person may be typing. Raises VaultWriteFailed.
        """
        with self._lock:
            self._archive_before_cut(seen, repair)
            for entry in repair.taken_back:
                self._archive.keep_edited(
                    seen.scope, entry.path, entry.memory, by=BY_HAND, at=self._at()
                )
            return self._repair.write_repair(seen, repair, known, name=name)

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
            self._archive.archive_deleted(lost, at=self._at())

    def _at(self) -> datetime:
        return self._moment().astimezone().replace(microsecond=0)

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._writer.now(), UTC)

    def _stands_elsewhere(self, scope: Scope, memory: Memory) -> bool:
        name = memory.memory_id
        forgotten = self._archive.forgotten(scope, [name])
        if any(says_the_same(copy.memory, memory) for copy in forgotten.get(name, ())):
            return True
        others = (
            self._entries.find(other, memory.memory_id) for other in self.scopes() if other != scope
        )
        return any(there and says_the_same(there.memory, memory) for there in others)

    def archive_deleted(self, entries: Sequence[KnownEntry], *, at: datetime) -> None:
        """Archive entries that a person deleted in the files. Raises VaultWriteFailed."""
        with self._lock:
            self._archive.archive_deleted(entries, at=at)

    def archived_since_append(self, entries: Sequence[KnownEntry]) -> dict[tuple[str, str], bool]:
        """Returns, by scope and id, which of these entries were archived since they were last
        appended; True if the archive has the same words."""
        with self._lock:
            return self._archive.archived_since_append(entries)

    def recently_removed(self, since: float) -> list[RemovedEntry]:
        """Returns what was forgotten by command after ``since`` (seconds since 1970) according to
        the archives, also if it was restored."""
        with self._lock:
            return [
                RemovedEntry(
                    scope.name, copy.path, copy.memory.memory_id, written_digest(copy.memory), at
                )
                for scope in self.scopes()
                for copy, at in self._archive.lately(scope, since)
            ]

    def append(self, scope: Scope, topic: Topic, memory: Memory) -> StoredMemory:
        """Write and fsync; a memory without an id gets one.

        Raises VaultWriteFailed if nothing was written.
        """
        with self._lock:
            if not memory.memory_id:
                memory = replace(memory, memory_id=make_id("m", self._moment()))
            relative = self._writer.append(scope, topic_path(topic, memory.created_at), memory)
        return StoredMemory(scope, relative, memory)

    def append_many(
        self, scope: Scope, entries: Sequence[tuple[Topic, Memory]]
    ) -> list[StoredMemory]:
        """The same for many, whose ids differ: one write and fsync for each file.

        Raises VaultWriteFailed if nothing was written; PartlyWritten if some files were.
        """
        pairs = [(topic_path(topic, memory.created_at), memory) for topic, memory in entries]
        with self._lock:
            paths = self._writer.append_many(scope, pairs)
        return [
            StoredMemory(scope, path, memory)
            for path, (_, memory) in zip(paths, pairs, strict=True)
        ]

    def current(self, stored: StoredMemory) -> StoredMemory | None:
        """Returns the entry as it is in its file now, None if it was deleted.

        Raises VaultWriteFailed if its file cannot be read just now.
        """
        with self._lock:
            try:
                reading, _, entry = self._entries.locate(stored)
            except KeyError:
                return None
        return self._entries.stored(stored.scope, reading, entry.memory)

    def replace(self, stored: StoredMemory, memory: Memory) -> StoredMemory:
        """Rewrite one entry in place. Raises VaultWriteFailed, KeyError if it was deleted."""

        def step() -> StoredMemory:
            reading, file, entry = self._entries.unchanged(stored)
            self._writer.replace(stored.scope, reading, file, entry, memory)
            return self._entries.stored(stored.scope, reading, memory)

        return self._retrying(step)

    def refile(self, stored: StoredMemory, topic: Topic, memory: Memory) -> StoredMemory:
        """Rewrite an entry in the file of another topic of its scope. A crash between leaves both.
        Raises VaultWriteFailed, KeyError if a person has changed it or taken it out."""
        new: list[StoredMemory] = []

        def step() -> StoredMemory:
            reading, file, entry = self._entries.unchanged(stored)
            if not new:
                new.append(self.append(stored.scope, topic, memory))
            self._writer.cut(stored.scope, reading, file, entry)
            return new[0]

        return self._retrying(step)

    def edit(
        self, stored: StoredMemory, memory: Memory, *, by: Actor, at: datetime
    ) -> StoredMemory:
        """Rewrite an entry. How it was goes to the archive first: a crash between leaves one copy
        too many there. Raises VaultWriteFailed, KeyError if a person has changed it or taken it
        out."""

        def step() -> StoredMemory:
            reading, file, entry = self._entries.unchanged(stored)
            path = self._tree.relative(stored.scope, reading.path)
            self._archive.keep_edited(stored.scope, path, entry.memory, by=by, at=at)
            self._writer.replace(stored.scope, reading, file, entry, memory)
            return self._entries.stored(stored.scope, reading, memory)

        return self._retrying(step)

    def unedit(self, stored: StoredMemory) -> StoredMemory | None:
        """Restore the entry as it was before its last edit. Returns None if the archive does not
        have it.

        Raises VaultWriteFailed, KeyError.
        """

        def step() -> StoredMemory | None:
            before = self._archive.edited(stored.scope, stored.memory.memory_id)
            if before is None:
                return None
            reading, file, entry = self._entries.locate(stored)
            self._writer.replace(stored.scope, reading, file, entry, before.memory)
            with contextlib.suppress(VaultWriteFailed, VaultFileBroken):
                self._archive.cut(before)
            return self._entries.stored(stored.scope, reading, before.memory)

        return self._retrying(step)

    def move(self, stored: StoredMemory, target: Scope) -> StoredMemory:
        """Move an entry to the same file of another scope. A crash between is mended by
        ``finish_moves``. Raises VaultWriteFailed, KeyError if a person has taken it out."""
        return self._retrying(self._moves.step(stored, target))

    def finish_moves(self) -> None:
        """End the moves that a crash interrupted."""
        with self._lock, contextlib.suppress(StateUnavailable):
            self._moves.finish()

    def archive(self, stored: StoredMemory, *, by: Actor, at: datetime) -> str:
        """Move an entry to ``archive/``; returns the archive's path inside the scope.

        Raises VaultWriteFailed, KeyError if a person has taken the entry out.
        """
        return self._retrying(self._archive_steps.one(stored, by, at))

    def archive_many(
        self, stored: Sequence[StoredMemory], *, by: Actor, at: datetime
    ) -> list[StoredMemory]:
        """The same for many, a file at a time: those that stood where they were known, with the
        words that were known. The others are left alone. Raises VaultWriteFailed."""
        by_file: dict[FileKey, list[StoredMemory]] = {}
        for one in stored:
            by_file.setdefault((one.scope.name, one.path), []).append(one)
        steps = (self._archive_steps.of_one_file(some, by, at) for some in by_file.values())
        return [one for step in steps for one in self._retrying(step)]

    def restore(self, scope: Scope, memory_ids: Collection[str]) -> list[StoredMemory]:
        """Restore to their former files those of these entries that the archive has. Raises
        VaultWriteFailed if nothing was written; PartlyWritten if some files were."""
        with self._lock:
            copies = self._archive.forgotten(scope, memory_ids)
            # A crash while it was forgotten may have left older copies, or the entry itself in its
            # file: that one wins.
            back = self._entries.find_all(scope, copies)
            lacking = [some[-1] for name, some in copies.items() if name not in back]
            entries = [(copy.path, copy.memory) for copy in lacking]
            for path, copy in zip(self._writer.append_many(scope, entries), lacking, strict=True):
                back[copy.memory.memory_id] = StoredMemory(scope, path, copy.memory)
            # They are restored, so this succeeds: a copy that cannot be cut from the archive, on a
            # full disk, is the same as after a crash.
            with contextlib.suppress(VaultWriteFailed, VaultFileBroken):
                self._archive.cut_forgotten(copies, back)
        return list(back.values())

    def archived(self, scope: Scope, memory_ids: Collection[str]) -> list[Memory]:
        """Returns those of these entries that were forgotten in the scope, as the archive has
        them."""
        return [some[-1].noted for some in self._archive.forgotten(scope, memory_ids).values()]

    def forgotten(
        self, scope: Scope, memory_ids: Collection[str], *, by: Actor | None = None
    ) -> set[str]:
        """Returns which of these are in the archive of the scope; with ``by``, only those that this
        actor forgot."""
        with self._lock:
            return self._archive.holds(scope, memory_ids, by=by)

    def archived_ids(self) -> set[str]:
        """Returns every id in the archives of all scopes: of forgotten entries, and of former
        versions of edited ones."""
        with self._lock:
            return self._archive.ids()

    def all_archived(self, scope: Scope) -> list[Memory]:
        """Returns all archived entries, former versions included. Raises VaultFileBroken for a part
        that cannot be read."""
        with self._lock:
            return self._archive.all(scope)

    def archived_anywhere(self) -> list[Memory]:
        """Returns the archived entries of all scopes. Blocks, without the lock: no writer waits for
        a long read. Raises VaultFileBroken."""
        return [memory for scope in self.scopes() for memory in self._archive.all(scope)]

    def move_archived(
        self, source: Scope, target: Scope, memory_ids: Collection[str] | None = None
    ) -> list[str]:
        """Move what is archived of these entries (None: of any) to another scope. Returns their
        ids. Raises VaultWriteFailed."""

        def step() -> list[str]:
            self._tree.require_disk()
            try:
                return self._archive.move(source, target, memory_ids)
            except VaultFileBroken as error:
                raise VaultWriteFailed(str(error)) from error

        return self._retrying(step)

    def purge(
        self,
        scope: Scope,
        unwanted: Callable[[Memory], bool],
        memory_ids: Collection[str] = (),
    ) -> None:
        """Delete from the archive what is ``unwanted``, and these ids from the notes of other
        entries there.

        Raises VaultWriteFailed; some copies may be deleted then.
        """

        def step() -> None:
            self._tree.require_disk()
            try:
                self._archive.purge(scope, unwanted, memory_ids)
            except VaultFileBroken as error:
                raise VaultWriteFailed(str(error)) from error

        self._retrying(step)

    def _retrying[R](self, step: Callable[[], R]) -> R:
        """Returns the result of a change, which is tried again if an editor saves the file in
        between.

        Raises VaultWriteFailed, KeyError.
        """
        with self._lock:
            name = ""
            for _ in range(_TRIES):
                try:
                    return step()
                except ChangedMeanwhile as error:
                    name = str(error)
            raise VaultWriteFailed(f"{name}: somebody else writes to it all the time")
