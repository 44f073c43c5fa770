"""Makes a backup of the whole store while the bot writes, and reads it through before it counts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from typing import Final

from ..catalogue.recallable_memories import RecallableMemories
from ..errors import TransferFailed
from ..log import logger
from ..models.status import Notice
from ..models.transfer import End, Record
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..transfer.line_files import TransferFolders
from ..transfer.rules.format import counted, line_of
from ..transfer.store_transfer import StoreExport
from .backup_files import DailyBackups
from .report import SleepReport

_WORK_SECONDS: Final = 0.004
_REST_SECONDS: Final = 0.008
"""After so long at work the thread leaves the interpreter to the bot for so long."""


type Changed = Callable[[Record], Record | None]


class NightlyBackup:
    """Keeps ``keep`` backups, none for 0. An older one is deleted only after a new one was read
    through, and only while ``may_rotate`` returns True: the files lack nothing that it may have."""

    def __init__(
        self,
        backups: DailyBackups,
        living: RecallableMemories,
        notices: NoticeBoard,
        clock: Clock,
        *,
        keep: int,
        may_rotate: Callable[[], bool],
        version: str,
        carried_settings: Callable[[], Mapping[str, object]],
    ) -> None:
        """``carried_settings``: the owner's, without secrets."""
        self._folder = backups
        self._living = living
        self._notices = notices
        self._clock = clock
        self._keep = keep
        self.may_rotate = may_rotate
        self._version = version
        self._settings = carried_settings
        self._making = asyncio.Lock()

    async def run(self) -> SleepReport:
        """Write today's. Raises TransferFailed, and leaves the others as they were."""
        if self._keep <= 0:
            return SleepReport()
        stopped = threading.Event()
        try:
            async with self._copied():
                await shielded(asyncio.to_thread(self._write, stopped), on_cancel=stopped.set)
                name = await shielded(asyncio.to_thread(self._publish))
        except TransferFailed as error:
            params = {"detail": error.detail or str(error)}
            self._notices.post(Notice("backup_failed", params=params))
            raise
        self._notices.clear("backup_failed")
        await shielded(asyncio.to_thread(self._rotate, name))
        return SleepReport(backup=name)

    async def carry_out(self, files: TransferFolders) -> tuple[str, End]:
        """Write the whole store into a new file of ``exports/``. Returns its name and its contents.
        Raises TransferFailed, and leaves no file."""
        stopped = threading.Event()

        def write() -> tuple[str, End]:
            export = self._export()
            name = f"backup-{self._clock():%Y%m%d-%H%M%S}.jsonl"
            return files.write(name, _gently(export.lines(), stopped)), export.end

        async with self._copied():
            return await shielded(asyncio.to_thread(write), on_cancel=stopped.set)

    @asynccontextmanager
    async def _copied(self) -> AsyncIterator[None]:
        """Hold a copy of the tree as it was at one moment. Raises TransferFailed."""
        folder = self._folder
        async with self._making:
            try:
                await shielded(asyncio.to_thread(folder.clear))
                await shielded(asyncio.to_thread(folder.snapshot))
                async with self._living.writing:  # what has changed since: a look, a few copies
                    await shielded(asyncio.to_thread(folder.snapshot))
                yield
            finally:
                await shielded(asyncio.to_thread(folder.clear))

    async def change(self, changed: Changed) -> list[str]:
        """Rewrite each backup with its records changed; None leaves a record out. Returns which
        could not be read or written, and why: they stay as they were. Raises TransferFailed where
        the folder cannot be read."""
        failed = []
        async with self._making:
            await shielded(asyncio.to_thread(self._folder.clear))
            for name in await asyncio.to_thread(self._folder.names):
                try:
                    await shielded(asyncio.to_thread(self._change, name, changed))
                except TransferFailed as error:
                    failed.append(f"backups/daily/{name}: {error.detail or error}")
        return failed

    def _change(self, name: str, changed: Changed) -> None:
        with closing(self._folder.read(name)) as source:
            if all(changed(record) == record for record in _gently(source.records())):
                return
        with closing(self._folder.read(name)) as source:
            records = map(changed, _gently(source.records()))
            kept = (record for record in records if record is not None)
            self._folder.write(map(line_of, counted(kept)))
        self._folder.publish(name)
        logger.info("backup_purged", name=name)

    def _export(self) -> StoreExport:
        store, now = self._folder.staged_store(), self._clock()
        return StoreExport(store, now=now, version=self._version, settings=self._settings())

    def _write(self, stopped: threading.Event) -> None:
        export = self._export()
        self._folder.write(_gently(export.lines(), stopped))
        count, last = 0, None
        with closing(self._folder.new_file()) as source:
            for count, last in enumerate(_gently(source.records(), stopped), start=1):  # noqa: B007
                pass
        if (count, last) != (export.count, export.end):
            raise TransferFailed("not_written", "the file is not whole")

    def _publish(self) -> str:
        now = self._clock()
        name = f"{now:%Y-%m-%d}.jsonl"
        if name in self._folder.names() and not self.may_rotate():
            name = f"{now:%Y-%m-%d-%H%M%S}.jsonl"
        self._folder.publish(name)
        logger.info("backup_written", name=name)
        return name

    def _rotate(self, newest: str) -> None:
        """Delete the oldest. What cannot be deleted waits for the next night."""
        if not self.may_rotate():
            return
        try:
            names = [name for name in self._folder.names() if name != newest]
            old = names[: max(len(names) - (self._keep - 1), 0)]
            for name in old:
                self._folder.remove(name)
        except TransferFailed as error:
            logger.warning("backup_not_deleted", error=error)


def _gently[L](things: Iterable[L], stopped: threading.Event | None = None) -> Iterator[L]:
    """Yield the things with rests between: this thread and the bot share one interpreter.

    Raises TransferFailed when the bot closes.
    """
    begun = time.monotonic()
    for thing in things:
        if stopped is not None and stopped.is_set():
            raise TransferFailed("not_written", "the engine closes")
        yield thing
        if time.monotonic() - begun > _WORK_SECONDS:
            time.sleep(_REST_SECONDS)
            begun = time.monotonic()
