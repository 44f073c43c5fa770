"""One engine over one data folder: opened, run and closed by its owner."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors import DirectoryInUse, EngineOff, FormatNewer, StateUnavailable
from ..index.embedding.ports import Embedder
from ..log import logger
from ..models.scope import folder_of
from ..models.settings import EngineSettings
from ..models.status import EngineStatus, IndexState, Notice, NoticeCode, Severity
from ..models.transfer import StoreExported
from ..recall.embedder_trust import Trust
from ..recall.reranking import Reranker
from ..reflection.chat_port import ChatModel
from ..runtime.gc_freeze import LONG_LIVED
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..storage.directory_lock import DirectoryLock
from ..storage.private_folder import PrivateFolder
from ..storage.state_store import SqliteStateStore
from ..storage.store_files import StoreFiles
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
        self._notices = parts.notices
        self.service = parts.service
        self.loop = parts.loop
        self.migrations = parts.migrations
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
                asyncio.create_task(self.parts.lexical.run()),
                asyncio.create_task(self.parts.uses.run()),
            ]
            self._tightening = asyncio.create_task(
                asyncio.to_thread(tidy_folders, self.parts.private, self.parts.files)
            )
        self.life.loaded()

    def _refuse(self, notice: Notice, detail: str) -> None:
        self._notices.post(notice)
        self.parts.indexing.state = IndexState.OFF
        off = EngineOff(notice.code, detail)
        self.life.failed(off)
        raise off

    async def _open(self) -> None:
        parts = self.parts
        timeout = parts.settings.open_retry_seconds
        await own_folders(parts.locks, timeout, given_up=lambda: self.life.is_closing)
        await asyncio.to_thread(restrict_folders, parts.private)
        await asyncio.to_thread(compile_all)
        # Before the index and a search import numpy at the same time, each half of it.
        with contextlib.suppress(ImportError):  # the notices of the indexes tell of it
            await asyncio.to_thread(parts.scanner.prepare)
        await asyncio.to_thread(parts.formats.open)
        await asyncio.to_thread(parts.vault.open)
        names = await asyncio.to_thread(parts.vault.inhabited)
        await asyncio.to_thread(open_state, parts.state, self.parts.book, self._notices, names)
        await asyncio.to_thread(self.parts.corrected.load)
        await asyncio.to_thread(self.parts.former.open)
        await asyncio.to_thread(self.parts.bylines.open)
        await self.parts.uses.load()
        await self.loop.open()
        await self.parts.souls.load()  # before any turn goes on: what it is told stays the same
        self.life.opened()
        await self.parts.reconciler.load()
        await self.parts.recorder.recover()
        await self.migrations.open()

    async def scan_notes(self) -> None:
        """Read the notes for the first time; recall does without them until then. Idempotent."""
        if self.parts.note_book.scanned:
            return
        try:
            await self.parts.note_book.refresh()
        except Exception as error:  # noqa: BLE001  (what is wrong here must not stop the index)
            logger.error("notes_failed", error=repr(error))

    async def migrate(self) -> None:
        """Bring what comes from elsewhere behind the bot, until cancelled."""
        await self.migrations.run()

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
        await self.parts.follower.run()

    async def run(self, embedder: Embedder | None) -> None:
        """Keep the index up with the vault until cancelled. None: words alone, and no index of
        vectors."""
        await self.scan_notes()
        indexing = self.parts.indexing
        if embedder is None:
            await indexing.run(None)
            return
        examination = asyncio.create_task(
            self.parts.embedder_trust.run(embedder, indexing.prepared)
        )
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
        return self.parts.embedder_trust.found

    async def close(self) -> None:
        """Wait for writes that began, release everything. Idempotent. A round of ``follow`` ends by
        itself: its task is cancelled and awaited first."""
        self.life.closing()
        await self.loop.sleep.close()
        await self.life.close()
        await self.migrations.close()
        await self.parts.intake.close()
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        for task in self._behind:
            task.cancel()
        await asyncio.gather(*self._behind, return_exceptions=True)
        await self.parts.uses.write()
        if self._tightening is not None:
            await asyncio.gather(self._tightening, return_exceptions=True)
        parts = self.parts
        await asyncio.gather(
            self.parts.indexing.close(),
            self.parts.lexical.close(),
            asyncio.to_thread(parts.state.close),
            self.loop.close(),
            asyncio.to_thread(parts.vault.ledger.close),
            return_exceptions=True,
        )
        await asyncio.to_thread(parts.files.close)
        self.parts.note_book.clear()
        self.parts.manager.clear()
        self.parts.primer.clear()
        self.parts.unread.clear()
        for lock in parts.locks:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(lock.release)
        # Last: the next process that opens the folder need not wait for it.
        await self.parts.catalogue.release()
        LONG_LIVED.release()
        logger.debug("the engine is closed")

    async def status(self) -> EngineStatus:
        """How it is doing, now."""
        loop = await self.loop.status()
        return EngineStatus(
            ready=self.life.is_ready,
            embedder=self.parts.indexing.label,
            index=self.parts.indexing.state,
            by_scope=self.parts.catalogue.counts(),
            notes={folder_of(name): count for name, count in self.parts.note_book.counts().items()},
            backlog=self.parts.indexing.backlog,
            leaving=self.parts.indexing.leaving,
            queue=loop.queue.waiting,
            scope_check_drops=self.parts.manager.scope_check_drops,
            words=self.parts.lexical.state,
            notices=self._notices.standing(),
            migration=self.migrations.status(),
            loop=loop,
            left=tuple(await self.parts.former.count(await self.parts.former.everywhere())),
        )


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
