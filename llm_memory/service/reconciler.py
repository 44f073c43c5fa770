"""Follows what people do to the files: finds it, puts right what needs it, tells the rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import batched

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.scope import Scope
from ..models.settings import VaultPace
from ..models.vault_state import Changes, FileKey, KnownEntry, KnownFile, Repair, SeenFile
from ..policies.reconcile import Known, compare
from ..ports import FileReport, Key, Vault
from ..ports.vault import Look, Place, Settled
from .catalogue import Catalogue
from .identifiers import Clock
from .living import LivingMemories
from .notice_board import NoticeBoard
from .vault_reports import VaultReports

_FILES = 50
"""Files handled in one thread call."""
_SLICE = 200
"""Memories told to the indexes between two looks at the event loop."""
_TRIES = 5
"""So often a round begins anew because the bot wrote to what it looks at."""


@dataclass(slots=True)
class _Waiting:
    """A file in which ids are to be given once nobody types there any more."""

    stamp: tuple[int, int, int]
    since: float


class Reconciler:
    """Touched from the event loop only; one round at a time."""

    def __init__(
        self,
        vault: Vault,
        catalogue: Catalogue,
        living: LivingMemories,
        notices: NoticeBoard,
        clock: Clock,
        pace: VaultPace,
    ) -> None:
        self._vault = vault
        self._ledger = vault.ledger
        self._catalogue = catalogue
        self._living = living
        self._reports = VaultReports(notices)
        self._clock = clock
        self._pace = pace
        self._round = asyncio.Lock()
        self._stamps: dict[FileKey, tuple[int, int, int]] = {}
        self._waiting: dict[FileKey, _Waiting] = {}
        self._loading = False
        self._stopping = False

    def stop(self) -> None:
        """Have a round that runs end soon. What is left is found at the next start."""
        self._stopping = True

    async def load(self) -> None:
        """Read the vault into the catalogue, and compare it with how it was known."""
        async with self._round:
            await asyncio.to_thread(self._ledger.open)
            await asyncio.to_thread(self._vault.finish_moves)
            self._loading = True
            try:
                await self._load_all()
            except StateUnavailable as error:
                logger.warning("不知道记忆文件上次是怎样的，这次只读不比：{}", error)
                await self._read_all()
            finally:
                self._loading = False

    async def _load_all(self) -> None:
        look = await asyncio.to_thread(self._vault.look)
        files = await asyncio.to_thread(self._ledger.files)
        await self._look_at(look, files, look.places, _gone(files, look))
        held = await asyncio.to_thread(self._ledger.held)
        self._catalogue.load(_stored(self._vault, held))
        self._reports.held(held)

    async def _read_all(self) -> None:
        """Where nobody can tell what was known: what stands there is what there is."""
        for scope in await asyncio.to_thread(self._vault.scopes):
            content = await asyncio.to_thread(self._vault.read, scope)
            for memories in batched(content.memories, _SLICE):
                self._catalogue.load(memories)
                await asyncio.sleep(0)

    async def reconcile(self) -> None:
        """One round: what changed since the last one is taken in. Cheap where nothing did."""
        async with self._round:
            look = await asyncio.to_thread(self._vault.look)
            if look.absent:
                counts = await asyncio.to_thread(self._ledger.counts)
                self._reports.gone(counts)
                return
            changed = [p for p in look.places if self._stamps.get(p.key) != p.stamp]
            files = await asyncio.to_thread(self._ledger.files)
            gone = _gone(files, look)
            if changed or gone:
                await self._look_at(look, files, changed, gone)
            else:
                self._reports.broken(look.broken, {p.key for p in look.places})
            await self._give_ids(look)
            if changed or gone or self._reports.is_held:
                self._reports.held(await asyncio.to_thread(self._ledger.held))

    @property
    def next_due(self) -> float | None:
        """Seconds until a file is left alone long enough to be given ids; None if none waits."""
        if not self._waiting:
            return None
        oldest = min(waiting.since for waiting in self._waiting.values())
        return max(0.0, oldest + self._pace.quiet_seconds - time.monotonic())

    async def confirm(self) -> int:
        """A person says that what is held was meant to be deleted: how many entries are forgotten.

        Raises VaultWriteFailed, StateUnavailable.
        """
        async with self._round, self._living.writing:
            held = await asyncio.to_thread(self._ledger.held)
            await self._forget(held)
            self._reports.held([])
        return len(held)

    # One round

    async def _look_at(
        self,
        look: Look,
        files: dict[FileKey, KnownFile],
        changed: Sequence[Place],
        gone: Collection[FileKey],
    ) -> None:
        broken = list(look.broken)
        for attempt in range(_TRIES):
            broken = list(look.broken)
            seen = await self._see(changed, files, broken)
            places = {place.key: place for place in changed}
            async with self._living.writing:
                # What the bot wrote since is not in what was read.
                stale = await asyncio.to_thread(
                    self._stale, [places[file.key] for file in seen], gone
                )
                if not stale or attempt + 1 == _TRIES:
                    kept = [file for file in seen if file.key not in stale]
                    await self._apply(kept, [key for key in gone if key not in stale], places)
                    break
            look = await asyncio.to_thread(self._vault.look)
            now = {place.key: place for place in look.places}
            changed = [now[place.key] for place in changed if place.key in now]
            gone = [key for key in gone if key not in now]
            files = await asyncio.to_thread(self._ledger.files)
        self._reports.broken(broken, {p.key for p in look.places} - {p.key for p in changed})

    async def _see(
        self,
        places: Sequence[Place],
        files: dict[FileKey, KnownFile],
        broken: list[FileReport],
    ) -> list[SeenFile]:
        """What is in files that are not as they were known."""
        seen: list[SeenFile] = []
        for some in batched(places, _FILES):
            if self._stopping:
                raise asyncio.CancelledError
            answers = await asyncio.to_thread(self._vault.see, some, files, anew=self._loading)
            for place, answer in zip(some, answers, strict=True):
                match answer:
                    case FileReport():
                        broken.append(answer)
                        self._stamps[place.key] = place.stamp
                    case KnownFile():
                        self._stamps[place.key] = place.stamp
                    case SeenFile() if _is_as_known(answer, files):
                        await self._renew(answer)
                        self._stamps[place.key] = place.stamp
                    case SeenFile():
                        seen.append(answer)
                        if self._loading and not files:  # nothing is known: nothing was moved
                            await self._load(answer)
        return seen

    async def _renew(self, file: SeenFile) -> None:
        """Nobody changed the file; its time may be another, and entries without one have that."""
        if self._loading:
            await self._load(file)
            return
        for entry in file.entries:
            key = Key(file.scope.name, entry.memory.memory_id)
            known = self._catalogue.get(key)
            if known is not None and known.path == file.path:
                self._take(StoredMemory(file.scope, file.path, entry.memory))

    async def _load(self, file: SeenFile) -> None:
        for entries in batched(file.entries, _SLICE):
            self._catalogue.load(
                StoredMemory(file.scope, file.path, entry.memory) for entry in entries
            )
            await asyncio.sleep(0)

    def _stale(self, places: Sequence[Place], gone: Collection[FileKey]) -> set[FileKey]:
        """The files that are not what they were when they were looked at. Blocks."""
        stamps = self._vault.stamps([*(place.key for place in places), *gone])
        stale = {place.key for place in places if stamps[place.key] != place.stamp}
        return stale | {key for key in gone if stamps[key] is not None}

    async def _apply(
        self, seen: Sequence[SeenFile], gone: Collection[FileKey], places: dict[FileKey, Place]
    ) -> None:
        if not seen and not gone:
            return
        changes, rows = await asyncio.to_thread(self._compare, seen, gone)
        if changes.vanished or changes.held:
            logger.info(
                "记忆文件里少了 {} 条，保留 {} 条", len(changes.vanished), len(changes.held)
            )
        failed = await self._let_go(changes, gone)
        for some in batched([file for file in seen if file.key not in failed], _FILES):
            if self._stopping:
                break
            steps = [
                (file, changes.repairs.get(file.key, Repair()), rows.get(file.key, []))
                for file in some
            ]
            settled = await asyncio.to_thread(self._settle, steps, name=False)
            for file, result in zip(some, settled, strict=True):
                await self._take_in(file, changes, result)
                if result is not None:
                    self._keep_stamp(places[file.key], waits=result.waits)
        for key in gone:
            if key not in failed:
                self._stamps.pop(key, None)
            self._waiting.pop(key, None)

    def _compare(
        self, seen: Sequence[SeenFile], gone: Collection[FileKey]
    ) -> tuple[Changes, dict[FileKey, list[KnownEntry]]]:
        """Blocks."""
        keys = [*(file.key for file in seen), *gone]
        rows = {
            (row.scope, row.memory_id): row
            for row in (
                *self._ledger.entries_named(
                    {entry.memory.memory_id for file in seen for entry in file.entries}
                ),
                *self._ledger.entries_in(keys),
            )
        }
        files = ((key, self._ledger.file(key)) for key in keys)
        known = Known(
            {key: file for key, file in files if file is not None},
            list(rows.values()),
            self._ledger.counts(),
            self._ledger.departed(),
        )
        by_file: dict[FileKey, list[KnownEntry]] = {}
        for row in rows.values():
            by_file.setdefault(row.file, []).append(row)
        return compare(seen, gone, known, time.time()), by_file

    def _settle(
        self, steps: Sequence[tuple[SeenFile, Repair, list[KnownEntry]]], *, name: bool
    ) -> list[Settled | None]:
        """Blocks."""
        found: list[Settled | None] = []
        for file, repair, rows in steps:
            try:
                found.append(self._vault.settle(file, repair, rows, name=name))
            except VaultWriteFailed as error:
                self._reports.not_written(error)
                found.append(None)
        return found

    async def _let_go(self, changes: Changes, gone: Collection[FileKey]) -> set[FileKey]:
        """Forget what vanished, note what is held; the files for which that could not be done."""
        failed: set[FileKey] = set()
        try:
            await self._forget(changes.vanished)
        except VaultWriteFailed as error:
            self._reports.not_written(error)
            failed = {entry.file for entry in changes.vanished}
        stays = {(entry.scope, entry.memory_id) for _, entry in _placed(changes)}
        left = [e for e in changes.left if (e.scope, e.memory_id) not in stays]
        await asyncio.to_thread(
            self._ledger.record,
            entries=[replace(entry, held=True) for entry in changes.held],
            gone=[(entry.scope, entry.memory_id) for entry in left],
            gone_files=[key for key in gone if key not in failed],
        )
        for entry in left:
            self._drop(entry)
        return failed

    async def _forget(self, entries: Sequence[KnownEntry]) -> None:
        """To the archive, as a person's deed; then out of what is known."""
        if not entries:
            return
        at = self._clock().replace(microsecond=0)
        await asyncio.to_thread(self._vault.bury, entries, at=at)
        keys = [(entry.scope, entry.memory_id) for entry in entries]
        await asyncio.to_thread(self._ledger.record, gone=keys)
        for some in batched(entries, _SLICE):
            for entry in some:
                self._drop(entry)
            await asyncio.sleep(0)

    def _drop(self, entry: KnownEntry) -> None:
        stored = self._catalogue.get(Key(entry.scope, entry.memory_id))
        if stored is None:
            return
        if self._loading:
            self._catalogue.remove(stored)
        else:
            self._living.drop(stored)

    async def _take_in(self, file: SeenFile, changes: Changes, settled: Settled | None) -> None:
        """What lives in a file now; what stood there under an id of another's is dropped."""
        repair = changes.repairs.get(file.key, Repair())
        if settled is None:
            return
        living = {memory.memory_id for memory in settled.living}
        taken_out = [file.entries[n].memory.memory_id for n in repair.copied]
        for memory_id in (*taken_out, *(memory_id for memory_id, _ in repair.cut)):
            stored = self._catalogue.get(Key(file.scope.name, memory_id))
            if stored is not None and stored.path == file.path and memory_id not in living:
                self._drop(KnownEntry(file.scope.name, file.path, stored.memory, ""))
        for memories in batched(settled.living, _SLICE):
            for memory in memories:
                self._take(StoredMemory(file.scope, file.path, memory))
            await asyncio.sleep(0)

    def _take(self, stored: StoredMemory) -> None:
        if self._catalogue.get(Key(stored.scope.name, stored.memory.memory_id)) == stored:
            return
        if self._loading:  # the indexes are compared with all of it when they are opened
            self._catalogue.put(stored)
        else:
            self._living.take(stored)

    def _keep_stamp(self, place: Place, *, waits: bool) -> None:
        self._stamps[place.key] = place.stamp
        if not waits:
            self._waiting.pop(place.key, None)
            return
        before = self._waiting.get(place.key)
        if before is None or before.stamp != place.stamp:
            # At the start of the bot nobody has just typed.
            since = -self._pace.quiet_seconds if self._loading else time.monotonic()
            self._waiting[place.key] = _Waiting(place.stamp, since)

    # Ids for what people wrote

    async def _give_ids(self, look: Look) -> None:
        """To the files that were left alone for a while, each under the lock by itself."""
        now = time.monotonic()
        places = {place.key: place for place in look.places}
        for key, waiting in list(self._waiting.items()):
            place = places.get(key)
            if self._stopping or place is None or place.stamp != waiting.stamp:
                continue
            if now - waiting.since >= self._pace.quiet_seconds:
                async with self._living.writing:
                    await self._name(place)

    async def _name(self, place: Place) -> None:
        answers = await asyncio.to_thread(self._vault.see, [place], {}, anew=True)
        file = answers[0]
        stale = await asyncio.to_thread(self._stale, [place], ())
        if not isinstance(file, SeenFile) or stale:
            return
        changes, rows = await asyncio.to_thread(self._compare, [file], ())
        if changes.vanished or changes.left or any(not entry.held for entry in changes.held):
            # Something else happened to the file: the next round looks at it.
            self._stamps.pop(place.key, None)
            return
        step = (file, changes.repairs.get(file.key, Repair()), rows.get(file.key, []))
        (settled,) = await asyncio.to_thread(self._settle, [step], name=True)
        await self._take_in(file, changes, settled)
        if settled is not None:
            self._waiting.pop(place.key, None)


