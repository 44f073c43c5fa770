"""One engine over one data folder: opened, run and closed by its owner."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Sequence

from ..errors import DirectoryInUse, EngineOff, FormatNewer, StateUnavailable
from ..index.embedding.ports import Embedder
from ..log import logger
from ..models.scope import folder_of
from ..models.status import EngineStatus, IndexState, Notice, NoticeCode, Severity
from ..models.transfer import StoreExported
from ..recall.embedder_trust import Trust
from ..runtime.gc_freeze import LONG_LIVED
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..storage.directory_lock import DirectoryLock
from ..storage.private_folder import PrivateFolder
from ..storage.state_store import SqliteStateStore
from ..storage.store_files import StoreFiles
from ..text.lazy_pattern import compile_all
from .rooms import EngineRooms


class Engine:
    """``open``, then ``run`` with an embedder as long as the owner likes, then ``close``.

    ``service`` may be called at once: its methods wait for ``open``.
    """

    def __init__(self, rooms: EngineRooms) -> None:
        self.parts = rooms.parts
        """What ``build_engine`` wired, for the composition root and for tests."""
        self.rooms = rooms
        self._settings = rooms.settings
        self.life = rooms.life
        self._notices = rooms.notices
        self.service = rooms.service
        self.loop = rooms.loop
        self.notes = rooms.notes
        self.intake = rooms.intake
        self.migrations = rooms.migrations
        """What comes from elsewhere: ``migrate`` brings it; ``python -m llm_memory`` and the
        commands of admins ask here for what is done with it."""
        self._opening: asyncio.Future[None] | None = None
        self._behind: list[asyncio.Task[None]] = []
        self._tightening: asyncio.Task[None] | None = None

    @property
    def bundled(self) -> Embedder | None:
        """For ``run``: the model that comes as a package, in the index's process or one of its own.
        None where this Python can start no process."""
        return self.parts.bundled

    def local(self, name: str) -> Embedder:
        """For ``run``: a model on disk by its folder or name, or on a hub; where the bundled one
        lives, or in our own process where this Python can start no other."""
        return self.parts.local(name)

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
        if not self.life.is_closing:
            # Words wait for no embedder, so not for `run` either.
            self._behind = [
                asyncio.create_task(self.rooms.words.run()),
                asyncio.create_task(self.rooms.uses.run()),
            ]
            self._tightening = asyncio.create_task(
                asyncio.to_thread(tidy_folders, self.parts.private, self.parts.files)
            )
        self.life.loaded()

    def _refuse(self, notice: Notice, detail: str) -> None:
        self._notices.post(notice)
        self.rooms.indexing.state = IndexState.OFF
        off = EngineOff(notice.code, detail)
        self.life.failed(off)
        raise off

    async def _open(self) -> None:
        parts = self.parts
        timeout = self._settings.open_retry_seconds
        await own_folders(parts.locks, timeout, given_up=lambda: self.life.is_closing)
        await asyncio.to_thread(restrict_folders, parts.private)
        await asyncio.to_thread(compile_all)
        # Before the index and a search import numpy at the same time, each half of it.
        with contextlib.suppress(ImportError):  # the notices of the indexes tell of it
            await asyncio.to_thread(parts.scanner.prepare)
        await asyncio.to_thread(parts.formats.open)
        await asyncio.to_thread(parts.vault.open)
        names = await asyncio.to_thread(parts.vault.inhabited)
        await asyncio.to_thread(open_state, parts.state, self.rooms.book, self._notices, names)
        await asyncio.to_thread(self.rooms.corrected.load)
        await asyncio.to_thread(self.rooms.former.open)
        await asyncio.to_thread(self.rooms.bylines.open)
        await self.rooms.uses.load()
        await self.loop.open()
        await self.rooms.souls.load()  # before any turn goes on: what it is told stays the same
        self.life.opened()
        await self.rooms.reconciler.load()
        await self.rooms.recorder.recover()
        await self.migrations.open()

    async def scan_notes(self) -> None:
        """Read the notes for the first time; recall does without them until then. Idempotent."""
        if self.notes.scanned:
            return
        try:
            await self.notes.refresh()
        except Exception as error:  # noqa: BLE001  (what is wrong here must not stop the index)
            logger.error("notes_failed", error=repr(error))

    async def migrate(self) -> None:
        """Bring what comes from elsewhere behind the bot, until cancelled."""
        await self.migrations.run()

    async def reconcile(self) -> None:
        """Take in now what people did to the files."""
        await self.rooms.reconciler.reconcile()
        await self.rooms.corrections.follow()

    async def back_up(self) -> tuple[str, StoreExported]:
        """The whole store and the owner's settings in a new file of ``exports/``: its name, and
        what it holds. For admins, whom the caller has told from others. Raises TransferFailed."""
        return await self.rooms.backup.carry_out(self.parts.transfers)

    async def follow(self) -> None:
        """Keep up with what people do to the files until cancelled."""
        await self.rooms.follower.run()

    async def run(self, embedder: Embedder | None) -> None:
        """Keep the index up with the vault until cancelled. None: words alone, and no index of
        vectors."""
        await self.scan_notes()
        indexing = self.rooms.indexing
        if embedder is None:
            await indexing.run(None)
            return
        examination = asyncio.create_task(self.rooms.trust.run(embedder, indexing.prepared))
        try:
            await indexing.run(embedder)
        finally:
            examination.cancel()
            await asyncio.gather(examination, return_exceptions=True)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the owner should know now."""
        return self._notices.standing()

    @property
    def trust(self) -> Trust:
        """How far the embedder is trusted; empty before its examination."""
        return self.rooms.trust.found

    async def close(self) -> None:
        """Wait for writes that began, release everything. Idempotent. A round of ``follow`` ends by
        itself: its task is cancelled and awaited first."""
        self.life.closing()
        await self.loop.sleep.close()
        await self.life.close()
        await self.migrations.close()
        await self.intake.close()
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        for task in self._behind:
            task.cancel()
        await asyncio.gather(*self._behind, return_exceptions=True)
        await self.rooms.uses.write()
        if self._tightening is not None:
            await asyncio.gather(self._tightening, return_exceptions=True)
        parts = self.parts
        await asyncio.gather(
            self.rooms.indexing.close(),
            self.rooms.words.close(),
            asyncio.to_thread(parts.state.close),
            self.loop.close(),
            asyncio.to_thread(parts.vault.ledger.close),
            return_exceptions=True,
        )
        await asyncio.to_thread(parts.files.close)
        self.notes.clear()
        self.rooms.manager.clear()
        self.rooms.primer.clear()
        self.rooms.unread.clear()
        for lock in parts.locks:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(lock.release)
        # Last: the next process that opens the folder need not wait for it.
        await self.rooms.catalogue.release()
        LONG_LIVED.release()
        logger.debug("the engine is closed")

    async def status(self) -> EngineStatus:
        """How it is doing, now."""
        loop = await self.loop.status()
        return EngineStatus(
            ready=self.life.is_ready,
            embedder=self.rooms.indexing.label,
            index=self.rooms.indexing.state,
            by_scope=self.rooms.catalogue.counts(),
            notes={folder_of(name): count for name, count in self.notes.counts().items()},
            backlog=self.rooms.indexing.backlog,
            leaving=self.rooms.indexing.leaving,
            queue=loop.queue.waiting,
            scope_check_drops=self.rooms.manager.scope_check_drops,
            words=self.rooms.words.state,
            notices=self._notices.standing(),
            migration=self.migrations.status(),
            loop=loop,
            left=tuple(await self.rooms.former.count(await self.rooms.former.everywhere())),
        )


_LOCK_POLL_SECONDS = 0.2


def restrict_folders(folders: Sequence[PrivateFolder]) -> None:
    """Blocks."""
    for folder in folders:
        folder.restrict_folder()


def tidy_folders(folders: Sequence[PrivateFolder], files: StoreFiles) -> None:
    """Take others' rights from what lies in the folders, and delete what a kill left. Blocks."""
    for folder in folders:
        folder.restrict_contents()
    files.remove_stale()


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


def refusal(error: Exception) -> Notice:
    """Why the engine stays off."""
    match error:
        case DirectoryInUse(path=path):
            code, params = NoticeCode.DIRECTORY_IN_USE, {"detail": path, "path": path}
        case FormatNewer(path=path, found=found, known=known, needs=needs):
            code = NoticeCode.FORMAT_NEWER
            params = {"path": path, "found": str(found), "known": str(known), "needs": needs}
        case _:
            code = NoticeCode.VAULT_UNWRITABLE
            params = {"detail": str(error) or type(error).__name__}
    return Notice(code, params=params, severity=Severity.ERROR)
