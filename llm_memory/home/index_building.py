"""Brings the indexes of a store up to its files, once, while a person waits for it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from ..composition.engine import Engine
from ..composition.export_restore import owned
from ..errors import HomeError
from ..models.conversation import ConversationId
from ..models.settings import Pace
from ..models.status import EngineStatus
from ..service.paths import EnginePaths
from ..storage.files import is_link, when_free
from ..texts import Said, at
from .embedder_choice import missing_package
from .owned_store import OwnedStore
from .setting_values import spoken


def discard_caches(paths: EnginePaths, version: str) -> None:
    """Remove what lies in the index folder, but for the vectors that were computed, perhaps for
    money. Blocks.

    Raises:
        DirectoryInUse, FormatNewer: Nothing was removed.
        HomeError: Something could not be removed, or the folder is a link.
    """
    with owned(paths, version=version):
        folder = paths.index
        if is_link(folder):
            raise HomeError(at(folder, "path.link"))
        try:
            for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
                # The files that SQLite keeps beside one begin with its name.
                if entry.name.startswith(paths.vectors.name):
                    continue
                if entry.is_dir() and not is_link(entry):
                    shutil.rmtree(entry)
                else:
                    when_free(entry.unlink)
        except OSError as error:
            raise HomeError(at(error.filename, "path.not_removed", why=error.strerror)) from error


STALL_SECONDS: Final = 15.0
"""So long something may fail again and again, with nothing done in between, before it is given up:
attempts with fewer and fewer texts, to find the one that an embedder cannot take, need ten."""
_LOOK_SECONDS: Final = 0.1
_SAVES: Final = 3
"""The most waits for a file into which a person writes at this moment."""
_OF_WORDS: Final = ("lexical_off", "part_failed")
_OF_VECTORS: Final = (
    "embedder_failing",
    "index_off",
    "index_full",
    "part_failed",
)
WORDS, VECTORS = Said("building.words"), Said("building.vectors")


type Progress = Callable[[Said, int, int], None]
"""Hears the part, ``WORDS`` or ``VECTORS``, how many of its entries are done, and of how many."""


PACE: Final = Pace(pause_seconds=0.0, retry_seconds=(0.2, 0.5, 1.0, 2.0))
"""No bot wants the time between two batches, and a person does not want to wait a minute for the
next attempt."""
_HOME: Final = ConversationId.parse("mcp:global:home")


@dataclass(frozen=True, slots=True)
class Built:
    """What a store's indexes hold.

    Attributes:
        left: How many have no vector, or no words, though they should.
        words_fault: Why the index of words is not complete, empty if it is.
        fault: Why the index of vectors is not complete, empty if it is, or none is wanted.
    """

    status: EngineStatus
    left: int
    words_fault: str
    fault: str


async def build_index(store: OwnedStore, *, rebuild: bool, progress: Progress) -> Built:
    """Own a store of ``PACE``, bring words and vectors up to the files, and let go of it. Agents
    may use it meanwhile. What was built stays if this is cancelled. ``rebuild``: discard the caches
    first.

    Raises:
        DirectoryInUse, EngineOff: Another program has the store, or it cannot be opened.
        HomeError: The caches cannot be discarded.
    """
    if rebuild:
        await asyncio.to_thread(discard_caches, store.paths, store.version)
    missing = missing_package(store.settings)
    try:
        await store.open(vectors=not missing)
        await read_files(store.engine)
        words_fault, fault = await catch_up(store.engine, progress, vectors=not missing)
        fault = missing or store.refused or fault
        status = await store.owner.status(conversation_id=_HOME)
    finally:
        await store.close()
    total = status.total + sum(status.notes.values())
    left = total - (status.vectors or 0) if fault or status.vectors is not None else 0
    if words_fault:
        left = total
    elif left and not fault:
        fault = Said("building.not_taken").text(spoken(store.settings.language))
    return Built(status, left, words_fault, fault)


async def read_files(engine: Engine) -> None:
    """Take in what people did to the files, and wait for those that they are writing."""
    for _ in range(_SAVES):
        await engine.reconcile()
        due = engine.parts.reconciler.next_due
        if due is None:
            return
        await asyncio.sleep(due)


async def catch_up(engine: Engine, progress: Progress, *, vectors: bool) -> tuple[str, str]:
    """Wait until both indexes are complete, or one cannot be. Returns why the words are not, and
    why the vectors are not: what stands and has let nothing happen for long."""
    words, indexing = engine.parts.lexical, engine.parts.indexing
    now = asyncio.get_running_loop().time
    seen, since = None, now()
    while True:
        state = words.state, words.backlog, indexing.state, indexing.backlog, indexing.leaving
        if state != seen:
            seen, since = state, now()
        stalled = now() - since >= STALL_SECONDS
        words_fault = _standing(engine, _OF_WORDS) if stalled else ""
        fault = _standing(engine, _OF_VECTORS) if stalled else ""
        scanned = engine.parts.note_book.scanned
        total = sum(engine.parts.catalogue.counts().values()) + len(engine.parts.note_book)
        none_wanted = not vectors or indexing.state == "lexical"
        if not (words_fault or (scanned and words.in_step)):
            progress(WORDS, total - words.backlog, total)
        elif none_wanted or fault or (scanned and indexing.in_step):
            return words_fault, fault
        else:
            progress(VECTORS, total - indexing.backlog, total)
        await asyncio.sleep(_LOOK_SECONDS)


def _standing(engine: Engine, codes: Collection[str]) -> str:
    told = (one for one in engine.notices if one.code in codes)
    return next((one.params.get("detail", str(one.code)) for one in told), "")
