"""One engine over one data folder: opened, run and closed by its owner."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime

from ..composition.migration import make_migration
from ..composition.parts import EngineParts
from ..composition.recall import make_recall
from ..composition.reflection import LoopHooks, make_loop
from ..composition.remember import make_remember
from ..consolidation.models import Postponed
from ..errors import EngineOff
from ..index.embedding.ports import Embedder
from ..log import logger
from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..models.notices import Notice
from ..models.settings import EngineSettings
from ..models.shelf import folder_of
from ..models.status import EngineStatus, IndexState
from ..models.transfer import StoreExported
from ..models.turns import Feedback, FeedbackReport, Ticket
from ..recall.embedder_trust import WatchedEmbedder
from ..recall.rules.trust import Trust
from ..reflection.model_histories import ModelHistories
from ..runtime.notice_board import NoticeBoard
from ..scopes.origins import Origins
from ..scopes.scope_book import ScopeBook
from ..sync.follower import VaultFollower
from ..sync.reconciler import Reconciler
from ..text.lazy_pattern import compile_all
from ..transfer.conversation_transfer import Transfer
from .bylines import Bylines
from .cognitive_service import CognitiveService
from .opening_steps import (
    open_state,
    own_folders,
    refusal,
    restrict_contents,
    restrict_folders,
    settle_formats,
)


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
        self._book = ScopeBook(settings, parts.state, self._notices, parts.accounts)
        recalling = make_recall(parts, settings, self._notices, clock)
        writing = make_remember(parts, settings, recalling, self._notices, clock)
        arrivals = make_migration(
            parts, settings, recalling, writing, self._book, self._notices, clock
        )
        self._recalling = recalling
        self._corrected = writing.corrected
        self._catalogue, self._indexing = recalling.catalogue, recalling.indexing
        self._manager = recalling.manager
        self.notes = recalling.notes
        self.intake = writing.intake
        self._old_vectors = arrivals.old_vectors
        self.migrations = arrivals.migrations
        """What comes from elsewhere: ``migrate`` brings it; ``python -m llm_memory`` and the
        commands of admins ask here for what is done with it."""
        pace = settings.vault_pace
        self._reconciler = Reconciler(
            parts.vault,
            self._catalogue,
            writing.living,
            writing.corrected,
            self._notices,
            clock,
            pace,
            mapped=self._book.mapped,
            at_once=recalling.gc_freeze.at_once,
        )
        self._follower = VaultFollower(
            self._reconciler, parts.watcher, pace, also=self._follow_files
        )
        self._corrections = writing.follower
        hooks = LoopHooks(self._apply, self._busy, lambda: self.may_rotate_backups)
        bylines = Bylines(self._catalogue, self._book.ids_of, parts.is_admin)
        made = make_loop(
            parts, settings, recalling, writing, self._book, self._notices, clock, hooks, bylines
        )
        self.loop, self._primer = made.loop, made.primer
        self._backup = made.backup
        self.migrations.wait_for(self.loop.sleep.over)
        self._former = FormerScopes(parts.state, self._book, self._catalogue, parts.turns)
        bringing = Bringing(
            self._former,
            parts.turns,
            parts.migrations,
            parts.vault,
            self._catalogue,
            writing.living,
            writing.editor,
            self._corrected,
            recalling.unread,
            self.migrations.run_aside,
        )
        self.service = CognitiveService(
            settings,
            self._book,
            Origins(parts.state, self._book),
            ModelHistories(parts.state),
            self._catalogue,
            self._manager,
            writing.handlers,
            made.queue,
            made.learning,
            self.notes,
            writing.editor,
            writing.corrected,
            self._reconciler,
            Transfer(parts.transfers, self._catalogue, writing.handlers, clock, parts.version),
            recalling.pending,
            recalling.unread,
            writing.follower,
            made.paused_conversations,
            made.primer,
            writing.tasks,
            bylines,
            self._former,
            bringing,
            clock,
        )
        self._ready = False
        self._closing = False
        self._opening: asyncio.Future[None] | None = None
        self._words_task: asyncio.Task[None] | None = None
        self._counting: asyncio.Task[None] | None = None
        self._tightening: asyncio.Task[None] | None = None

    @property
    def bundled(self) -> Embedder | None:
        """For ``run``: the model that comes as a package, in the index's process or one of its own.
        None where this Python can start no process."""
        return self._parts.bundled

    def local(self, name: str) -> Embedder:
        """For ``run``: a model on disk by its folder or name, or on a hub; where the bundled one
        lives, or in our own process where this Python can start no other."""
        return self._parts.local(name)

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
            self._words_task = asyncio.create_task(self._recalling.words.run())
            self._counting = asyncio.create_task(self._recalling.uses.run())
            self._tightening = asyncio.create_task(
                asyncio.to_thread(restrict_contents, self._parts.private)
            )
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
        await asyncio.to_thread(restrict_folders, parts.private)
        await asyncio.to_thread(compile_all)
        # Before the index and a search import numpy at the same time, each half of it.
        with contextlib.suppress(ImportError):  # the notices of the indexes tell of it
            await asyncio.to_thread(parts.scanner.prepare)
        await asyncio.to_thread(settle_formats, parts.formats)
        await asyncio.to_thread(parts.vault.open)
        scopes = await asyncio.to_thread(parts.vault.scopes)
        names = [scope.name for scope in scopes]
        await asyncio.to_thread(open_state, parts.state, self._book, self._notices, names)
        await asyncio.to_thread(self._corrected.load)
        await asyncio.to_thread(self._former.open)
        await self._recalling.uses.load()
        await self.loop.open()
        self.service.opened()
        await self._reconciler.load()
        if self._book.misses_keys:
            await asyncio.to_thread(self._book.offer_keys, list(self._catalogue.all()))
        await self.migrations.open()

    async def _apply(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        return await self.service.feedback(feedback, ticket=ticket)

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
        await self._corrections.follow()

    async def back_up(self) -> tuple[str, StoreExported]:
        """The whole store and the owner's settings in a new file of ``exports/``: its name, and
        what it holds. For admins, whom the caller has told from others. Raises TransferFailed."""
        return await self._backup.carry_out(self._parts.transfers)

    @property
    def may_rotate_backups(self) -> bool:
        """False while the files may lack what an older backup still has: most of some scope is
        missing and nobody has said that it was meant, or they have not been compared with what was
        known. Whoever keeps backups throws none away then."""
        return self._ready and not self._reconciler.misses_much

    def _busy(self) -> Postponed:
        """Why no consolidation may begin now."""
        if not self._ready:
            return Postponed.UNREADY
        if self.migrations.going:
            return Postponed.MIGRATING
        building = self._indexing.state is IndexState.BUILDING
        return Postponed.BUILDING if building else Postponed.NO

    async def follow(self) -> None:
        """Keep up with what people do to the files until cancelled."""
        await self._follower.run()

    async def run(self, embedder: Embedder | None) -> None:
        """Keep the index up with the vault until cancelled. None: words alone, and no index of
        vectors."""
        await self.scan_notes()
        watched = None if embedder is None else WatchedEmbedder(embedder)
        if self._old_vectors is not None:
            await self._old_vectors.use(watched)
        if watched is None:
            await self._indexing.run(None)
            return
        examination = asyncio.create_task(self._recalling.trust.run(watched))
        try:
            await self._indexing.run(watched)
        finally:
            examination.cancel()
            await asyncio.gather(examination, return_exceptions=True)

    @property
    def trust(self) -> Trust | None:
        """How far the embedder is trusted, None before its examination."""
        return self._recalling.trust.found

    async def _follow_files(self) -> None:
        """What else follows them, after each look."""
        await self._corrections.follow()
        await self.notes.refresh()

    async def close(self) -> None:
        """Wait for writes that began, release everything. Idempotent."""
        self._ready = False
        self._closing = True
        await self.loop.sleep.close()
        await self.service.close()
        await self.migrations.close()
        await self.intake.close()
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        behind = [task for task in (self._words_task, self._counting) if task is not None]
        for task in behind:
            task.cancel()
        await asyncio.gather(*behind, return_exceptions=True)
        await self._recalling.uses.write()
        if self._tightening is not None:
            await asyncio.gather(self._tightening, return_exceptions=True)
        parts = self._parts
        await asyncio.gather(
            self._indexing.close(),
            self._recalling.words.close(),
            asyncio.to_thread(parts.state.close),
            self.loop.close(),
            asyncio.to_thread(parts.vault.ledger.close),
            return_exceptions=True,
        )
        self.notes.clear()
        self._manager.clear()
        self._primer.clear()
        self._recalling.unread.clear()
        for lock in parts.locks:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(lock.release)
        # Last: whoever opens the folder next need not wait for it.
        await self._catalogue.let_go()
        self._recalling.gc_freeze.release()
        logger.debug("记忆引擎已关闭")

    async def status(self) -> EngineStatus:
        """How it is doing, now."""
        loop = await self.loop.status()
        return EngineStatus(
            ready=self._ready,
            embedder=self._indexing.label,
            index=self._indexing.state,
            by_scope=self._catalogue.counts(),
            notes={folder_of(name): count for name, count in self.notes.counts().items()},
            backlog=self._indexing.backlog,
            leaving=self._indexing.leaving,
            queue=loop.queue.waiting,
            scope_check_drops=self._manager.scope_check_drops,
            words=self._recalling.words.state,
            notices=self._notices.standing(),
            migration=self.migrations.status(),
            loop=loop,
            left=tuple(await self._former.count(await self._former.everywhere())),
        )
