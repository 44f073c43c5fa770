"""Brings the indexes of a store up to its files, once, while a person waits for it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ..composition.export_restore import owned
from ..composition.paths import EnginePaths
from ..errors import HomeError
from ..models.conversation import ConversationId
from ..models.notices import NoticeCode
from ..models.owner import StoreStatus
from ..models.settings import IndexPace
from ..models.status import IndexState
from ..service.engine import Engine
from ..storage.retry import when_free
from ..vault.folder_walk import is_link
from .embedder_choice import missing_package
from .owned_store import OwnedStore
from .settings import HomeSettings

_PACE: Final = IndexPace(pause_seconds=0.0, retry_seconds=(0.2, 0.5, 1.0, 2.0))
"""No bot wants the time between two batches, and a person does not want to wait a minute for the
next attempt."""
_LOOK_SECONDS: Final = 0.1
STALL_SECONDS: Final = 15.0
"""So long something may fail again and again, with nothing done in between, before it is given up:
attempts with fewer and fewer texts, to find the one that an embedder cannot take, need ten."""
_SAVES: Final = 3
"""The most waits for a file into which a person writes at this moment."""
_PAID: Final = "embeddings.sqlite"
"""The vectors that were computed, perhaps for money. Its neighbours have the same beginning."""
_OPEN: Final = (IndexState.BUILDING, IndexState.READY)
_HOME: Final = ConversationId.parse("mcp:global:home")
_OF_WORDS: Final = (NoticeCode.LEXICAL_OFF,)
_OF_VECTORS: Final = (NoticeCode.EMBEDDER_FAILING, NoticeCode.INDEX_OFF, NoticeCode.INDEX_FULL)
WORDS, VECTORS = "words", "vectors"

type Progress = Callable[[str, int, int], None]
"""Hears the part, ``words`` or ``vectors``, how many of its entries are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Built:
    """What a store's indexes hold.

    Attributes:
        left: How many have no vector, or no words, though they should.
        words_fault: Why the index of words is not complete, empty if it is.
        fault: Why the index of vectors is not complete, empty if it is, or none is wanted.
    """

    status: StoreStatus
    left: int = 0
    words_fault: str = ""
    fault: str = ""


async def build_index(
    paths: EnginePaths,
    settings: HomeSettings,
    environ: Mapping[str, str],
    version: str,
    *,
    rebuild: bool = False,
    progress: Progress = lambda *_: None,
    stall_seconds: float | None = None,
) -> Built:
    """Own the store, bring words and vectors up to the files, and let go of it. Agents may use it
    meanwhile. What was built stays if this is cancelled.

    Args:
        rebuild: Discard the caches first.
        stall_seconds: Seconds without any progress after which a fault is taken for lasting, by
            default ``STALL_SECONDS``.

    Raises:
        DirectoryInUse, EngineOff: Another program has the store, or it cannot be opened.
        HomeError: The caches cannot be discarded.
    """
    if rebuild:
        await asyncio.to_thread(discard_caches, paths, version)
    store = OwnedStore(paths, settings, environ, version, pace=_PACE)
    missing = missing_package(settings)
    await store.open(vectors=not missing)
    try:
        await read_files(store.engine)
        stall_seconds = STALL_SECONDS if stall_seconds is None else stall_seconds
        words_fault, fault = await _faults(store.engine, missing, progress, stall_seconds)
        return await _built(store, words_fault, missing or store.refused or fault)
    finally:
        await store.close()


def discard_caches(paths: EnginePaths, version: str) -> None:
    """Remove what lies in the index folder, but for the vectors that were computed. Blocks.

    Raises:
        DirectoryInUse, FormatNewer: Nothing was removed.
        HomeError: Something could not be removed, or the folder is a link.
    """
    with owned(paths, version=version):
        folder = paths.index
        if is_link(folder):
            raise HomeError(f"{folder}：是链接，不清空", f"{folder}: is a link, not emptied")
        try:
            entries = sorted(folder.iterdir()) if folder.is_dir() else []
            for entry in entries:
                if entry.name.startswith(_PAID):
                    continue
                if entry.is_dir() and not is_link(entry):
                    shutil.rmtree(entry)
                else:
                    when_free(entry.unlink)
        except OSError as error:
            raise HomeError(
                f"{error.filename}：删不掉：{error.strerror}",
                f"{error.filename}: cannot be removed: {error.strerror}",
            ) from error


async def read_files(engine: Engine) -> None:
    """Take in what people did to the files, and wait for those that they are writing."""
    reconciler = engine.rooms.reconciler
    for _ in range(_SAVES):
        await engine.reconcile()
        due = reconciler.next_due
        if due is None:
            return
        await asyncio.sleep(due)


async def _faults(
    engine: Engine, missing: str, progress: Progress, stall_seconds: float
) -> tuple[str, str]:
    """Wait until both indexes are complete, or one cannot be. Returns why the words are not, and
    why the vectors are not: what stands and has let nothing happen for long."""
    words, indexing = engine.rooms.words, engine.rooms.indexing
    now = asyncio.get_running_loop().time
    seen, since = None, now()
    while True:
        _tell(engine, progress)
        state = words.state, words.pending, indexing.state, indexing.backlog, indexing.leaving
        if state != seen:
            seen, since = state, now()
        stalled = now() - since >= stall_seconds
        words_fault, fault = (
            _standing(engine, codes) if stalled else "" for codes in (_OF_WORDS, _OF_VECTORS)
        )
        scanned = engine.notes.scanned
        none_wanted = missing or indexing.state is IndexState.LEXICAL
        words_done = words_fault or (scanned and words.in_step)
        if words_done and (none_wanted or fault or (scanned and indexing.in_step)):
            return words_fault, fault
        await asyncio.sleep(_LOOK_SECONDS)


def _standing(engine: Engine, codes: Iterable[NoticeCode]) -> str:
    standing = {notice.code: notice for notice in engine.notices}
    found = (standing[code].params.get("detail", str(code)) for code in codes if code in standing)
    return next(found, "")


def _tell(engine: Engine, progress: Progress) -> None:
    rooms = engine.rooms
    total = sum(rooms.catalogue.counts().values()) + len(engine.notes)
    if rooms.words.state in _OPEN and not (engine.notes.scanned and rooms.words.in_step):
        progress(WORDS, max(total - rooms.words.pending, 0), total)
    elif rooms.indexing.state in _OPEN:
        progress(VECTORS, max(total - rooms.indexing.backlog, 0), total)


async def _built(store: OwnedStore, words_fault: str, fault: str) -> Built:
    status = await store.owner.status(conversation_id=_HOME)
    if words_fault:
        status = replace(status, words=0)
    total = sum(status.memories.values()) + status.notes
    if status.vectors is not None and status.vectors < total and not fault:
        fault = "嵌入模型不收这些文字 / the embedder does not take these texts"
    left = total if words_fault else total - (status.vectors or 0) if fault else 0
    return Built(status, left, words_fault, fault)
