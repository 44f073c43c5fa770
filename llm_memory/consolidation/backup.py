"""Backups of the whole store, zips of its tree: each night in ``backups/daily/``, by command in
``exports/``. Writers wait while one is written, so it is of one moment; recalls do not wait."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..catalogue.recallable_memories import RecallableMemories
from ..errors import TransferFailed
from ..models.vault_layout import SCOPES
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import shielded
from ..storage.files import RESERVE, free_bytes
from ..transfer.line_files import TransferFolders
from ..transfer.store_reader import MAX_FILE
from ..transfer.store_transfer import heads
from ..transfer.store_zip import (
    Member,
    carried_files,
    head_member,
    is_zip,
    rewrite_zip,
    write_zip,
)
from .report import SleepReport

_NAME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:-\d{6})?\.(?:zip|jsonl)")
"""An earlier version wrote lines: they are restored, counted and removed as the others are."""


@dataclass(eq=False)
class Backup:
    """Keeps ``keep`` nightly backups, none for 0. An older one is deleted only after a new one was
    read through, and only while ``may_rotate`` returns True: the files lack nothing that it may
    have."""

    _folder: Path
    """Of the nightly ones."""
    _memory: Path
    """The tree."""
    _living: RecallableMemories
    _clock: Clock
    _keep: int
    may_rotate: Callable[[], bool]
    _version: str
    _carried_settings: Callable[[], Mapping[str, object]]
    """Returns the owner's, without secrets."""

    async def run(self) -> SleepReport:
        """Write tonight's. Raises TransferFailed, and leaves the others as they were. An older one
        that cannot be deleted is an error in the report."""
        if self._keep <= 0:
            return SleepReport()
        rotates = self.may_rotate()
        form = "%Y-%m-%d.zip" if rotates else "%Y-%m-%d-%H%M%S.zip"
        path = self._folder / self._clock().strftime(form)
        await self._write(path)
        try:
            if rotates:
                await shielded(asyncio.to_thread(self._rotate, path))
        except OSError as error:
            return SleepReport(backup=path.name, errors=(f"backup: {error}",))
        return SleepReport(backup=path.name)

    async def carry_out(self, files: TransferFolders) -> tuple[str, int]:
        """Write the whole store into a new file of ``exports/``. Returns its name and how many
        files it holds. Raises TransferFailed, and leaves no file."""
        path = await asyncio.to_thread(files.free, f"backup-{self._clock():%Y%m%d-%H%M%S}.zip")
        return path.name, await self._write(path)

    async def _write(self, path: Path) -> int:
        """Returns how many files of the tree it holds."""
        async with self._living.writing:
            return await shielded(asyncio.to_thread(write_zip, path, self._members(path))) - 1

    def _members(self, target: Path) -> Iterator[Member]:
        paths, now = carried_files(self._memory), self._clock()
        scopes = {path.split("/")[1] for path in paths if path.startswith(f"{SCOPES}/")}
        settings = self._carried_settings()
        yield head_member(heads(scopes, now=now, version=self._version, settings=settings))
        for path in paths:
            if free_bytes(target.parent) < RESERVE:
                raise TransferFailed("not_written", "no room on the disk")
            # One that is gone meanwhile, cannot be read or is too large to be restored is left out.
            with (
                contextlib.suppress(FileNotFoundError, PermissionError),
                (self._memory / path).open("rb") as file,
            ):
                status = os.fstat(file.fileno())
                if status.st_size <= MAX_FILE:
                    yield path, status.st_mtime_ns, file.read()

    def rewrite(self, changed: Callable[[str, bytes], bytes]) -> list[str]:
        """Write each nightly zip anew with its files changed. Returns which could not be read or
        written, and why: they stay as they were. Blocks."""
        failed = []
        for path in filter(is_zip, self._kept()):
            try:
                rewrite_zip(path, changed)
            except TransferFailed as error:
                failed.append(f"backups/daily/{path.name}: {error.detail or error}")
        return failed

    def _kept(self) -> list[Path]:
        """Returns the nightly backups, the oldest first."""
        inside = self._folder.glob("*")
        return sorted(path for path in inside if _NAME.fullmatch(path.name) and path.is_file())

    def _rotate(self, newest: Path) -> None:
        kept = sorted(self._kept(), key=lambda path: path == newest)
        for path in kept[: -self._keep]:
            path.unlink(missing_ok=True)
