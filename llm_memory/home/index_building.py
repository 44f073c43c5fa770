"""Brings the indexes of a store up to its files, once, while a person waits for it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ..composition.export_restore import owned
from ..composition.paths import EnginePaths
from ..errors import HomeError
from ..models.notices import NoticeCode
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
_OF_WORDS: Final = frozenset({NoticeCode.LEXICAL_OFF})
_OF_VECTORS: Final = (NoticeCode.EMBEDDER_FAILING, NoticeCode.INDEX_OFF, NoticeCode.INDEX_FULL)
WORDS, VECTORS = "words", "vectors"

type Progress = Callable[[str, int, int], None]
"""Hears the part, ``words`` or ``vectors``, how many of its entries are done, and of how many."""


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """What a store's indexes hold.

    Attributes:
        memories: Memories by scope.
        notes: Pieces of notes.
        words: Memories and pieces in the index of words.
        vectors: Those in the index of vectors; None where it was not built.
        embedder: Whose vectors; ``lexical`` for words alone.
        left: How many have no vector, or no words, though they should.
        words_fault: Why the index of words is not complete, empty if it is.
        fault: Why the index of vectors is not complete, empty if it is, or none is wanted.
    """

    memories: Mapping[str, int]
    notes: int
    words: int
    vectors: int | None
    embedder: str
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
) -> IndexCounts:
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
        building = _Building(
            store, missing, progress, STALL_SECONDS if stall_seconds is None else stall_seconds
        )
        return await building.finished()
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
            raise HomeError(f"{folder}：是链接，不清空 / is a link, not emptied")
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
                f"{error.filename}：删不掉 / cannot be removed: {error.strerror}"
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


class _Building:
    def __init__(
        self, store: OwnedStore, missing: str, progress: Progress, stall_seconds: float
    ) -> None:
        self._engine = store.engine
        self._missing = missing
        self._refused = store.refused
        self._progress = progress
        self._stall_seconds = stall_seconds
        self._state: object = None
        self._since = 0.0

    async def finished(self) -> IndexCounts:
        """Wait until both indexes are complete, or one cannot be."""
        while True:
            self._tell()
            words_fault, fault = self._faults()
            if (self._words_done or words_fault) and (self._vectors_done or fault):
                return self._counts(words_fault, fault)
            await asyncio.sleep(_LOOK_SECONDS)

    @property
    def _words_done(self) -> bool:
        return self._engine.notes.scanned and self._engine.rooms.words.in_step

    @property
    def _vectors_done(self) -> bool:
        indexing = self._engine.rooms.indexing
        if self._missing or indexing.state is IndexState.LEXICAL:
            return True
        return self._engine.notes.scanned and indexing.in_step

    def _faults(self) -> tuple[str, str]:
        """Of the words and of the vectors: what stands and has let nothing happen for long."""
        words, indexing = self._engine.rooms.words, self._engine.rooms.indexing
        state = (
            *(words.state, words.pending),
            *(indexing.state, indexing.backlog, indexing.leaving),
        )
        now = asyncio.get_running_loop().time()
        if state != self._state:
            self._state, self._since = state, now
        if now - self._since < self._stall_seconds:
            return "", ""
        standing = {notice.code: notice for notice in self._engine.notices}
        found = ["", ""]
        for number, codes in enumerate((_OF_WORDS, _OF_VECTORS)):
            for code in codes:
                if code in standing:
                    found[number] = standing[code].params.get("detail", code.value)
                    break
        return found[0], found[1]

    def _total(self) -> int:
        engine = self._engine
        return sum(engine.rooms.catalogue.counts().values()) + len(engine.notes)

    def _tell(self) -> None:
        rooms, total = self._engine.rooms, self._total()
        written = (IndexState.BUILDING, IndexState.READY)
        if rooms.words.state in written and not self._words_done:
            self._progress(WORDS, max(total - rooms.words.pending, 0), total)
        elif rooms.indexing.state in written:
            self._progress(VECTORS, max(total - rooms.indexing.backlog, 0), total)

    def _counts(self, words_fault: str, fault: str) -> IndexCounts:
        rooms, total = self._engine.rooms, self._total()
        indexing = rooms.indexing
        words = total - rooms.words.pending if not words_fault else 0
        vectors: int | None = None
        fault = self._missing or self._refused or fault
        if indexing.state in (IndexState.BUILDING, IndexState.READY):
            vectors = total - indexing.backlog
            if vectors < total and not fault:
                fault = "嵌入模型不收这些文字 / the embedder does not take these texts"
        left = total - (vectors or 0) if fault else 0
        return IndexCounts(
            memories=rooms.catalogue.counts(),
            notes=len(self._engine.notes),
            words=words,
            vectors=vectors,
            embedder=indexing.label,
            left=total - words if words_fault else left,
            words_fault=words_fault,
            fault=fault,
        )
