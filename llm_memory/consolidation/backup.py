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
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
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
_STAGE: Final = ".stage"

type Changed = Callable[[str, bytes], bytes | None]
"""Returns what a file of the tree is to hold; None for no such file."""


class Backup:
    """Keeps ``keep`` nightly backups, none for 0. An older one is deleted only after a new one was
    read through, and only while ``may_rotate`` returns True: the files lack nothing that it may
    have."""

    def __init__(
        self,
        folder: Path,
        memory: Path,
        living: RecallableMemories,
        notices: NoticeBoard,
        clock: Clock,
        *,
        keep: int,
        may_rotate: Callable[[], bool],
        version: str,
        carried_settings: Callable[[], Mapping[str, object]],
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        """``folder``: of the nightly ones; ``memory``: the tree; ``carried_settings``: the owner's,
        without secrets; ``free`` returns the free bytes of a path's disk."""
        self._folder = folder
        self._stage = folder / _STAGE
        self._memory = memory
        self._living = living
        self._notices = notices
        self._clock = clock
        self._keep = keep
        self.may_rotate = may_rotate
        self._version = version
        self._settings = carried_settings
        self._free = free
        self._making = asyncio.Lock()

    async def run(self) -> SleepReport:
        """Write today's. Raises TransferFailed, and leaves the others as they were."""
        if self._keep <= 0:
            return SleepReport()
        try:
            async with self._staged() as lengths:
                target = self._folder / await asyncio.to_thread(self._name)
                await self._write(target, lengths)
        except TransferFailed as error:
            params = {"detail": error.detail or str(error)}
            self._notices.post(Notice("backup_failed", params=params))
            raise
        self._notices.clear("backup_failed")
        logger.info("backup_written", name=target.name)
        if self.may_rotate():
            await shielded(asyncio.to_thread(self._rotate, target.name))
        return SleepReport(backup=target.name)

    async def carry_out(self, files: TransferFolders) -> tuple[str, int]:
        """Write the whole store into a new file of ``exports/``. Returns its name and how many
        files it holds. Raises TransferFailed, and leaves no file."""
        name = f"backup-{self._clock():%Y%m%d-%H%M%S}.zip"
        async with self._staged() as lengths:
            target = await asyncio.to_thread(files.free, name)
            await self._write(target, lengths)
        return target.name, len(lengths)

    @asynccontextmanager
    async def _staged(self) -> AsyncIterator[Mapping[str, int]]:
        """Hold the tree as it is at one moment: each file's length, by its path. Raises
        TransferFailed."""
        async with self._making:
            try:
                await shielded(asyncio.to_thread(self._clear))
                async with self._living.writing:
                    lengths = await shielded(asyncio.to_thread(self._stage_all))
                yield lengths
            finally:
                await shielded(asyncio.to_thread(self._clear))

    def _stage_all(self) -> dict[str, int]:
        with translated("not_written", self._folder.name):
            make_folder(self._folder)
            found = {path: self._stage_one(path) for path in carried_files(self._memory)}
            lengths = {path: one.st_size for path, one in found.items() if one}
            # The new file, and room for everybody else.
            if self._free(self._folder) < sum(lengths.values()) + RESERVE:
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

    async def _write(self, target: Path, lengths: Mapping[str, int]) -> None:
        stopped = threading.Event()
        writing = asyncio.to_thread(write_zip, target, self._members(lengths, stopped))
        await shielded(writing, on_cancel=stopped.set)

    def _members(self, lengths: Mapping[str, int], stopped: threading.Event) -> Iterator[Member]:
        scopes = {path.split("/")[1] for path in lengths if path.startswith(f"{SCOPES}/")}
        head = heads(scopes, now=self._clock(), version=self._version, settings=self._settings())
        yield HEAD, 0, "\n".join(map(line_of, head)).encode()
        for path, length in lengths.items():
            if stopped.is_set():
                raise TransferFailed("not_written", "the engine closes")
            with (self._stage / path).open("rb") as file:
                yield path, os.fstat(file.fileno()).st_mtime_ns, file.read(length)

    async def rewrite(self, changed: Changed) -> list[str]:
        """Write each nightly zip anew with its files changed. Returns which could not be read or
        written, and why: they stay as they were. Raises TransferFailed for the folder."""
        failed = []
        async with self._making:
            names = await asyncio.to_thread(self._names)
            for name in (one for one in names if one.endswith(".zip")):
                try:
                    if await shielded(asyncio.to_thread(rewrite_zip, self._folder / name, changed)):
                        logger.info("backup_purged", name=name)
                except TransferFailed as error:
                    failed.append(f"backups/daily/{name}: {error.detail or error}")
        return failed

    def _names(self) -> list[str]:
        """Returns the names of the nightly backups, the oldest first."""
        with translated("not_written", self._folder.name):
            if not self._folder.is_dir():
                return []
            return sorted(
                path.name
                for path in self._folder.iterdir()
                if _NAME.fullmatch(path.name) and path.is_file() and not is_link(path)
            )

    def _name(self) -> str:
        now = self._clock()
        name = f"{now:%Y-%m-%d}.zip"
        taken = name in self._names() and not self.may_rotate()
        return f"{now:%Y-%m-%d-%H%M%S}.zip" if taken else name

    def _rotate(self, newest: str) -> None:
        """Delete the oldest. What cannot be deleted waits for the next night."""
        try:
            names = [name for name in self._names() if name != newest]
            with translated("not_written", self._folder.name):
                for name in names[: max(len(names) - (self._keep - 1), 0)]:
                    (self._folder / name).unlink(missing_ok=True)
        except TransferFailed as error:
            logger.warning("backup_not_deleted", error=error)

    def _clear(self) -> None:
        """Delete the second names, and what a kill left. Never raises."""
        if not is_link(self._stage):
            shutil.rmtree(self._stage, ignore_errors=True)
        with contextlib.suppress(OSError):
            for left in self._folder.glob(".*.tmp"):
                left.unlink(missing_ok=True)
