"""Finds what people did to the files, and has it applied."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import batched
from pathlib import Path

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..errors import StateUnavailable
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.settings import Pace
from ..remember.deeds import Deeds
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import BUFFER_SECONDS, FileKey, FileReport, FoundFile, KnownFile, Look, SeenFile
from ..vault.rules.copies import with_copies
from .apply_changes import ChangeApplier
from .file_reports import FileReports
from .known_files import KnownVaultFiles
from .unsettled_files import WriteDebounce

_FILES = 50
_AGAIN_SECONDS = 1.0
"""Until the next round where one left something: a program may write to a file all the time."""

type _Known = dict[FileKey, KnownFile]
type _Answers = dict[FoundFile, SeenFile | FileReport | KnownFile]


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
        self._known_files = KnownVaultFiles(catalogue, living, vault.named)
        self._reports = FileReports(notices)
        self._debounce = WriteDebounce(pace.quiet_seconds, elapsed)
        self._applier = ChangeApplier(
            vault, self._known_files, corrected, self._reports, self._debounce, clock, now
        )
        self._now = now
        self._mapped = mapped
        self._round = asyncio.Lock()
        self._compared = False
        self._broken: dict[FileKey, FileReport] = {}

    @property
    def holds_deletions(self) -> bool:
        """True if the files lack most of some scope, or were not compared yet."""
        return not self._compared or self._reports.is_held

    @property
    def next_due(self) -> float | None:
        """Returns the seconds until the next deferred file is due; None if none waits."""
        return _AGAIN_SECONDS if self._applier.again else self._debounce.next_due

    def concerns(self, paths: Collection[str]) -> bool:
        """Returns whether a round would find anything in these changed paths: False for the bot's
        own writes. Blocks."""
        return not all(map(self._vault.is_as_known, map(Path, paths)))

    async def load(self) -> None:
        """Take in what was known of the files, but for those to which something was done since,
        and that. If it is unavailable, take in what is in the files."""
        async with self._round:
            await asyncio.to_thread(self._vault.finish_moves)
            self._known_files.loading = True
            try:
                await self._reconcile()
                await self._known_files.load(await asyncio.to_thread(self._ledger.held))
                await asyncio.to_thread(self._note_removed_entries)
            except StateUnavailable as error:
                logger.warning("changes_unknown", error=error)
                for scope in await asyncio.to_thread(self._vault.scopes):
                    content = await asyncio.to_thread(self._vault.read, scope)
                    await self._known_files.take(content.memories)
            finally:
                self._known_files.loading = False

    async def _load_known(self, keys: Collection[FileKey]) -> None:
        """At the start: take in the entries of files as they were known last."""
        if self._known_files.loading:
            known = await asyncio.to_thread(self._ledger.entries_in, keys)
            await self._known_files.load(known)

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

    async def reconcile(self) -> None:
        """Run one round: apply what changed since the last. Cheap if nothing changed."""
        async with self._round:
            await self._reconcile()

    async def confirm(self) -> int:
        """Forget the held entries, whose deletion a person confirmed. Returns how many.

        Raises VaultWriteFailed, StateUnavailable.
        """
        async with self._round, self._known_files.writing:
            held = await asyncio.to_thread(self._ledger.held)
            await self._applier.forget(held)
            self._reports.held({})
        return len(held)

    # One round

    async def _reconcile(self) -> None:
        self._debounce.begin_round()
        self._applier.again = False
        look = await asyncio.to_thread(self._vault.look)
        files = await asyncio.to_thread(self._ledger.files)
        if look.absent:
            await self._load_known(files)
            self._reports.held(await asyncio.to_thread(self._ledger.counts))
            return
        self._reports.twins([scope.name for scope in look.scopes], self._mapped())
        gone = _gone(files, look)
        changed = self._changed(look, gone)
        if changed or gone or self._known_files.loading:
            answers: _Answers = {}
            for some in batched(changed, _FILES):  # what is as it was known is told meanwhile
                found = await asyncio.to_thread(self._vault.see, some, files)
                seen = dict(zip(some, found, strict=True))
                same = (file.key for file, one in seen.items() if isinstance(one, KnownFile))
                await self._load_known([*same])
                answers |= seen
            async with self._known_files.writing:
                if await asyncio.to_thread(self._vault.is_absent):
                    await self._load_known(files)
                    return
                await self._take_in(look, files, gone, answers)
        self._reports.broken([*look.broken, *self._broken.values()])
        if changed or gone or self._reports.is_held:
            held = await asyncio.to_thread(self._ledger.held)
            self._reports.held(Counter(entry.scope for entry in held))
        self._compared = True

    def _changed(self, look: Look, gone: Collection[FileKey]) -> list[FoundFile]:
        """Returns the files to compare: those that changed, and those whose part in that may be
        another one now."""
        stamps, unnamed = self._applier.stamps, self._applier.unnamed
        changed = {found.key for found in look.files if stamps.get(found.key) != found.stamp}
        copies = with_copies(changed, gone, self._applier.copies)
        waiting = [found for found in look.files if found.key in unnamed]
        # They may be given ids now; and an entry that was pasted before may have been cut by now.
        due = {found.key for found in waiting if self._applier.rests(found.key, found.stamp)}
        again = changed | copies | (unnamed if changed or gone else due)
        return [found for found in look.files if found.key in again]

    async def _take_in(
        self, look: Look, files: _Known, gone: Collection[FileKey], answers: _Answers
    ) -> None:
        """Apply what was seen; what changed since then is left to the next round."""
        present = {found.key for found in look.files}
        self._broken = {key: report for key, report in self._broken.items() if key in present}
        read = [found for found, answer in answers.items() if isinstance(answer, SeenFile)]
        stale = await asyncio.to_thread(self._stale, look, gone, read)
        seen: dict[FoundFile, SeenFile] = {}
        stamps = self._applier.stamps
        for found, answer in answers.items():
            self._broken.pop(found.key, None)
            known = files.get(found.key)
            match answer:
                case FileReport():
                    self._broken[found.key] = answer
                    stamps[found.key] = found.stamp
                case KnownFile():
                    stamps[found.key] = found.stamp
                case SeenFile(digest=now) if found.key in stale or not known or known.digest != now:
                    seen[found] = answer
                case SeenFile(scope, path):  # entries without a time have the file's: it may differ
                    memories = (entry.memory for entry in answer.entries)
                    await self._known_files.take(StoredMemory(scope, path, m) for m in memories)
                    stamps[found.key] = found.stamp
        found_stamps = {found.key: found.stamp for found in seen}
        compared = {*found_stamps, *gone}
        same = {found.key for found, one in answers.items() if isinstance(one, KnownFile)}  # loaded
        await self._load_known([key for key in files if key not in compared and key not in same])
        if compared:
            await self._applier.apply([*seen.values()], gone, found_stamps, stale)

    def _stale(
        self, look: Look, gone: Collection[FileKey], found_files: Collection[FoundFile]
    ) -> set[FileKey]:
        """Returns the files that changed since they were read: what was read lacks what the bot
        wrote since. Blocks."""
        now = self._vault.stamps([*(found.key for found in found_files), *gone])
        stale = {found.key for found in found_files if now[found.key] != found.stamp}
        # On a disk that folds names, a renamed file is found under its old name, too.
        there = {None, *(found.stamp for found in look.files)}
        return stale | {key for key in gone if now[key] not in there}


def _gone(known: Collection[FileKey], look: Look) -> list[FileKey]:
    """Returns known files that were removed, without unreadable ones."""
    there = {found.key for found in look.files}
    return [key for key in known if key not in there and not _is_hidden(key, look.hidden)]


def _is_hidden(key: FileKey, hidden: Sequence[FileKey]) -> bool:
    return any(
        key[0] == scope and (path in ("", key[1]) or key[1].startswith(f"{path}/"))
        for scope, path in hidden
    )
