"""One engine over one data folder: opened, run and closed by its owner."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Self

from ..consolidation.rules.questions import wants_questions
from ..errors import (
    DirectoryInUse,
    EngineClosed,
    EngineOff,
    FormatNewer,
    ScopedMemoryError,
    StateUnavailable,
)
from ..index.embedding.ports import Embedder
from ..index.indexing_service import IndexingService
from ..index.lexical_service import LexicalService
from ..log import logger
from ..models.loop import LoopStatus
from ..models.scope import folder_of
from ..models.settings import EngineSettings
from ..models.status import EngineStatus, IndexState, Notice, NoticeCode, Severity
from ..models.transfer import StoreExported
from ..recall.embedder_trust import Trust
from ..recall.reranking import Reranker
from ..reflection.chat_port import ChatModel
from ..runtime.gc_freeze import LONG_LIVED
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..runtime.supervisor import Supervisor
from ..scopes.scope_book import ScopeBook
from ..storage.directory_lock import DirectoryLock
from ..storage.state_store import SqliteStateStore
from ..text.lazy_pattern import compile_all
from .parts import Parts, no_prompt
from .paths import EnginePaths, local_now


class Engine:
    """``open``, then ``run`` with an embedder as long as the owner likes, then ``close``.

    ``service`` may be called at once: its methods wait for ``open``.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.life = parts.life
        self.service = parts.service
        self.reflection = parts.reflection
        self.sleep = parts.sleep
        self.migrations = parts.migrations
        """What comes from elsewhere: ``migrate`` brings it; ``python -m llm_memory`` and the
        commands of admins ask here for what is done with it."""
        self._notices = parts.notices
        self._behind = Supervisor(parts.notices, parts.settings.pace.retry)
        self._opening: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        parts.queue.follow_with(parts.reflection.wake)

    async def __aenter__(self) -> Self:
        """Opened, for a program that asks once; see ``open``."""
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

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
        except Exception as error:
            off = self._refused(error)
            self.parts.indexing.state = IndexState.OFF
            self.life.failed(off)
            raise off from error
        if not self.life.is_closing:
            # Words wait for no embedder, so not for `run` either.
            words = self.parts.lexical
            self._behind.start("words", partial(self._keep_up, words, words.run))
            self._behind.start("use counts", self.parts.uses.run)
            self._behind.start("tidying", self._tidy)
        self.life.loaded()

    def _refused(self, error: Exception) -> EngineOff:
        """Tells why the engine stays off."""
        notice = refusal(error)
        if notice is None:
            self._behind.tell("opening", error)
            return EngineOff(NoticeCode.PART_FAILED, str(error))
        self._notices.post(notice)
        return EngineOff(notice.code, str(error))

    async def _open(self) -> None:
        parts = self.parts
        timeout = parts.settings.open_retry_seconds
        await own_folders(parts.locks, timeout, given_up=lambda: self.life.is_closing)
        for folder in parts.private:
            await asyncio.to_thread(folder.restrict_folder)
        await asyncio.to_thread(compile_all)
        # Before the index and a search import numpy at the same time, each half of it.
        with contextlib.suppress(ImportError):  # the notices of the indexes tell of it
            await asyncio.to_thread(parts.scanner.prepare)
        await asyncio.to_thread(parts.formats.open)
        await asyncio.to_thread(parts.vault.open)
        names = await asyncio.to_thread(parts.vault.inhabited)
        await asyncio.to_thread(open_state, parts.state, parts.book, self._notices, names)
        await asyncio.to_thread(parts.corrected.take_over, parts.vault.ledger)
        await asyncio.to_thread(parts.corrected.load)
        await parts.paused_conversations.load()
        # Before any turn goes on: what it is told of names and manner stays the same.
        for part, step in (
            ("former scopes", _in_thread(parts.former.open)),
            ("names", _in_thread(parts.bylines.open)),
            ("use counts", parts.uses.load),
            ("learning", self._open_loop),
            ("manner", self._open_souls),
        ):
            await self._behind.attempt(part, step)
        self.life.opened()
        await parts.reconciler.load()
        await self._behind.attempt("decisions", parts.recorder.recover)
        await self._behind.attempt("migrations", self.migrations.open)

    async def _open_loop(self) -> None:
        """Where its file cannot be opened nothing is queued, and a notice says so."""
        try:
            kept = await asyncio.to_thread(self.parts.loop_file.open)
        except StateUnavailable as error:
            params = {"path": error.path, "detail": error.cause}
            code = NoticeCode.LOOP_UNAVAILABLE
            self._notices.post(Notice(code, params=params, severity=Severity.ERROR))
            return
        if not kept:
            self._notices.post(Notice(NoticeCode.LOOP_RESET, severity=Severity.ERROR))
        await self.sleep.load()
        with contextlib.suppress(StateUnavailable):  # the next look takes it in
            await self.reflection.follow()

    async def _open_souls(self) -> None:
        if self.parts.soul_state is not self.parts.state:
            await asyncio.to_thread(self.parts.soul_state.open)
        await self.parts.souls.load()

    async def _tidy(self) -> None:
        """Take others' rights from what lies in the folders, and delete what a kill left."""
        for folder in self.parts.private:
            await shielded(asyncio.to_thread(folder.restrict_contents))
        await shielded(asyncio.to_thread(self.parts.files.remove_stale))

    async def _keep_up(
        self, index: LexicalService | IndexingService, run: Callable[[], Awaitable[None]]
    ) -> None:
        try:
            await run()
        except Exception:
            index.state = IndexState.OFF  # nothing follows the vault now
            raise

    async def scan_notes(self) -> None:
        """Read the notes for the first time; recall does without them until then. Idempotent."""
        if not self.parts.note_book.scanned:
            await self._behind.attempt("notes", self.parts.note_book.refresh)

    async def migrate(self) -> None:
        """Bring what comes from elsewhere behind the bot, until cancelled."""
        await self._behind.supervise("migrations", self.migrations.run)

    async def reconcile(self) -> None:
        """Take in now what people did to the files."""
        await self.parts.reconciler.reconcile()
        await self.parts.corrections.follow()

    async def back_up(self) -> tuple[str, StoreExported]:
        """The whole store and the owner's settings in a new file of ``exports/``: its name, and
        what it holds. For admins, whom the caller has told from others. Raises TransferFailed."""
        return await self.parts.backup.carry_out(self.parts.transfers)

    async def follow(self) -> None:
        """Keep up with what people do to the files until cancelled."""
        await self._behind.supervise("files", self.parts.follower.run)

    async def run(self, embedder: Embedder | None) -> None:
        """Keep the index up with the vault until cancelled. None: words alone, and no index of
        vectors."""
        await self.scan_notes()
        trust, indexing = self.parts.embedder_trust, self.parts.indexing
        async with asyncio.TaskGroup() as behind:
            if embedder is not None:
                examine = partial(trust.run, embedder, indexing.prepared)
                behind.create_task(self._behind.supervise("examination", examine))
            run = partial(indexing.run, embedder)
            await self._behind.supervise("vectors", partial(self._keep_up, indexing, run))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the owner should know now."""
        return self._notices.standing()

    @property
    def trust(self) -> Trust:
        """How far the embedder is trusted; empty before its examination."""
        return self.parts.embedder_trust.found

    async def close(self) -> None:
        """Wait for writes that began, release everything, whatever fails of it. Idempotent. A round
        of ``follow`` ends by itself: its task is cancelled and awaited first."""
        self._closing = self._closing or asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        parts = self.parts
        self.life.closing()
        for steps in (
            [self.sleep.close],
            [self.life.close],
            [self.migrations.close],
            [parts.intake.close],
            [self._opened],
            [self._behind.close],
            [parts.uses.write],
            [parts.queue.close],
            [
                parts.indexing.close,
                parts.lexical.close,
                _in_thread(parts.state.close),
                _in_thread(parts.soul_state.close),
                _in_thread(parts.loop_file.close),
                _in_thread(parts.vault.ledger.close),
            ],
            [_in_thread(parts.files.close), self._forget],
            [self._disown],
            # Last: the next process that opens the folder need not wait for it.
            [parts.catalogue.release],
        ):
            await asyncio.gather(*(self._behind.attempt("closing", step) for step in steps))
        LONG_LIVED.release()
        logger.debug("the engine is closed")

    async def _opened(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])

    async def _disown(self) -> None:
        for lock in self.parts.locks:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(lock.release)

    async def _forget(self) -> None:
        parts = self.parts
        for part in (parts.note_book, parts.manager, parts.primer, parts.unread):
            part.clear()

    async def status(self) -> EngineStatus:
        """How it is doing, now. Never raises for a store that cannot be read."""
        parts, loop = self.parts, await self._loop_status()
        return EngineStatus(
            ready=self.life.is_ready,
            embedder=parts.indexing.label,
            index=parts.indexing.state,
            by_scope=parts.catalogue.counts(),
            notes={folder_of(name): count for name, count in parts.note_book.counts().items()},
            backlog=parts.indexing.backlog,
            leaving=parts.indexing.leaving,
            queue=loop.queue.waiting,
            scope_check_drops=parts.manager.scope_check_drops,
            words=parts.lexical.state,
            notices=self._notices.standing(),
            migration=self.migrations.status(),
            loop=loop,
            left=tuple(await parts.former.count(await parts.former.everywhere())),
        )

    async def _loop_status(self) -> LoopStatus:
        parts, reflection, sleep = self.parts, self.reflection, self.sleep
        plain = LoopStatus(
            provider=reflection.label,
            resting=reflection.resting,
            error=reflection.error or sleep.error,
            budget=parts.settings.loop.daily_tokens,
            paused=parts.paused_conversations.count,
            slept_at=sleep.slept_at,
            sleeping=sleep.sleeping,
            next_sleep=sleep.next_at,
        )
        if plain.provider:
            living = list(parts.catalogue.all())
            unasked = await asyncio.to_thread(lambda: sum(map(wants_questions, living)))
            plain = replace(plain, unasked=unasked)
        try:
            return await asyncio.to_thread(self._counted, plain)
        except (StateUnavailable, EngineClosed):
            return plain

    def _counted(self, status: LoopStatus) -> LoopStatus:
        book, day = self.parts.loop_book, self.parts.clock().date()
        shares = tuple(one for one in book.shares(day) if one.tokens or one.dropped)
        queue = self.parts.turns.size()
        return replace(status, queue=queue, spent=book.spent(day), shares=shares)


def _in_thread(work: Callable[[], object]) -> Callable[[], Awaitable[object]]:
    return partial(asyncio.to_thread, work)


def build_engine(
    paths: EnginePaths,
    settings: EngineSettings,
    *,
    on_notice: Callable[[Notice], None] | None = None,
    clock: Callable[[], datetime] = local_now,
    version: str = "",
    reranker: Reranker | None = None,
    remembers: bool = True,
    chat: ChatModel | None = None,
    accounts: Callable[[], frozenset[str] | None] = lambda: None,
    is_admin: Callable[[str], bool] = lambda _: False,
    persona_prompt: Callable[[str], Awaitable[str]] = no_prompt,
    carried_settings: Callable[[], Mapping[str, object]] = dict,
    replacing: Mapping[str, Any] | None = None,
) -> Engine:
    """An engine over real parts, not opened yet. Touches neither disk nor heavy packages. From now
    on the log of all engines is in the language of these settings.

    ``version`` is the plugin's: what it writes first, it signs. ``remembers`` is False for one that
    knows nothing of the bot's conversations: what the state remembers of them stays as it is.
    ``chat`` reads finished turns; without it nothing is learned from them. ``accounts`` tells which
    bot accounts exist now, None where it cannot.
    ``is_admin`` tells by a person's id who is one now. ``persona_prompt`` gives a persona's own
    prompt by its folder. ``carried_settings`` are the owner's, for
    backups to carry. ``replacing`` puts other parts, by their names in ``Parts``, in the places of
    real ones: a test's store, or its watcher of files.
    """
    logger.speak("en" if settings.loop.english else "zh")
    parts = Parts(
        paths,
        settings,
        NoticeBoard(on_notice),
        clock,
        version,
        reranker,
        remembers,
        chat,
        accounts,
        is_admin,
        persona_prompt,
        carried_settings,
    )
    vars(parts).update(replacing or {})
    return Engine(parts)


_LOCK_POLL_SECONDS = 0.2


async def own_folders(
    locks: Sequence[DirectoryLock], seconds: float, *, given_up: Callable[[], bool]
) -> None:
    """Acquire all. A reload may find its predecessor still closing: so try for a while.

    Raises DirectoryInUse after ``seconds``, or once it is ``given_up``.
    """
    deadline = time.monotonic() + seconds
    for lock in locks:
        while True:
            try:
                await asyncio.to_thread(lock.acquire)
                break
            except DirectoryInUse:
                if given_up() or time.monotonic() >= deadline:
                    raise
                await asyncio.sleep(_LOCK_POLL_SECONDS)


def open_state(
    state: SqliteStateStore, book: ScopeBook, notices: NoticeBoard, folders: Collection[str]
) -> None:
    """Read what the state remembers into ``book``. Blocks.

    Memories do not depend on the state, so a broken one stops nothing. What does depend on it is
    the safety of the scope map: where the state is new, or tells nothing, ``book`` finds that no
    scope was ever known, and publishes none for want of a key.
    """
    try:
        if not state.open():
            notices.post(Notice(NoticeCode.STATE_RESET))
        book.open(folders)
    except StateUnavailable as error:
        params = {"path": error.path, "detail": error.cause}
        notices.post(Notice(NoticeCode.STATE_UNAVAILABLE, params=params, severity=Severity.ERROR))
        state.close()
        state.open_in_memory()
        book.open(folders)


def refusal(error: Exception) -> Notice | None:
    """Why the engine stays off; None for what nobody expected."""
    match error:
        case DirectoryInUse(path=path):
            code, params = NoticeCode.DIRECTORY_IN_USE, {"detail": path, "path": path}
        case FormatNewer(path=path, found=found, known=known, needs=needs):
            code = NoticeCode.FORMAT_NEWER
            params = {"path": path, "found": str(found), "known": str(known), "needs": needs}
        case ScopedMemoryError() | OSError():
            code = NoticeCode.VAULT_UNWRITABLE
            params = {"detail": str(error) or type(error).__name__}
        case _:
            return None
    return Notice(code, params=params, severity=Severity.ERROR)
