"""The steps of opening an engine that can go wrong, and what that means for its owner."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence

from ..errors import DirectoryInUse, FormatNewer, StateUnavailable
from ..models.status import Notice, NoticeCode, Severity
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..storage.directory_lock import DirectoryLock
from ..storage.private_folder import PrivateFolder
from ..storage.state_store import SqliteStateStore
from ..storage.store_files import StoreFiles

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
