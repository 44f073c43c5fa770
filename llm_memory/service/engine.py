"""One engine over one data folder: opened, run and closed by its owner."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..errors import EngineClosed, EngineOff, StateUnavailable
from ..log import logger
from ..models.notices import Notice
from ..models.settings import EngineSettings
from ..models.status import EngineStatus, IndexState
from ..policies.privacy import Finder, find
from ..policies.trust import Trust
from ..ports import (
    Embedder,
    IndexManifest,
    LexicalIndex,
    NoteSource,
    Reranker,
    StateStore,
    StoredFormat,
    TrustBook,
    Vault,
    VectorCache,
    VectorStore,
)
from ..ports.watcher import Watcher
from .arms import Arms
from .catalogue import Catalogue
from .cognitive_service import CognitiveService
from .draft_checks import DraftChecks
from .embedder_trust import EmbedderTrust, WatchedEmbedder
from .indexing_service import IndexingService
from .lexical_service import LexicalService
from .living import LivingMemories
from .memory_editor import MemoryEditor
from .memory_handlers import MemoryHandlers
from .memory_manager import MemoryManager
from .near_duplicates import NearDuplicates
from .note_book import NoteBook
from .notice_board import NoticeBoard
from .opening import Lock, open_state, own_folders, refusal, settle_formats
from .passages import Passages
from .reconciler import Reconciler
from .reranking import Reranking
from .scope_book import ScopeBook
from .turn_queue import TurnQueue
from .vault_follower import VaultFollower


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What an engine is made of. Tests put fakes here."""

    vault: Vault
    watcher: Watcher
    notes: NoteSource
    state: StateStore
    store: VectorStore
    manifest: IndexManifest
    cache: VectorCache
    words: LexicalIndex
    trust: TrustBook
    scanner: Embedder
    """Answers where the index cannot, from the first moment on: it must load nothing."""
    locks: Sequence[Lock]
    formats: Sequence[StoredFormat] = ()
    private_data: Finder = find
    reranker: Reranker | None = None


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
        # What follows the notes asks the note book, too: it is told of its followers afterwards.
        self.notes = NoteBook(parts.notes, self._notices)
        passages = Passages(self._catalogue, self.notes)
        self._indexing = IndexingService(
            passages,
            parts.store,
            parts.manifest,
            parts.cache,
            self._notices,
            settings.pace,
        )
        self._words = LexicalService(passages, parts.words, self._notices, settings.pace)
        self._trust = EmbedderTrust(parts.trust, settings.pace)
        self.notes.follow_with(self._indexing, self._words)
        arms = Arms(passages, self._words, self._indexing, parts.scanner)
        reranking = Reranking(parts.reranker, settings)
        self._manager = MemoryManager(
            passages, arms, self._indexing, self._trust, reranking, settings, clock
        )
        living = LivingMemories(self._catalogue, [self._indexing, self._words])
        checks = DraftChecks(settings.privacy_mode, parts.private_data)
        near = NearDuplicates(self._catalogue, self._indexing, seconds=settings.embed_draft_seconds)
        handlers = MemoryHandlers(
            parts.vault, self._catalogue, living, self._notices, checks, near, clock
        )
        editor = MemoryEditor(parts.vault, self._catalogue, living, self._notices, checks, clock)
        pace = settings.vault_pace
        self._reconciler = Reconciler(
            parts.vault, self._catalogue, living, self._notices, clock, pace
        )
        self._follower = VaultFollower(
            self._reconciler, parts.watcher, pace, also=self.notes.refresh
        )
        turns = TurnQueue(parts.state, parts.vault, self._catalogue, handlers, clock)
        self.service = CognitiveService(
            settings,
            self._book,
            self._catalogue,
            self._manager,
            handlers,
            turns,
            self.notes,
            editor,
            self._reconciler,
        )
        self._ready = False
        self._closing = False
        self._opening: asyncio.Future[None] | None = None
        self._words_task: asyncio.Task[None] | None = None

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
        if not self._closing:
            # Words wait for no embedder, so not for `run` either.
            self._words_task = asyncio.create_task(self._words.run())
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
        await self._reconciler.load()

    async def scan_notes(self) -> None:
        """Read the notes for the first time; recall does without them until then. Idempotent."""
        if self.notes.scanned:
            return
        try:
            await self.notes.refresh()
        except Exception as error:  # noqa: BLE001  (what is wrong here must not stop the index)
            logger.error("读取笔记时出错，稍后再试：{!r}", error)

    async def reconcile(self) -> None:
        """Take in now what people did to the files."""
        await self._reconciler.reconcile()

    async def follow(self) -> None:
        """Keep up with what people do to the files until cancelled."""
        await self._follower.run()

    async def run(self, embedder: Embedder) -> None:
        """Keep the index up with the vault until cancelled."""
        await self.scan_notes()
        watched = WatchedEmbedder(embedder)
        examination = asyncio.create_task(self._trust.run(watched))
        try:
            await self._indexing.run(watched)
        finally:
            examination.cancel()
            await asyncio.gather(examination, return_exceptions=True)

    @property
    def trust(self) -> Trust | None:
        """How far the embedder is trusted, None before its examination."""
        return self._trust.found

    async def close(self) -> None:
        """Wait for writes that began, release everything. Idempotent."""
        self._ready = False
        self._closing = True
        await self.service.close()
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._words_task is not None:
            self._words_task.cancel()
            await asyncio.gather(self._words_task, return_exceptions=True)
        parts = self._parts
        await asyncio.gather(
            self._indexing.close(),
            self._words.close(),
            parts.scanner.close(),
            asyncio.to_thread(parts.state.close),
            asyncio.to_thread(parts.vault.ledger.close),
            return_exceptions=True,
        )
        self._catalogue.clear()
        self.notes.clear()
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
            words=self._words.state,
            notices=self._notices.standing(),
        )
