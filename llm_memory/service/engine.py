"""One engine over one data folder: opened, run and closed by its owner."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Protocol

from ..errors import DirectoryInUse, EngineClosed, EngineOff, StateUnavailable
from ..log import logger
from ..models.notices import Notice, NoticeCode, Severity
from ..models.settings import EngineSettings
from ..models.status import EngineStatus, IndexState
from ..ports import Embedder, IndexManifest, StateStore, Vault, VaultContent, VectorStore
from .catalogue import Catalogue
from .cognitive_service import CognitiveService
from .indexing_service import IndexingService
from .memory_handlers import MemoryHandlers
from .memory_manager import MemoryManager
from .notice_board import NoticeBoard
from .scope_book import ScopeBook
from .turn_queue import TurnQueue

_LOCK_POLL_SECONDS = 0.2
_SLICE = 200
"""Memories taken in between two looks at the event loop."""


class Lock(Protocol):
    """Sole ownership of a directory."""

    def acquire(self) -> None: ...

    def release(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What an engine is made of. Tests put fakes here."""

    vault: Vault
    state: StateStore
    store: VectorStore
    manifest: IndexManifest
    scanner: Embedder
    """Answers where the index cannot, from the first moment on: it must load nothing."""
    locks: Sequence[Lock]


class Engine:
    """``open``, then ``run`` with an embedder as long as the owner likes, then ``close``.

    ``service`` may be called at once: its methods wait for ``open``.
    """

    def __init__(
        self,
        parts: EngineParts,
        settings: EngineSettings,
        *,
        on_notice: Callable[[Notice], None] | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._notices = NoticeBoard(on_notice)
        self._catalogue = Catalogue()
        self._book = ScopeBook(settings, parts.state, self._notices)
        self._indexing = IndexingService(
            self._catalogue, parts.store, parts.manifest, self._notices
        )
        self._manager = MemoryManager(self._catalogue, self._indexing, parts.scanner, settings)
        handlers = MemoryHandlers(
            parts.vault, self._catalogue, self._indexing, self._notices, clock
        )
        turns = TurnQueue(parts.state, parts.vault, self._catalogue, handlers, clock)
        self.service = CognitiveService(
            settings, self._book, self._catalogue, self._manager, handlers, turns
        )
        self._ready = False
        self._closing = False
        self._opening: asyncio.Future[None] | None = None

    async def open(self) -> None:
        """Own the folder, read state and vault.

        Raises:
            EngineOff: and so does the service from now on. The notices say why.
        """
        # Opening goes on to its end even if our caller is cancelled: what a thread takes hold of
        # must be known to `close`.
        self._opening = asyncio.ensure_future(self._open())
        try:
            await asyncio.shield(self._opening)
        except DirectoryInUse as error:
            self._refuse(NoticeCode.DIRECTORY_IN_USE, error.path)
        except Exception as error:  # noqa: BLE001  (whatever it was: who waits must hear of it)
            self._refuse(NoticeCode.VAULT_UNWRITABLE, str(error) or type(error).__name__)
        self._ready = True
        self.service.loaded()

    def _refuse(self, code: NoticeCode, detail: str) -> None:
        self._notices.post(
            Notice(code, params={"detail": detail, "path": detail}, severity=Severity.ERROR)
        )
        self._indexing.state = IndexState.OFF
        off = EngineOff(code, detail)
        self.service.failed(off)
        raise off

    async def _open(self) -> None:
        await self._own_folders()
        parts = self._parts
        # Before the index and a search import numpy at the same time, each half of it.
        await parts.scanner.prepare()
        if not await asyncio.to_thread(parts.state.open):
            self._notices.post(Notice(NoticeCode.STATE_RESET))
        await asyncio.to_thread(parts.vault.open)
        scopes = await asyncio.to_thread(parts.vault.scopes)
        await asyncio.to_thread(self._book.open, [scope.name for scope in scopes])
        self.service.opened()
        for report in await asyncio.to_thread(parts.vault.strays):
            self._report_broken(report.scope, report.path, report.reason)
        for scope in scopes:
            await self._take(await asyncio.to_thread(parts.vault.read, scope))

    async def _take(self, content: VaultContent) -> None:
        for memories in batched(content.memories, _SLICE):
            self._catalogue.load(memories)
            await asyncio.sleep(0)
        for report in content.broken:
            self._report_broken(report.scope, report.path, report.reason)

    def _report_broken(self, scope: str, path: str, reason: str) -> None:
        params = {"scope": scope, "path": path, "reason": reason}
        self._notices.post(Notice(NoticeCode.VAULT_FILE_BROKEN, f"{scope}/{path}:{reason}", params))

    async def _own_folders(self) -> None:
        """A reload may find its predecessor still closing: so try for a while."""
        deadline = time.monotonic() + self._settings.open_retry_seconds
        for lock in self._parts.locks:
            while True:
                try:
                    await asyncio.to_thread(lock.acquire)
                    break
                except DirectoryInUse:
                    if self._closing or time.monotonic() >= deadline:
                        raise
                    await asyncio.sleep(_LOCK_POLL_SECONDS)

    async def run(self, embedder: Embedder) -> None:
        """Keep the index up with the vault until cancelled."""
        await self._indexing.run(embedder)

    async def close(self) -> None:
        """Wait for writes that began, release everything. Idempotent."""
        self._ready = False
        self._closing = True
        await self.service.close()
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        parts = self._parts
        await asyncio.gather(
            self._indexing.close(),
            parts.scanner.close(),
            asyncio.to_thread(parts.state.close),
            return_exceptions=True,
        )
        self._catalogue.clear()
        self._manager.clear()
        for lock in parts.locks:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(lock.release)
        logger.debug("记忆引擎已关闭")

    async def status(self) -> EngineStatus:
        """How it is doing, now."""
        queue = 0
        if self._ready:
            with contextlib.suppress(EngineClosed, StateUnavailable):
                queue = await asyncio.to_thread(self._parts.state.queue_length)
        return EngineStatus(
            ready=self._ready,
            embedder=self._indexing.label,
            index=self._indexing.state,
            by_scope=self._catalogue.counts(),
            backlog=len(self._indexing.pending),
            queue=queue,
            scope_check_drops=self._manager.scope_check_drops,
            notices=self._notices.standing(),
        )
