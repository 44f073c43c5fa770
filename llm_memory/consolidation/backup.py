"""Backups of the whole store: each night in ``backups/daily/``, by command in ``exports/``.

Under the writers' lock each file of a scope gets a second name, a hard link, in a folder of ours:
so writers wait for a look at the tree and not for the copying, and the backup is of one moment. The
bot writes to no file with two names, it replaces it; what another program appends lies beyond the
length that was taken. Where the disk has no links, and beside the scopes, where files are appended
to in place, the file is copied.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..catalogue.recallable_memories import RecallableMemories
from ..errors import TransferFailed
from ..log import logger
from ..models.status import Notice
from ..models.vault_layout import SCOPES
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..storage.disk_space import RESERVE, free_bytes
from ..storage.files import is_link, make_folder
from ..transfer.line_files import TransferFolders, translated
from ..transfer.rules.format import line_of
from ..transfer.store_reader import MAX_FILE
from ..transfer.store_transfer import heads
from ..transfer.store_zip import HEAD, Member, carried_files, rewrite_zip, write_zip
from .report import SleepReport

_NAME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:-\d{6})?\.(?:zip|jsonl)")
"""An earlier version wrote lines: they are restored, counted and removed as the others are."""

type Changed = Callable[[str, bytes], bytes | None]
"""Returns what a file of the tree is to hold; None for no such file."""


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
    _notices: NoticeBoard
    _clock: Clock
    _keep: int
    may_rotate: Callable[[], bool]
    _version: str
    _carried_settings: Callable[[], Mapping[str, object]]
    """Returns the owner's, without secrets."""
    _making: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._stage = self._folder / ".stage"

    async def run(self) -> SleepReport:
        """Write today's. Raises TransferFailed, and leaves the others as they were."""
        if self._keep <= 0:
            return SleepReport()
        try:
            path, _ = await self._write(self._tonights)
        except TransferFailed as error:
            params = {"detail": error.detail or str(error)}
            self._notices.post(Notice("backup_failed", params=params))
            raise
        self._notices.clear("backup_failed")
        logger.info("backup_written", name=path.name)
        if self.may_rotate():
            await shielded(asyncio.to_thread(self._rotate, path))
        return SleepReport(backup=path.name)

    async def carry_out(self, files: TransferFolders) -> tuple[str, int]:
        """Write the whole store into a new file of ``exports/``. Returns its name and how many
        files it holds. Raises TransferFailed, and leaves no file."""
        name = f"backup-{self._clock():%Y%m%d-%H%M%S}.zip"
        path, count = await self._write(lambda: files.free(name))
        return path.name, count

    async def _write(self, target: Callable[[], Path]) -> tuple[Path, int]:
        """Returns the file and how many it holds."""
        stopped = threading.Event()
        async with self._making:
            try:
                await shielded(asyncio.to_thread(self._clear))
                async with self._living.writing:
                    lengths = await shielded(asyncio.to_thread(self._stage_all))
                path = await asyncio.to_thread(target)
                writing = asyncio.to_thread(write_zip, path, self._members(lengths, stopped))
                await shielded(writing, on_cancel=stopped.set)
                return path, len(lengths)
            finally:
                await shielded(asyncio.to_thread(self._clear))

    def _stage_all(self) -> dict[str, int]:
        with translated("not_written", self._folder.name):
            make_folder(self._folder)
            found = {path: self._stage_one(path) for path in carried_files(self._memory)}
            lengths = {path: one.st_size for path, one in found.items() if one}
            # The new file, and room for everybody else.
            if free_bytes(self._folder) < sum(lengths.values()) + RESERVE:
                raise TransferFailed("not_written", "no room on the disk")
            return lengths

    def _stage_one(self, path: str) -> os.stat_result | None:
        """Returns None for a file that is gone, cannot be read or is too large to be restored."""
        source, target = self._memory / path, self._stage / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            if source.stat().st_size > MAX_FILE:
                return None
            if path.startswith(f"{SCOPES}/"):
                with contextlib.suppress(OSError):
                    os.link(source, target)
            if not target.exists():
                shutil.copy2(source, target)
            return target.stat()
        except (FileNotFoundError, PermissionError):
            return None

    def _members(self, lengths: Mapping[str, int], stopped: threading.Event) -> Iterator[Member]:
        scopes = {path.split("/")[1] for path in lengths if path.startswith(f"{SCOPES}/")}
        settings = self._carried_settings()
        head = heads(scopes, now=self._clock(), version=self._version, settings=settings)
        yield HEAD, 0, "\n".join(map(line_of, head)).encode()
        for path, length in lengths.items():
            if stopped.is_set():
                raise TransferFailed("not_written", "the engine closes")
            with (self._stage / path).open("rb") as file:
                yield path, os.fstat(file.fileno()).st_mtime_ns, file.read(length)

    async def rewrite(self, changed: Changed) -> list[str]:
        """Write each nightly zip anew with its files changed. Returns which could not be read or
        written, and why: they stay as they were."""
        failed = []
        async with self._making:
            for path in await asyncio.to_thread(self._kept):
                if path.suffix != ".zip":
                    continue
                try:
                    if await shielded(asyncio.to_thread(rewrite_zip, path, changed)):
                        logger.info("backup_purged", name=path.name)
                except TransferFailed as error:
                    failed.append(f"backups/daily/{path.name}: {error.detail or error}")
        return failed

    def _kept(self) -> list[Path]:
        """Returns the nightly backups, the oldest first."""
        named = (path for path in self._folder.glob("*") if _NAME.fullmatch(path.name))
        return sorted(path for path in named if path.is_file() and not is_link(path))

    def _tonights(self) -> Path:
        now = self._clock()
        path = self._folder / f"{now:%Y-%m-%d}.zip"
        taken = path.exists() and not self.may_rotate()
        return self._folder / f"{now:%Y-%m-%d-%H%M%S}.zip" if taken else path

    def _rotate(self, newest: Path) -> None:
        """Delete the oldest. What cannot be deleted waits for the next night."""
        older = [path for path in self._kept() if path != newest]
        try:
            for path in older[: max(len(older) - (self._keep - 1), 0)]:
                path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("backup_not_deleted", error=error)

    def _clear(self) -> None:
        """Delete the second names, and what a kill left. Never raises."""
        if not is_link(self._stage):
            shutil.rmtree(self._stage, ignore_errors=True)
        with contextlib.suppress(OSError):
            for left in self._folder.glob(".*.tmp"):
                left.unlink(missing_ok=True)
