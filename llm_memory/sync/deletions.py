"""Forgets what was deleted in the files, or holds it until a person confirms the deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..errors import VaultWriteFailed
from ..log import logger
from ..remember.deeds import Deeds
from ..runtime.identifiers import Clock
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import Changes, FileKey, KnownEntry
from .file_reports import FileReports
from .known_files import KnownVaultFiles


class DeletionApplier:
    """The caller holds the writers' lock."""

    def __init__(
        self,
        vault: MarkdownVault,
        known_files: KnownVaultFiles,
        corrected: Deeds,
        reports: FileReports,
        clock: Clock,
    ) -> None:
        self._vault = vault
        self._ledger = vault.ledger
        self._known_files = known_files
        self._corrected = corrected
        self._reports = reports
        self._clock = clock

    async def apply(self, changes: Changes, gone: Collection[FileKey]) -> set[FileKey]:
        """Forget what vanished, record what is held. Returns the files for which that failed (a
        full disk takes no archive): they must be compared again."""
        if changes.vanished or changes.held:
            logger.info("memories_missing", gone=len(changes.vanished), held=len(changes.held))
        not_deleted = await self._delete_each(changes.vanished)
        stays = {(f.scope.name, entry.memory.memory_id) for f, entry, _ in changes.living}
        left = [e for e in changes.left if (e.scope, e.memory_id) not in stays]
        # Their deletion is decided: ``appended=0`` keeps later rounds from taking them for dropped.
        waiting = [e for e in changes.vanished if e.file in not_deleted]
        await asyncio.to_thread(
            self._ledger.record,
            entries=[
                *(replace(entry, held=True) for entry in changes.held),
                *(replace(entry, appended=0) for entry in waiting),
            ],
            gone=[(entry.scope, entry.memory_id) for entry in left],
            gone_files=[key for key in gone if key not in not_deleted],
        )
        await self._known_files.drop([*left, *waiting])
        return not_deleted

    async def _delete_each(self, entries: Sequence[KnownEntry]) -> set[FileKey]:
        """Delete file by file. Returns the files for which that failed."""
        by_file: dict[FileKey, list[KnownEntry]] = {}
        for entry in entries:
            by_file.setdefault(entry.file, []).append(entry)
        not_deleted = set()
        for key, some in by_file.items():
            try:
                await self.forget(some)
            except VaultWriteFailed as error:
                self._reports.not_written(error)
                not_deleted.add(key)
        return not_deleted

    async def forget(self, entries: Sequence[KnownEntry]) -> None:
        """Archive entries as deleted by a person, then drop their records. Raises VaultWriteFailed,
        StateUnavailable."""
        if not entries:
            return
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

    def look_again(self, keys: Collection[FileKey]) -> None:
        """Have these files compared again at the next start. Blocks."""
        files = [file for key in keys if (file := self._ledger.file(key)) is not None]
        if files:
            self._ledger.record(files=[replace(file, digest="") for file in files])
