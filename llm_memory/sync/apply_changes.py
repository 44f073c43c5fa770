"""Apply external edits of vault files: delete entries that disappeared, write missing ids back,
report what could not be written. Files that are still being written are deferred."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import batched

from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import StoredMemory
from ..remember.deeds import Deeds
from ..runtime.identifiers import Clock
from ..storage.files import Stamp
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import (
    Changes,
    Copy,
    FileKey,
    KnownEntry,
    KnownFile,
    Repair,
    RepairedFile,
    SeenFile,
)
from .comparison import Differences, FileComparison
from .file_reports import FileReports
from .known_files import KnownVaultFiles
from .rules.unsettled_files import tied
from .write_debounce import WriteDebounce

_FILES = 50
"""Files written in one thread call."""

type _Written = RepairedFile | VaultWriteFailed | None
"""None: the file changed since it was seen."""


class ChangeApplier:
    """The caller holds the writers' lock. Used from the event loop only.

    ``stamps``: of the files that were applied as they are; ``copies``: files that copy others;
    ``unnamed``: files that wait for ids; ``again``: another round has something to do at once;
    ``now``: seconds since 1970.
    """

    def __init__(
        self,
        vault: MarkdownVault,
        known_files: KnownVaultFiles,
        corrected: Deeds,
        reports: FileReports,
        debounce: WriteDebounce,
        clock: Clock,
        now: Callable[[], float],
    ) -> None:
        self._vault = vault
        self._ledger = vault.ledger
        self._known_files = known_files
        self._corrected = corrected
        self._reports = reports
        self._debounce = debounce
        self._clock = clock
        self._now = now
        self._comparison = FileComparison(vault, now)
        self.unnamed: set[FileKey] = set()
        self.stamps: dict[FileKey, Stamp | None] = {}
        vault.trust_ledger(self.stamps)
        self.copies: dict[FileKey, Copy] = {}
        self.again = False

    async def apply(
        self,
        seen: Sequence[SeenFile],
        gone: Collection[FileKey],
        stamps: Mapping[FileKey, Stamp],
        stale: Collection[FileKey],
    ) -> None:
        """Apply what was done to the files ``seen``, which had these ``stamps``, and to those that
        are ``gone``. Those that are ``stale`` wait, as do all that may still be being written."""
        found = await self._compare(seen, gone)
        waiting = {key for key in found.unsettled if not self.rests(key, stamps.get(key))}
        self.again = bool(stale)
        if waiting := waiting.union(stale):
            waiting = await asyncio.to_thread(tied, waiting, seen, found.known)
            seen = [file for file in seen if file.key not in waiting]
            gone = [key for key in gone if key not in waiting]
            found = await self._compare(seen, gone)
        changes = found.changes
        self._reports.same_ids([*(file.key for file in seen), *gone], changes.clashes)
        await self._corrected.changed_by_hand(found.corrected)
        refused = await self._forget_missing(found, gone)
        await self._leave_copies(seen, gone, changes, stamps)
        for some in batched((file for file in seen if file.key not in changes.copies), _FILES):
            rest = {
                file.key
                for file in some
                if _lacks_ids(changes.repairs.get(file.key))
                and self.rests(file.key, stamps[file.key])
            }
            written = await asyncio.to_thread(self._write, some, found, rest)
            for file, result in zip(some, written, strict=True):
                await self._take_in(file, found, result)
                if isinstance(result, RepairedFile) and file.key not in refused:
                    self.stamps[file.key] = stamps[file.key]
                    (self.unnamed.add if result.waits else self.unnamed.discard)(file.key)
                    self.again |= result.waits and file.key in rest
        await asyncio.to_thread(self._look_again, refused)
        for key in gone:
            if key not in refused:
                self.stamps.pop(key, None)
            self.unnamed.discard(key)

    def rests(self, key: FileKey, stamp: Stamp | None) -> bool:
        """True if nobody has written to a file for a while. At the bot's start its modification
        time tells; a file with an implausible time counts as old."""
        age = 0.0
        if self._known_files.loading:
            age = -1.0 if stamp is None else self._now() - stamp[0] / 1e9
        return self._debounce.rests(key, stamp, age=age if age >= 0 else float("inf"))

    async def _compare(self, seen: Sequence[SeenFile], gone: Collection[FileKey]) -> Differences:
        first = self._known_files.loading
        return await asyncio.to_thread(self._comparison.of, seen, gone, first=first)

    # What is missing

    async def _forget_missing(
        self, found: Differences, gone: Collection[FileKey]
    ) -> Collection[FileKey]:
        """Forget what vanished, file by file, and record what is held. Returns the files for which
        that failed (a full disk takes no archive): they must be compared again."""
        changes = found.changes
        if changes.vanished or changes.held:
            logger.info("memories_missing", gone=len(changes.vanished), held=len(changes.held))
        refused = dict[FileKey, list[KnownEntry]]()
        for key, some in found.vanished.items():
            try:
                await self.forget(some)
            except VaultWriteFailed as error:
                self._reports.not_written(error)
                refused[key] = some
        await asyncio.to_thread(self._record_missing, found, gone, refused)
        await self._known_files.drop([*found.left, *(e for some in refused.values() for e in some)])
        return refused

    def _record_missing(
        self,
        found: Differences,
        gone: Collection[FileKey],
        refused: Mapping[FileKey, Sequence[KnownEntry]],
    ) -> None:
        """Blocks."""
        # Their deletion is decided: ``appended=0`` keeps later rounds from taking them for dropped.
        waiting = [replace(entry, appended=0) for some in refused.values() for entry in some]
        self._ledger.record(
            entries=[*(replace(entry, held=True) for entry in found.changes.held), *waiting],
            gone=[(entry.scope, entry.memory_id) for entry in found.left],
            gone_files=[key for key in gone if key not in refused],
        )

    async def forget(self, entries: Sequence[KnownEntry]) -> None:
        """Archive entries as deleted by a person, then drop their records. Raises VaultWriteFailed,
        StateUnavailable."""
        at = self._clock().replace(microsecond=0)
        noted = await self._corrected.forgotten_by_hand((e.scope, e.memory) for e in entries)
        try:
            await asyncio.to_thread(self._vault.archive_deleted, entries, at=at)
        except VaultWriteFailed:  # not forgotten yet: the person may put it back meanwhile
            await self._corrected.drop(noted)
            raise
        keys = [(entry.scope, entry.memory_id) for entry in entries]
        await asyncio.to_thread(self._ledger.record, gone=keys)
        await self._known_files.drop(entries)

    def _look_again(self, keys: Collection[FileKey]) -> None:
        """Have these files compared again at the next start. Blocks."""
        files = [file for key in keys if (file := self._ledger.file(key)) is not None]
        if files:
            self._ledger.record(files=[replace(file, digest="") for file in files])

    # What is there

    async def _leave_copies(
        self,
        seen: Sequence[SeenFile],
        gone: Collection[FileKey],
        changes: Changes,
        stamps: Mapping[FileKey, Stamp],
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
            self.stamps[file.key] = stamps[file.key]
            self.unnamed.discard(file.key)

    def _write(
        self, files: Sequence[SeenFile], found: Differences, rest: Collection[FileKey]
    ) -> list[_Written]:
        """Write what files need; ids into those that ``rest``. Blocks."""
        written: list[_Written] = []
        for file in files:
            repair = found.changes.repairs.get(file.key, Repair())
            # Without what is cut it may turn out to be a copy, whose entries need no other ids.
            name = file.key in rest and not repair.needs_rewrite
            known = found.known.get(file.key, [])
            try:
                written.append(self._vault.write_repair(file, repair, known, name=name))
            except VaultWriteFailed as error:
                written.append(error)
        return written

    async def _take_in(self, file: SeenFile, found: Differences, written: _Written) -> None:
        """Make a file's present entries recallable. What cannot be written on a full disk is
        recallable all the same; of a file that changed since the next round takes care."""
        match written:
            case RepairedFile(memories):
                pass
            case VaultWriteFailed():
                self._reports.not_written(written)
                memories = tuple(found.living.get(file.key, {}).values())
            case _:
                memories = ()
        await self._known_files.take(StoredMemory(file.scope, file.path, m) for m in memories)


def _lacks_ids(repair: Repair | None) -> bool:
    return repair is not None and bool(repair.copied or repair.adopts)