def _gone(known: Collection[FileKey], look: Look) -> list[FileKey]:
    """Files that were known and are there no more; not what only cannot be looked at."""
    there = {place.key for place in look.places}
    return [key for key in known if key not in there and not _is_hidden(key, look.hidden)]


def _is_hidden(key: FileKey, hidden: Sequence[FileKey]) -> bool:
    scope, path = key
    return any(
        scope == name and (folder in ("", path) or path.startswith(f"{folder}/"))
        for name, folder in hidden
    )


def _is_as_known(file: SeenFile, files: dict[FileKey, KnownFile]) -> bool:
    known = files.get(file.key)
    return known is not None and known.digest == file.digest


def _placed(changes: Changes) -> list[tuple[SeenFile, KnownEntry]]:
    return [
        (file, KnownEntry(file.scope.name, file.path, entry.memory, entry.digest))
        for file, entry, _ in changes.living
    ]


def _stored(vault: Vault, entries: Sequence[KnownEntry]) -> list[StoredMemory]:
    scopes: dict[str, Scope | None] = {}
    found = []
    for entry in entries:
        if entry.scope not in scopes:
            scopes[entry.scope] = vault.named(entry.scope)
        if (scope := scopes[entry.scope]) is not None:
            found.append(StoredMemory(scope, entry.path, entry.memory))
    return found
