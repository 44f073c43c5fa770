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
from ..models.shelf import folder_of
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
from ..ports.legacy import LegacyStores, Staging
from ..ports.migration import ForeignCollection, MigrationStore
from ..ports.transfer import TransferFiles
from ..ports.watcher import Watcher
from .adoption import Adoption
from .arms import Arms
from .catalogue import Catalogue
from .cognitive_service import CognitiveService
from .draft_checks import DraftChecks
from .embedder_trust import EmbedderTrust, WatchedEmbedder
from .indexing_service import IndexingService
from .intake import Intake
from .legacy_vectors import LegacyVectors
from .lexical_service import LexicalService
from .living import LivingMemories
from .memory_editor import MemoryEditor
from .memory_handlers import MemoryHandlers
from .memory_manager import MemoryManager
from .migrations import Migration, Migrations
from .near_duplicates import NearDuplicates
from .note_book import NoteBook
from .notice_board import NoticeBoard
from .opening import Lock, open_state, own_folders, refusal, settle_formats
from .passages import Passages
from .pending_records import PendingRecords
from .reconciler import Reconciler
from .record_walker import RecordWalker
from .reranking import Reranking
from .scope_book import ScopeBook
from .scope_migration import ScopeMigration
from .transfer import Transfer
from .turn_queue import TurnQueue
from .use_counts import UseCounts
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
    transfers: TransferFiles
    migrations: MigrationStore
    legacy: ForeignCollection | None = None
    """A pre-scope plugin's, where a server is configured that may have one."""
    others: LegacyStores | None = None
    """What other plugins left on this machine; with ``staging``, or not at all."""
    staging: Staging | None = None
    formats: Sequence[StoredFormat] = ()
    private_data: Finder = find
    reranker: Reranker | None = None
    version: str = ""
    """The plugin's: what it writes out, it signs."""


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
        pending = PendingRecords(self._catalogue)
        passages = Passages(self._catalogue, self.notes, pending)
        self._indexing = IndexingService(
            Passages(self._catalogue, self.notes),
            parts.store,
            parts.manifest,
            parts.cache,
            self._notices,
            settings.pace,
        )
        self._words = LexicalService(passages, parts.words, self._notices, settings.pace)
        self._trust = EmbedderTrust(parts.trust, settings.pace)
        self.notes.follow_with(self._indexing, self._words)
        pending.follow_with(self._words)
        arms = Arms(passages, self._words, self._indexing, parts.scanner)
        reranking = Reranking(parts.reranker, settings)
        self._uses = UseCounts(parts.state)
        self._manager = MemoryManager(
            passages, arms, self._indexing, self._trust, reranking, self._uses, settings, clock
        )
        living = LivingMemories(self._catalogue, [self._indexing, pending])
        checks = DraftChecks(settings.privacy_mode, parts.private_data)
        near = NearDuplicates(self._catalogue, self._indexing, seconds=settings.embed_draft_seconds)
        handlers = MemoryHandlers(
            parts.vault, self._catalogue, living, self._notices, checks, near, clock
        )
        self.intake = Intake(parts.vault, self._catalogue, living, self._notices)
        walker = RecordWalker(parts.migrations, settings.walk_pace)
        walker.paused = settings.migration_paused
        sources: list[Migration] = []
        if parts.legacy is not None:
            sources.append(
                ScopeMigration(
                    parts.legacy,
                    parts.migrations,
                    walker,
                    parts.vault,
                    self._catalogue,
                    self.intake,
                    pending,
                    self._words,
                    clock,
                )
            )
        self._old_vectors: LegacyVectors | None = None
        if parts.others is not None and parts.staging is not None:
            self._old_vectors = LegacyVectors(
                parts.staging,
                parts.cache,
                self._catalogue,
                lambda: self._indexing.fingerprint,
            )
            sources.append(
                Adoption(
                    parts.others,
                    parts.staging,
                    parts.migrations,
                    walker,
                    parts.vault,
                    self._catalogue,
                    self.intake,
                    self._old_vectors,
                    self._words,
                    self._book,
                    self._notices,
                    clock,
                    enabled=settings.adopt_legacy,
                )
            )
        self.migrations = Migrations(
            parts.migrations, walker, sources, parts.vault, self._catalogue, living, clock
        )
        """What comes from elsewhere: ``migrate`` brings it; ``python -m llm_memory`` and the
        commands of admins ask here for what is done with it."""
        editor = MemoryEditor(parts.vault, self._catalogue, living, self._notices, checks, clock)
        pace = settings.vault_pace
        self._reconciler = Reconciler(
            parts.vault, self._catalogue, living, self._notices, clock, pace
        )
        self._follower = VaultFollower(
            self._reconciler, parts.watcher, pace, also=self.notes.refresh
        )
        turns = TurnQueue(parts.state, self._uses, parts.vault, self._catalogue, handlers, clock)
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
            Transfer(parts.transfers, self._catalogue, handlers, clock, parts.version),
            pending,
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
        await self._uses.load()
        self.service.opened()
        await self._reconciler.load()
        await self.migrations.open()

    async def scan_notes(self) -> None:
        """Read the notes for the first time; recall does without them until then. Idempotent."""
        if self.notes.scanned:
            return
        try:
            await self.notes.refresh()
        except Exception as error:  # noqa: BLE001  (what is wrong here must not stop the index)
            logger.error("读取笔记时出错，稍后再试：{!r}", error)

    async def migrate(self) -> None:
        """Bring what comes from elsewhere behind the bot, until cancelled."""
        await self.migrations.run()

    async def reconcile(self) -> None:
        """Take in now what people did to the files."""
        await self._reconciler.reconcile()

    @property
    def may_rotate_backups(self) -> bool:
        """False while the files may lack what an older backup still has: most of some scope is
        missing and nobody has said that it was meant, or they have not been compared with what was
        known. Whoever keeps backups throws none away then."""
        return self._ready and not self._reconciler.misses_much

    async def follow(self) -> None:
        """Keep up with what people do to the files until cancelled."""
        await self._follower.run()

    async def run(self, embedder: Embedder) -> None:
        """Keep the index up with the vault until cancelled."""
        await self.scan_notes()
        watched = WatchedEmbedder(embedder)
        if self._old_vectors is not None:
            await self._old_vectors.use(watched)
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
        await self.migrations.close()
        await self.intake.close()
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
            notes={folder_of(name): count for name, count in self.notes.counts().items()},
            backlog=len(self._indexing.pending),
            queue=queue,
            scope_check_drops=self._manager.scope_check_drops,
            words=self._words.state,
            notices=self._notices.standing(),
            migration=self.migrations.status(),
        )
