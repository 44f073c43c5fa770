"""One engine over one data folder: opened, run and closed by its owner."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final, Self

from ..errors import (
    DirectoryInUse,
    EngineClosed,
    EngineOff,
    FormatNewer,
    ScopedMemoryError,
    StateUnavailable,
)
from ..index.arrays import import_numpy
from ..index.embedding.ports import Embedder
from ..log import logger
from ..models.loop import LoopStatus
from ..models.scope import folder_of
from ..models.status import EngineStatus, Notice
from ..models.transfer import End
from ..runtime.lifecycle import Supervisor, long_lived, shielded
from ..service.parts import Parts
from ..storage.directory_lock import DirectoryLock
from ..storage.formats.store_formats import StoreFormats
from ..text.lazy_pattern import compile_all

_LOCK_POLL_SECONDS: Final = 0.2


class Engine:
    """``open``, then ``run`` with an embedder as long as the owner likes, then ``close``. The
    ``service`` may be called at once: its methods wait for ``open``. From now on the log of all
    engines is in the language of these settings."""

    def __init__(self, parts: Parts) -> None:
        logger.speak("en" if parts.english else "zh")
        self.parts = parts
        self.life = parts.life
        self.service = parts.service
        self.reflection = parts.reflection
        self.sleep = parts.sleep
        self.migrations = parts.migrations
        self._behind = Supervisor(parts.notices, parts.settings.pace.retry)
        self._opening: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[None] | None = None

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
        """Own the folder, read state and vault. Raises EngineOff, and so does the service from then
        on; the notices say why."""
        # Opening goes on to its end even if our caller is cancelled: what a thread takes hold of
        # must be known to `close`.
        self._opening = asyncio.ensure_future(self._open())
        try:
            await asyncio.shield(self._opening)
        except Exception as error:
            off = self._refused(error)
            self.parts.indexing.state = "off"
            self.life.failed(off)
            raise off from error
        if not self.life.is_closing:
            # Words wait for no embedder, so not for `run` either.
            self._behind.start("words", self.parts.lexical.follow)
            self._behind.start("use counts", self.parts.uses.run)
            self._behind.start("tidying", self._tidy)
        self.life.loaded()

    def _refused(self, error: Exception) -> EngineOff:
        notice = refusal(error)
        if notice is None:
            self._behind.tell("opening", error)
            return EngineOff("part_failed", str(error))
        self.parts.notices.post(notice)
        return EngineOff(notice.code, str(error))

    async def _open(self) -> None:
        parts = self.parts
        for lock in parts.locks:
            await self._own(lock)
        for step in (
            compile_all,
            StoreFormats(parts.paths.memory, parts.paths.data, parts.version).open,
            parts.vault.open,
            self._open_state,
            parts.corrected.load,
        ):
            await asyncio.to_thread(step)
        await parts.paused_conversations.load()
        # Before any turn goes on: what it is told of names and manner stays the same.
        attempt = self._behind.attempt
        await attempt("numpy", _in_thread(import_numpy))  # both indexes use it on the loop
        await attempt("former scopes", _in_thread(parts.former.open))
        await attempt("names", _in_thread(parts.bylines.open))
        await attempt("exclusions", parts.exclusions.refresh)
        await attempt("use counts", parts.uses.load)
        await attempt("learning", self._open_loop)
        await attempt("manner", self._open_souls)
        self.life.opened.set()
        with long_lived():
            await parts.reconciler.load()
        await attempt("decisions", parts.recorder.recover)
        await attempt("migrations", self.migrations.open)

    async def _own(self, lock: DirectoryLock) -> None:
        """A reload may find its predecessor still closing: so try for a while."""
        deadline = time.monotonic() + self.parts.settings.open_retry_seconds
        while True:
            try:
                return await asyncio.to_thread(lock.acquire)
            except DirectoryInUse:
                if self.life.is_closing or time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(_LOCK_POLL_SECONDS)

    def _open_state(self) -> None:
        """Memories need no state, so a broken one stops nothing. The safety of the scope map does:
        of a state that is new, or tells nothing, the book publishes no scope for want of a key."""
        state, book, folders = self.parts.state, self.parts.book, self.parts.vault.inhabited()
        try:
            if not state.open():
                self.parts.notices.post(Notice("state_reset"))
            book.open(folders)
        except StateUnavailable as error:
            self._tell("state_unavailable", error)
            state.close()
            state.open_in_memory()
            book.open(folders)

    async def _open_loop(self) -> None:
        """Where its file cannot be opened nothing is queued, and a notice says so."""
        try:
            kept = await asyncio.to_thread(self.parts.loop_file.open)
        except StateUnavailable as error:
            self._tell("loop_unavailable", error)
            return
        if not kept:
            self.parts.notices.post(Notice("loop_reset", error=True))
        await self.sleep.load()
        with contextlib.suppress(StateUnavailable):  # the next look takes it in
            await self.reflection.follow()

    def _tell(self, code: str, error: StateUnavailable) -> None:
        params = {"path": error.path, "detail": error.cause}
        self.parts.notices.post(Notice(code, params=params, error=True))

    async def _open_souls(self) -> None:
        if self.parts.soul_state is not self.parts.state:
            await asyncio.to_thread(self.parts.soul_state.open)
        await self.parts.souls.follow()

    async def _tidy(self) -> None:
        """Delete what a kill left."""
        await shielded(asyncio.to_thread(self.parts.files.remove_stale))

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
        await self.parts.exclusions.refresh()
        await self.parts.corrections.follow()

    async def back_up(self) -> tuple[str, End]:
        """The whole store and the owner's settings in a new file of ``exports/``: its name, and
        what it holds. For admins alone. Raises TransferFailed."""
        name, files = await self.parts.backup.carry_out(self.parts.transfers)
        return name, End(sum(self.parts.catalogue.counts().values()), files)

    async def follow(self) -> None:
        """Keep up with what people do to the files until cancelled."""
        await self._behind.supervise("files", self.parts.follower.run)

    async def run(self, embedder: Embedder | None) -> None:
        """Keep the index up with the vault until cancelled. None: words alone, and no index of
        vectors."""
        await self.scan_notes()
        trust, indexing = self.parts.trust, self.parts.indexing
        async with asyncio.TaskGroup() as behind:
            if embedder is not None:
                examine = partial(trust.run, embedder, indexing.prepared)
                behind.create_task(self._behind.supervise("examination", examine))
            await self._behind.supervise("vectors", partial(indexing.run, embedder))

    @property
    def notices(self) -> tuple[Notice, ...]:
        return self.parts.notices.standing()

    async def close(self) -> None:
        """Wait for writes that began, release everything, whatever fails of it. Idempotent. Tasks
        of ``follow`` are cancelled and awaited first."""
        self._closing = self._closing or asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        parts = self.parts
        self.life.is_closing = True
        databases = (parts.state, parts.soul_state, parts.loop_file, parts.vault.ledger)
        for step in (
            self.sleep.close,
            self.life.close,
            self.migrations.close,
            self._opened,
            self._behind.close,
            parts.uses.write,
            parts.indexing.close,
            parts.lexical.close,
            *(_in_thread(one.close) for one in (*databases, parts.files)),
            *(_in_thread(lock.release) for lock in parts.locks),
            # Last: the next process that opens the folder need not wait for it.
            parts.catalogue.release,
        ):
            await self._behind.attempt("closing", step)
        gc.unfreeze()
        logger.debug("the engine is closed")

    async def _opened(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])

    async def status(self) -> EngineStatus:
        """How it is doing, now. Never raises for a store that cannot be read."""
        parts, loop, indexing = self.parts, await self._loop_status(), self.parts.indexing
        return EngineStatus(
            ready=self.life.is_ready,
            embedder=indexing.label,
            index=indexing.state,
            by_scope=parts.catalogue.counts(),
            notes={folder_of(name): count for name, count in parts.note_book.counts().items()},
            backlog=indexing.backlog,
            leaving=indexing.leaving,
            scope_check_drops=parts.finder.scope_check_drops,
            words=parts.lexical.state,
            notices=self.notices,
            migration=self.migrations.status(),
            loop=loop,
            left=tuple(await parts.former.count(await parts.former.everywhere())),
        )

    async def _loop_status(self) -> LoopStatus:
        parts, reflection, sleep = self.parts, self.reflection, self.sleep
        counted = LoopStatus()
        with contextlib.suppress(StateUnavailable, EngineClosed):
            counted = await asyncio.to_thread(self._counted)
        return replace(
            counted,
            provider=parts.model.label,
            resting=reflection.resting,
            error=reflection.error,
            budget=parts.settings.loop.daily_tokens,
            paused=parts.paused_conversations.count,
            slept_at=sleep.slept_at,
            sleeping=sleep.sleeping,
            next_sleep=sleep.next_at,
        )

    def _counted(self) -> LoopStatus:
        book, day = self.parts.loop_book, self.parts.clock().date()
        shares = tuple(book.shares(day))
        return LoopStatus(queue=self.parts.turns.size(), spent=book.spent(day), shares=shares)


def _in_thread(work: Callable[[], object]) -> Callable[[], Awaitable[object]]:
    return partial(asyncio.to_thread, work)


def refusal(error: Exception) -> Notice | None:
    """Why the engine stays off; None for what nobody expected."""
    if isinstance(error, DirectoryInUse | FormatNewer):
        params = {name: str(value) for name, value in vars(error).items()}
        return Notice(error.code, params=params, error=True)
    if isinstance(error, ScopedMemoryError | OSError):
        params = {"detail": str(error) or type(error).__name__}
        return Notice("vault_unwritable", params=params, error=True)
    return None


def _building[**P](parts: Callable[P, Parts]) -> Callable[P, Engine]:
    def build(*args: P.args, **kwargs: P.kwargs) -> Engine:
        return Engine(parts(*args, **kwargs))

    return build


build_engine = _building(Parts)
"""An engine over real parts, not opened yet, of what ``Parts`` is given. Touches neither disk nor
heavy packages."""
