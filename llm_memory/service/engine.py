"""One engine over one data folder: opened, run and closed by its owner."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched

from ..errors import EngineClosed, EngineOff, StateUnavailable
from ..log import logger
from ..models.notices import Notice, NoticeCode
from ..models.settings import EngineSettings
from ..models.status import EngineStatus, IndexState
from ..ports import (
    Embedder,
    IndexManifest,
    StateStore,
    StoredFormat,
    Vault,
    VaultContent,
    VectorCache,
    VectorStore,
)
from .catalogue import Catalogue
from .cognitive_service import CognitiveService
from .indexing_service import IndexingService
from .living import LivingMemories
from .memory_handlers import MemoryHandlers
from .memory_manager import MemoryManager
from .notice_board import NoticeBoard
from .opening import Lock, open_state, own_folders, refusal, settle_formats
from .scope_book import ScopeBook
from .turn_queue import TurnQueue

_SLICE = 200
"""Memories taken in between two looks at the event loop."""


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What an engine is made of. Tests put fakes here."""

    vault: Vault
    state: StateStore
    store: VectorStore
    manifest: IndexManifest
    cache: VectorCache
    scanner: Embedder
    """Answers where the index cannot, from the first moment on: it must load nothing."""
    locks: Sequence[Lock]
    formats: Sequence[StoredFormat] = ()


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
            self._catalogue,
            parts.store,
            parts.manifest,
            parts.cache,
            self._notices,
            settings.pace,
        )
        self._manager = MemoryManager(self._catalogue, self._indexing, parts.scanner, settings)
        living = LivingMemories(self._catalogue, [self._indexing])
        handlers = MemoryHandlers(parts.vault, self._catalogue, living, self._notices, clock)
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
        except Exception as error:  # noqa: BLE001  (whatever it was: who waits must hear of it)
            self._refuse(refusal(error), str(error))
        self._ready = True
        self.service.loaded()

    def _refuse(self, notice: Notice, detail: str) -> None:
        self._notices.post(notice)
        self._indexing.state = IndexState.OFF
        off = EngineOff(notice.code, detail)
        self.service.failed(off)
        raise off

    async def _open(self) -> None:
        parts = self._parts
        patience = self._settings.open_retry_seconds
        await own_folders(parts.locks, patience, given_up=lambda: self._closing)
        # Before the index and a search import numpy at the same time, each half of it.
        await parts.scanner.prepare()
        await asyncio.to_thread(settle_formats, parts.formats)
        await asyncio.to_thread(parts.vault.open)
        scopes = await asyncio.to_thread(parts.vault.scopes)
        names = [scope.name for scope in scopes]
        await asyncio.to_thread(open_state, parts.state, self._book, self._notices, names)
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
