"""Finds what people did to the files, and has it applied."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import batched
from pathlib import Path

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..errors import StateUnavailable
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.settings import Pace
from ..models.vault_layout import folded
from ..remember.deeds import Deeds
from ..runtime.gc_freeze import LONG_LIVED
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import BUFFER_SECONDS, FileKey, FileReport, FoundFile, KnownFile, Look, SeenFile
from ..vault.rules.copies import with_copies
from .apply_changes import ChangeApplier
from .deletions import DeletionApplier
from .file_reports import FileReports
from .known_files import KnownVaultFiles, stored_as_known
from .write_debounce import WriteDebounce

_FILES = 50
"""Files read in one thread call."""
_TRIES = 5
"""Attempts at a round while the bot keeps writing to the files that it compares."""


_MUCH_BYTES = 1024 * 1024
_ENTRY_BYTES = 100


class Reconciler:
    """Used from the event loop only; one round at a time.

    ``elapsed`` returns monotonic seconds, ``now`` seconds since 1970, ``mapped`` the scopes of the
    owner's map.
    """

    def __init__(
        self,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        corrected: Deeds,
        notices: NoticeBoard,
        clock: Clock,
        pace: Pace,
        *,
        elapsed: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        mapped: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        self._vault = vault
        self._ledger = vault.ledger
        self._known_files = KnownVaultFiles(catalogue, living)
        self._reports = FileReports(notices)
        self._debounce = WriteDebounce(pace.quiet_seconds, elapsed)
        self._deletions = DeletionApplier(vault, self._known_files, corrected, self._reports, clock)
        self._change_applier = ChangeApplier(
            vault, self._known_files, corrected, self._deletions, self._reports, self._debounce, now
        )
        self._now = now
        self._mapped = mapped
        self._round = asyncio.Lock()
        self._compared = False
        self._unread: set[FileKey] = set()

    def stop(self) -> None:
        """Make a running round end soon. The next start finds what is left."""
        self._change_applier.stopping = True

    @property
    def holds_deletions(self) -> bool:
        """True if the files lack most of some scope, or were not compared yet."""
        return not self._compared or self._reports.is_held

    @property
    def next_due(self) -> float | None:
        """Returns the seconds until the next deferred file is due; None if none waits."""
        return self._debounce.next_due

    def concerns(self, paths: Collection[str]) -> bool:
        """Returns whether a round would find anything in these changed paths: False for the bot's
        own writes. Blocks."""
        return self._reports.is_broken or not all(map(self._vault.is_as_known, map(Path, paths)))

    async def load(self) -> None:
        """Read the vault into the catalogue, and compare it with its known state."""
        async with self._round:
            await asyncio.to_thread(self._vault.finish_moves)
            self._known_files.loading = True
            try:
                await self._load_all()
            except StateUnavailable as error:
                logger.warning("changes_unknown", error=error)
                await self._read_all()
            finally:
                self._known_files.loading = False

    async def _load_all(self) -> None:
        look = await asyncio.to_thread(self._vault.look)
        files = await asyncio.to_thread(self._ledger.files)
        self._reports.twins([scope.name for scope in look.scopes], self._mapped())
        gone = _gone(files, look)
        there = not look.absent and await self._look_at(look, files, look.files, gone)
        if not there:  # all is as it was; the first round with the tree compares it
            known = await asyncio.to_thread(self._ledger.entries_in, files)
            await self._known_files.load(stored_as_known(known, self._vault.named))
            self._reports.gone(await asyncio.to_thread(self._ledger.counts))
            return
        held = await asyncio.to_thread(self._ledger.held)
        await self._known_files.load(stored_as_known(held, self._vault.named))
        self._reports.held(held)
        self._compared = True
        await asyncio.to_thread(self._note_removed_entries)

    def _note_removed_entries(self) -> None:
        """Record from the archives what was forgotten by command and may still be in an editor's
        buffer: the ledger may be new, or older than the vault. Blocks."""
        known = {(d.scope, d.memory_id) for d in self._ledger.departed()}
        lately = self._vault.recently_removed(self._now() - BUFFER_SECONDS)
        fresh = [d for d in lately if (d.scope, d.memory_id) not in known]
        living = {e.memory_id for e in self._ledger.entries_named({d.memory_id for d in fresh})}
        departed = [d for d in fresh if d.memory_id not in living]
        if departed:
            self._ledger.record(departed=departed)

    async def _read_all(self) -> None:
        """Read all files without comparing them, if the ledger is unavailable."""
        for scope in await asyncio.to_thread(self._vault.scopes):
            content = await asyncio.to_thread(self._vault.read, scope)
            await self._known_files.load(content.memories)

    async def reconcile(self) -> None:
        """Run one round: apply what changed since the last. Cheap if nothing changed."""
        async with self._round:
            self._debounce.begin_round()
            await self._reconcile(await asyncio.to_thread(self._vault.look))

    async def _reconcile(self, look: Look) -> None:
        if look.absent:
            counts = await asyncio.to_thread(self._ledger.counts)
            self._reports.gone(counts)
            return
        self._reports.twins([scope.name for scope in look.scopes], self._mapped())
        stamps = self._change_applier.stamps
        changed = [p for p in look.files if stamps.get(p.key) != p.stamp]
        files = await asyncio.to_thread(self._ledger.files)
        gone = _gone(files, look)
        again = with_copies((p.key for p in changed), gone, self._change_applier.copies)
        if changed or gone:  # an entry that was pasted before may have been cut by now
            again |= self._change_applier.unnamed
        again -= {found.key for found in changed}
        changed += [found for found in look.files if found.key in again]
        if changed or gone:
            await self._look_at(look, files, changed, gone)
        else:
            self._reports.broken(look.broken, {p.key for p in look.files})
        await self._change_applier.give_ids(look)
        if changed or gone or self._reports.is_held:
            self._reports.held(await asyncio.to_thread(self._ledger.held))
        self._compared = True

    async def confirm(self) -> int:
        """Forget the held entries, whose deletion a person confirmed. Returns how many.

        Raises VaultWriteFailed, StateUnavailable.
        """
        async with self._round, self._known_files.writing:
            held = await asyncio.to_thread(self._ledger.held)
            await self._deletions.forget(held)
            self._reports.held([])
        return len(held)

    # One round

    async def _look_at(
        self,
        look: Look,
        files: dict[FileKey, KnownFile],
        changed: Sequence[FoundFile],
        gone: Collection[FileKey],
    ) -> bool:
        """Returns False if the tree has vanished meanwhile: then nothing was done."""
        asked = [found.key for found in changed]
        broken = list(look.broken)
        for attempt in range(_TRIES):
            broken = list(look.broken)
            seen = await self._see(changed, files, broken)
            found_files = {found.key: found for found in changed}
            async with self._known_files.writing:
                if await asyncio.to_thread(self._vault.is_absent):
                    for key in asked:
                        self._change_applier.stamps.pop(key, None)
                    return False
                # What was read lacks what the bot wrote since.
                stale = await asyncio.to_thread(
                    self._stale, [found_files[file.key] for file in seen], gone, look
                )
                if not stale or attempt + 1 == _TRIES:
                    kept = [file for file in seen if file.key not in stale]
                    away = [key for key in gone if key not in stale]
                    await self._change_applier.apply(kept, away, found_files)
                    break
            look = await asyncio.to_thread(self._vault.look)
            now = {found.key: found for found in look.files}
            changed = [now[found.key] for found in changed if found.key in now]
            gone = [key for key in gone if key not in now]
            files = await asyncio.to_thread(self._ledger.files)
        self._reports.broken(broken, {p.key for p in look.files} - {p.key for p in changed})
        return True

    async def _see(
        self,
        found_files: Sequence[FoundFile],
        files: dict[FileKey, KnownFile],
        broken: list[FileReport],
    ) -> list[SeenFile]:
        """Returns the content of files that differ from their records."""
        seen: list[SeenFile] = []
        stamps = self._change_applier.stamps
        loading = self._known_files.loading
        for some in batched(found_files, _FILES):
            if self._change_applier.stopping:
                raise asyncio.CancelledError
            anew = loading or any(found.key in self._unread for found in some)
            entries = _entries(sum(found.stamp[1] for found in some))
            read = partial(self._vault.see, some, files, anew=anew)
            answers = await asyncio.to_thread(LONG_LIVED.made, entries, read)
            for found, answer in zip(some, answers, strict=True):
                match answer:
                    case FileReport():
                        broken.append(answer)
                        stamps[found.key] = found.stamp
                        if loading:
                            self._unread.add(found.key)
                    case KnownFile():
                        stamps[found.key] = found.stamp
                    case SeenFile() if _is_as_known(answer, files):
                        await self._renew(answer)
                        stamps[found.key] = found.stamp
                    case SeenFile():
                        seen.append(answer)
                        self._unread.discard(found.key)
                        if loading and not files:  # without records there are no moves
                            await self._known_files.load(_stored(answer))
        return seen

    async def _renew(self, file: SeenFile) -> None:
        """Make an unchanged file's entries recallable if it was unreadable at the start."""
        if file.key in self._unread:
            self._unread.discard(file.key)
            await self._known_files.take(_stored(file))
        else:
            await self._known_files.renew(file)

    def _stale(
        self, found_files: Sequence[FoundFile], gone: Collection[FileKey], look: Look
    ) -> set[FileKey]:
        """Returns the files that changed since they were read. Blocks."""
        stamps = self._vault.stamps([*(found.key for found in found_files), *gone])
        stale = {found.key for found in found_files if stamps[found.key] != found.stamp}
        back = {key: stamp for key in gone if (stamp := stamps[key]) is not None}
        if not back:
            return stale
        # On a disk that folds names, a renamed file is found under its old name, too.
        others = {(folded(p.scope.name), folded(p.path)): p.key for p in look.files}
        named = {key: others.get((folded(key[0]), folded(key[1]))) for key in back}
        now = self._vault.stamps([other for other in named.values() if other is not None])
        for key, stamp in back.items():
            other = named[key]
            if other is None or other == key or now[other] != stamp:
                stale.add(key)
        return stale


def _stored(file: SeenFile) -> Iterator[StoredMemory]:
    return (StoredMemory(file.scope, file.path, entry.memory) for entry in file.entries)


def _entries(size: int) -> int:
    """Estimates the number of entries in so many bytes of changed files; 0 for an amount that a
    person and a bot write in a day."""
    return 0 if size < _MUCH_BYTES else size // _ENTRY_BYTES


def _gone(known: Collection[FileKey], look: Look) -> list[FileKey]:
    """Returns known files that were removed, without unreadable ones."""
    there = {found.key for found in look.files}
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
