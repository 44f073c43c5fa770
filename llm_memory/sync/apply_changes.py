"""Apply external edits of vault files: delete entries that disappeared, write missing ids back,
report what could not be written. Files that are still being written are deferred."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ..errors import VaultWriteFailed
from ..log import logger
from ..models.data_models import Memory, StoredMemory
from ..remember.deeds import Deeds
from ..runtime.identifiers import Clock
from ..storage.files import Stamp
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import Changes, Copy, FileKey, KnownEntry, KnownFile, Repair, SeenFile
from .comparison import Differences, FileComparison
from .file_reports import FileReports
from .known_files import KnownVaultFiles
from .unsettled_files import WriteDebounce, tied


@dataclass(eq=False)
class ChangeApplier:
    """The caller holds the writers' lock. Used from the event loop only.

    Attributes:
        stamps: Of the files that were applied as they are.
        unnamed: Files that wait for ids.
        copies: Files that copy others.
        clashes: By file, ids that its entries share with different ones.
        again: Another round has something to do at once.
    """

    _vault: MarkdownVault
    _known_files: KnownVaultFiles
    _corrected: Deeds
    _reports: FileReports
    _debounce: WriteDebounce
    _clock: Clock
    _now: Callable[[], float]
    """Returns seconds since 1970."""
    stamps: dict[FileKey, Stamp | None] = field(default_factory=dict)
    unnamed: set[FileKey] = field(default_factory=set)
    copies: dict[FileKey, Copy] = field(default_factory=dict)
    clashes: dict[FileKey, Sequence[str]] = field(default_factory=dict)
    again: bool = False

    def __post_init__(self) -> None:
        self._comparison = FileComparison(self._vault, self._now)
        self._vault.trust_ledger(self.stamps)

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
        left_alone: list[KnownEntry] = []
        waiting = {key for key in found.unsettled if not self.rests(key, stamps.get(key))}
        self.again = bool(stale)
        if waiting := waiting.union(stale):
            waiting = await asyncio.to_thread(tied, waiting, seen, found.known)
            left_alone = [one for key in waiting for one in found.known.get(key, ())]
            seen = [file for file in seen if file.key not in waiting]
            gone = [key for key in gone if key not in waiting]
            found = await self._compare(seen, gone)
        self._report([*(file.key for file in seen), *gone], found.changes)
        still = await self._forget_missing(found)
        refused = {one.file for one in still}
        if refused:  # with all whose changes only they explain: each is compared again
            refused = await asyncio.to_thread(tied, refused, seen, found.known)
        await self._corrected.changed_by_hand(
            one for key, some in found.corrected.items() if key not in refused for one in some
        )
        held = [replace(entry, held=True) for entry in found.changes.held]
        left = [one for one in found.left if one.file not in refused]
        await asyncio.to_thread(
            lambda: self._vault.ledger.record(
                entries=[*held, *(replace(entry, appended=0) for entry in still)],
                gone=[(entry.scope, entry.memory_id) for entry in left],
                gone_files=[key for key in gone if key not in refused],
            )
        )
        await self._known_files.drop(found.left)
        for file in seen:
            if file.key in found.changes.copies:  # it is not written to
                copy = KnownFile.of_copy(file)
                await asyncio.to_thread(self._vault.ledger.record, files=[copy])
                self._applied(file.key, stamps, waits=False)
            else:
                await self._take_in(file, found, stamps, written=file.key not in refused)
        for key in gone:
            if key not in refused:
                self.stamps.pop(key, None)
            self.unnamed.discard(key)
        if self._known_files.loading:
            await self._known_files.load(left_alone)

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

    def _report(self, keys: Collection[FileKey], changes: Changes) -> None:
        """Notify the owner of what these files share with others, and no more of what they did."""
        for key in keys:
            self.copies.pop(key, None)
            self.clashes.pop(key, None)
        self.copies |= changes.copies
        self.clashes |= changes.clashes
        self._reports.copies(self.copies)
        self._reports.same_ids(self.clashes)

    async def _forget_missing(self, found: Differences) -> list[KnownEntry]:
        """Forget what vanished, file by file. Returns that for which it failed (a full disk takes
        no archive)."""
        changes = found.changes
        if changes.vanished or changes.held:
            logger.info("memories_missing", gone=len(changes.vanished), held=len(changes.held))
        still: list[KnownEntry] = []
        for some in found.vanished.values():
            try:
                await self.forget(some)
            except VaultWriteFailed as error:
                self._reports.not_written(error)
                await self._known_files.drop(some)
                still += some
        return still

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
        await asyncio.to_thread(
            lambda: self._vault.ledger.record(gone=[(one.scope, one.memory_id) for one in entries])
        )
        await self._known_files.drop(entries)

    async def _take_in(
        self, file: SeenFile, found: Differences, stamps: Mapping[FileKey, Stamp], *, written: bool
    ) -> None:
        """Write what a file needs, and make its present entries recallable: all the same where a
        full disk refuses that, or nothing is ``written``."""
        repair = found.changes.repairs.get(file.key, Repair())
        rests = bool(repair.copied or repair.adopts) and self.rests(file.key, stamps[file.key])
        # Without what is cut it may turn out to be a copy, whose entries need no other ids.
        step = partial(self._vault.write_repair, name=rests and not repair.needs_rewrite)
        memories: Collection[Memory] = found.living.get(file.key, {}).values()
        if written:
            try:
                known = found.known.get(file.key, ())
                repaired = await asyncio.to_thread(step, file, repair, known)
            except VaultWriteFailed as error:
                self._reports.not_written(error)
            else:
                if repaired is not None:  # else it changed since: the next round takes care
                    memories = repaired.living
                    self.again |= repaired.waits and rests
                    self._applied(file.key, stamps, waits=repaired.waits)
        await self._known_files.take(StoredMemory(file.scope, file.path, m) for m in memories)

    def _applied(self, key: FileKey, stamps: Mapping[FileKey, Stamp], *, waits: bool) -> None:
        self.stamps[key] = stamps[key]
        (self.unnamed.add if waits else self.unnamed.discard)(key)
