"""Waits until an engine's files are read and its indexes hold them, while a person looks on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final

from ..models.status import IndexState, NoticeCode
from ..texts import Said
from .engine import Engine

STALL_SECONDS: Final = 15.0
"""So long something may fail again and again, with nothing done in between, before it is given up:
attempts with fewer and fewer texts, to find the one that an embedder cannot take, need ten."""
_LOOK_SECONDS: Final = 0.1
_SAVES: Final = 3
"""The most waits for a file into which a person writes at this moment."""
_OF_WORDS: Final = (NoticeCode.LEXICAL_OFF,)
_OF_VECTORS: Final = (NoticeCode.EMBEDDER_FAILING, NoticeCode.INDEX_OFF, NoticeCode.INDEX_FULL)
WORDS, VECTORS = Said("building.words"), Said("building.vectors")

type Progress = Callable[[Said, int, int], None]
"""Hears the part, ``WORDS`` or ``VECTORS``, how many of its entries are done, and of how many."""


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
        state = words.state, words.pending, indexing.state, indexing.backlog, indexing.leaving
        if state != seen:
            seen, since = state, now()
        stalled = now() - since >= STALL_SECONDS
        words_fault = _standing(engine, _OF_WORDS) if stalled else ""
        fault = _standing(engine, _OF_VECTORS) if stalled else ""
        scanned = engine.parts.note_book.scanned
        total = sum(engine.parts.catalogue.counts().values()) + len(engine.parts.note_book)
        none_wanted = not vectors or indexing.state is IndexState.LEXICAL
        if not (words_fault or (scanned and words.in_step)):
            progress(WORDS, total - words.pending, total)
        elif none_wanted or fault or (scanned and indexing.in_step):
            return words_fault, fault
        else:
            progress(VECTORS, total - indexing.backlog, total)
        await asyncio.sleep(_LOOK_SECONDS)


def _standing(engine: Engine, codes: Collection[NoticeCode]) -> str:
    told = (one for one in engine.notices if one.code in codes)
    return next((one.params.get("detail", str(one.code)) for one in told), "")
