"""Apply external edits of vault files: delete entries that disappeared, write missing ids back,
report what could not be parsed. Files that are still being written are deferred."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import batched

from ..errors import VaultWriteFailed
from ..models.data_models import Memory, StoredMemory
from ..remember.deeds import Deeds
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import (
    Changes,
    Copy,
    FileKey,
    FoundFile,
    KnownEntry,
    KnownFile,
    Look,
    RemovedEntry,
    Repair,
    RepairedFile,
    SeenFile,
)
from ..vault.rules.reconcile import Known, compare
from .deletions import DeletionApplier
from .file_reports import FileReports
from .known_files import KnownVaultFiles, stored_as_known
from .rules.unsettled_files import files_to_defer, tied
from .write_debounce import FileStamp, WriteDebounce

_FILES = 50
"""Files handled in one thread call."""
_AT_ONCE = 500
"""Entries processed before control returns to the event loop."""


class ChangeApplier:
    """The caller holds the writers' lock. Used from the event loop only.

    ``stamps``: of the files that were applied as they are; ``copies``: files that copy others;
    ``unnamed``: files that wait for ids; ``now``: seconds since 1970.
    """

    def __init__(
        self,
        vault: MarkdownVault,
        known_files: KnownVaultFiles,
        corrected: Deeds,
        deletions: DeletionApplier,
        reports: FileReports,
        debounce: WriteDebounce,
        now: Callable[[], float],
    ) -> None:
        self._vault = vault
        self._ledger = vault.ledger
        self._known_files = known_files
        self._record = corrected
        self._deletions = deletions
        self._reports = reports
        self._debounce = debounce
        self._now = now
        self.unnamed: set[FileKey] = set()
        self.stamps: dict[FileKey, FileStamp] = {}
        vault.trust_ledger(self.stamps)
        self.copies: dict[FileKey, Copy] = {}
        self.stopping = False

    async def apply(
        self,
        seen: Sequence[SeenFile],
        gone: Collection[FileKey],
        found_files: dict[FileKey, FoundFile],
    ) -> None:
        """Apply what was done to the files ``seen``, and to those that are ``gone``."""
        if not seen and not gone:
            return
        changes, rows = await asyncio.to_thread(self._compare, seen, gone)
        if still_being_written := self._still_being_written(changes, found_files):
            known = [row for some in rows.values() for row in some]
            still_being_written = await asyncio.to_thread(tied, still_being_written, seen, known)
            if self._known_files.loading:
                kept = [row for key in still_being_written for row in rows.get(key, ())]
                await self._known_files.load(stored_as_known(kept, self._vault.named))
            seen = [file for file in seen if file.key not in still_being_written]
            gone = [key for key in gone if key not in still_being_written]
            changes, rows = await asyncio.to_thread(self._compare, seen, gone)
        self._reports.same_ids([*(file.key for file in seen), *gone], changes.clashes)
        await self._note_corrections(changes)
        not_deleted = await self._deletions.apply(changes, gone)
        await self._leave_copies(seen, gone, changes, found_files)
        copied = [file for file in seen if file.key in changes.copies]
        seen = [file for file in seen if file.key not in changes.copies]
        for some in batched(seen, _FILES):
            if self.stopping:
                break
            steps = [
                (file, changes.repairs.get(file.key, Repair()), rows.get(file.key, []))
                for file in some
            ]
            settled = await asyncio.to_thread(self._settle, steps, name=False)
            for file, result in zip(some, settled, strict=True):
                await self._take_in(file, changes, result)
                if isinstance(result, RepairedFile) and file.key not in not_deleted:
                    self._keep_stamp(found_files[file.key], waits=result.waits)
        await asyncio.to_thread(self._deletions.look_again, not_deleted)
        for key in gone:
            if key not in not_deleted:
                self.stamps.pop(key, None)
            self.unnamed.discard(key)
        await self._known_files.drop(  # loaded at the start, before the comparison
            KnownEntry(file.scope.name, file.path, entry.memory, "")
            for file in copied
            for entry in file.entries
            if self._known_files.path(file.scope.name, entry.memory.memory_id) == file.path
        )

    async def _leave_copies(
        self,
        seen: Sequence[SeenFile],
        gone: Collection[FileKey],
        changes: Changes,
        found_files: dict[FileKey, FoundFile],
    ) -> None:
        """Record which files are copies of others, and notify the owner. They are not written
        to."""
        for key in (*(file.key for file in seen), *gone):
            self.copies.pop(key, None)
        self.copies |= changes.copies
        self._reports.copies(self.copies)
        copied = [file for file in seen if file.key in changes.copies]
        if copied:
            files = [KnownFile.of_copy(file) for file in copied]
            await asyncio.to_thread(self._ledger.record, files=files)
        for file in copied:
            self.stamps[file.key] = found_files[file.key].stamp
            self.unnamed.discard(file.key)

    async def _note_corrections(self, changes: Changes) -> None:
        """Record as corrections what people reworded, moved to another scope, or put back, but not
        what a stale save undid."""
        ours = {
            (key, known.memory_id)
            for key, repair in changes.repairs.items()
            for known in repair.restored
        }
        changed: list[tuple[str, Memory | None, str, Memory]] = []
        for number, (file, entry, before) in enumerate(changes.living):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)  # a large file has tens of thousands of entries
            scope, memory = file.scope.name, entry.memory
            if (file.key, memory.memory_id) in ours or file.key in changes.copies:
                continue
            if before is None:
                changed.append((scope, None, scope, memory))
            elif before.scope != scope or before.memory.judgment != memory.judgment:
                changed.append((before.scope, before.memory, scope, memory))
        await self._record.changed_by_hand(changed)

    def _still_being_written(
        self, changes: Changes, found_files: dict[FileKey, FoundFile]
    ) -> set[FileKey]:
        """Returns the files to defer that an editor may still be writing to."""
        found = set()
        for key in files_to_defer(changes):
            file_stamp = found_files[key].stamp if key in found_files else None
            if not self._debounce.rests(key, file_stamp, age=self._age(file_stamp)):
                found.add(key)
        return found

    def _age(self, file_stamp: FileStamp) -> float:
        """Returns for how long a file has had this stamp. At the bot's start its modification time
        tells; a file with an implausible time counts as old."""
        if not self._known_files.loading:
            return 0.0
        age = -1.0 if file_stamp is None else self._now() - file_stamp[0] / 1e9
        return age if age >= 0 else float("inf")

    def _compare(
        self, seen: Sequence[SeenFile], gone: Collection[FileKey]
    ) -> tuple[Changes, dict[FileKey, list[KnownEntry]]]:
        """Blocks."""
        keys = [*(file.key for file in seen), *gone]
        there = {entry.memory.memory_id for file in seen for entry in file.entries}
        rows = {
            (row.scope, row.memory_id): row
            for some in (
                self._ledger.entries_named(there),
                self._ledger.entries_in(keys, but=there),
            )
            for row in some
        }
        looked_at = set(keys)
        missing = [e for e in rows.values() if e.file in looked_at and e.memory_id not in there]
        homes = {*keys, *(row.file for row in rows.values())}
        files = {key: file for key in homes if (file := self._ledger.file(key)) is not None}
        known = Known(
            files,
            list(rows.values()),
            self._ledger.counts(),
            [
                *self._departed(there - {row.memory_id for row in rows.values()}),
                *self._corrected(seen, files, rows.keys()),
            ],
            self._vault.archived_since_append(missing) if missing else {},
        )
        by_file: dict[FileKey, list[KnownEntry]] = {}
        for row in rows.values():
            by_file.setdefault(row.file, []).append(row)
        return compare(seen, gone, known, self._now()), by_file

    def _departed(self, unknown: Collection[str]) -> list[RemovedEntry]:
        """Returns what the bot removed lately; ``unknown`` are ids that are only in files. At the
        start the ledger may be older than the vault: what it lists as departed, and no archive has,
        was restored by command. Blocks."""
        departed = self._ledger.departed()
        asked: dict[str, set[str]] = {}
        for entry in departed if self._known_files.loading else ():
            if entry.memory_id in unknown:
                asked.setdefault(entry.scope, set()).add(entry.memory_id)
        for name, ids in asked.items():
            scope = self._vault.named(name)
            back = ids - (self._vault.forgotten(scope, ids) if scope is not None else set())
            departed = [d for d in departed if d.scope != name or d.memory_id not in back]
        return departed

    def _corrected(
        self,
        seen: Sequence[SeenFile],
        files: Mapping[FileKey, KnownFile],
        known: Collection[tuple[str, str]],
    ) -> Iterator[RemovedEntry]:
        """Yields what was forgotten or moved in the originals of former copies, and is still in
        these. Blocks."""
        for file in seen:
            if not (file.key in files and files[file.key].is_copy):
                continue
            name = file.scope.name
            ids = {entry.memory.memory_id for entry in file.entries}
            ids = {memory_id for memory_id in ids if (name, memory_id) not in known}
            elsewhere = {memory_id for _, memory_id in known}
            corrected = (ids & elsewhere) | self._vault.forgotten(file.scope, ids)
            for entry in file.entries:
                if (memory_id := entry.memory.memory_id) in corrected:
                    yield RemovedEntry(name, file.path, memory_id, entry.digest, self._now())

    def _settle(
        self, steps: Sequence[tuple[SeenFile, Repair, list[KnownEntry]]], *, name: bool
    ) -> list[RepairedFile | VaultWriteFailed | None]:
        """Blocks."""
        found: list[RepairedFile | VaultWriteFailed | None] = []
        for file, repair, rows in steps:
            try:
                found.append(self._vault.write_repair(file, repair, rows, name=name))
            except VaultWriteFailed as error:
                found.append(error)
        return found

    async def _take_in(
        self, file: SeenFile, changes: Changes, settled: RepairedFile | VaultWriteFailed | None
    ) -> None:
        """Make a file's present entries recallable; drop entries that had another entry's id. What
        cannot be written on a full disk is recallable all the same."""
        repair = changes.repairs.get(file.key, Repair())
        if isinstance(settled, VaultWriteFailed):
            self._reports.not_written(settled)
        if isinstance(settled, RepairedFile):
            memories: Sequence[Memory] = settled.living
        elif settled is not None or self._known_files.loading:
            memories = _unwritten(file, changes, repair)
        else:  # the file changed since: the next round finds it
            return
        living = {memory.memory_id for memory in memories}
        taken_out = {
            *(file.entries[n].memory.memory_id for n in repair.copied),
            *(memory_id for memory_id, _ in repair.cut),
        } - living
        await self._known_files.drop(
            KnownEntry(file.scope.name, file.path, entry.memory, "")
            for entry in file.entries
            if entry.memory.memory_id in taken_out
            and self._known_files.path(file.scope.name, entry.memory.memory_id) == file.path
        )
        await self._known_files.take(StoredMemory(file.scope, file.path, m) for m in memories)

    def _keep_stamp(self, found: FoundFile, *, waits: bool) -> None:
        self.stamps[found.key] = found.stamp
        if waits:
            self.unnamed.add(found.key)
            self._debounce.rests(found.key, found.stamp, age=self._age(found.stamp))
        else:
            self.unnamed.discard(found.key)

    # Ids for people's entries

    async def give_ids(self, look: Look) -> None:
        """Write ids into the files that were not written to for a while, taking the lock for
        each."""
        found_files = {found.key: found for found in look.files}
        for key in sorted(self.unnamed):
            found = found_files.get(key)
            if found is None:
                self.unnamed.discard(key)
            elif self.stopping or self.stamps.get(key) != found.stamp:
                continue
            elif self._debounce.rests(key, found.stamp):
                await self._name(found)

    async def _name(self, found: FoundFile) -> None:
        # Reading takes long: it is done without the lock.
        (file,) = await asyncio.to_thread(self._vault.see, [found], {}, anew=True)
        if isinstance(file, SeenFile):
            async with self._known_files.writing:
                await self._name_seen(found, file)

    async def _name_seen(self, found: FoundFile, file: SeenFile) -> None:
        now = await asyncio.to_thread(self._vault.stamps, [found.key])
        if now[found.key] != found.stamp:
            return
        changes, rows = await asyncio.to_thread(self._compare, [file], ())
        if changes.vanished or changes.left or any(not entry.held for entry in changes.held):
            # The file changed otherwise: the next round compares it.
            self.stamps.pop(found.key, None)
            return
        step = (file, changes.repairs.get(file.key, Repair()), rows.get(file.key, []))
        (settled,) = await asyncio.to_thread(self._settle, [step], name=True)
        await self._take_in(file, changes, settled)
        if isinstance(settled, RepairedFile):
            self.unnamed.discard(found.key)


def _unwritten(file: SeenFile, changes: Changes, repair: Repair) -> list[Memory]:
    """Returns the recallable entries of a file that cannot be written to now."""
    here = {entry.memory.memory_id: entry.memory for f, entry, _ in changes.living if f is file}
    ours = {known.memory_id: known.memory for known in (*repair.restored, *repair.returned)}
    return list({**here, **ours}.values())
