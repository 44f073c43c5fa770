"""Keeps the index of words equal to what lives, behind the bot, whatever becomes of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.pointers import is_note_id
from ..catalogue.unread_turns import UnreadTurns
from ..errors import IndexUnavailable
from ..log import logger
from ..models.data_models import StoredMemory
from ..models.passages import Key, Passage, place_name
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.status import IndexState, Notice
from ..runtime.cooperative import cooperative
from ..runtime.notice_board import NoticeBoard
from ..text.overlap import shortlist
from ..vault.notes.note_book import NoteBook
from .index_queue import Entry, IndexQueue
from .lexical_port import LexicalIndex, LexicalMatches, LexicalQuery, LexicalRecord
from .lexical_records import lexical_hash, lexical_record
from .passages import Passages
from .pending_records import PendingRecords

FRESH = 50
"""Passages not written yet that take part in a search: those that share the most with it. Each is
cut into words first, which takes a third of a millisecond."""
_LOOKED_AT = 5000
"""Of so many, the newest, among them."""
_BATCH = 100
_BULK = 1000
_SLICE = 200
_SEARCHES = 2
_RESTS = 4
"""The most pauses of the pace that it rests after a batch, where another one waits."""
_OFTEN = 3
"""Faults with nothing that went well between them, after which the owner should know."""
PASSING = ("busy", "full", "no_numpy")
"""Codes of faults after which the index is as good as before."""


class LexicalService:
    """Owns the index. ``run`` is its one task; it ends by cancellation.

    Waits for no embedder: it is ready as soon as the dictionary is loaded.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        note_book: NoteBook,
        pending: PendingRecords,
        unread: UnreadTurns,
        words: LexicalIndex,
        notices: NoticeBoard,
        settings: EngineSettings,
    ) -> None:
        """``unread`` is searched with what the index holds, and never written into it."""
        self._passages = Passages(catalogue, note_book, pending)
        self._unread = unread
        self._index = words
        self._notices = notices
        self._pace = settings.pace
        self._queue = IndexQueue()
        self._fault: IndexUnavailable | None = None
        self._faults = 0
        self._unanswered = False
        self._doubtful = False
        self._comparing = False
        self._written = asyncio.Event()
        # Not the loop's own threads: what waits for a disk must not stop the bot.
        self._owner = ThreadPoolExecutor(1, "scoped-memory-words")
        self._askers = ThreadPoolExecutor(_SEARCHES, "scoped-memory-words-ask")
        self.state: IndexState = "waiting"
        pending.follow_with(self)
        note_book.follow_with(self)

    @property
    def pending(self) -> int:
        """How many changes are not in the index yet."""
        return len(self._queue)

    @property
    def catches_up(self) -> bool:
        """Something is still to be written, and will be."""
        return bool(self._queue) and self.state != "off"

    @property
    def in_step(self) -> bool:
        """Whether it was found to hold what lives, and nothing else."""
        looks = self._compares or self._fault is not None
        return self.state == "ready" and not self._queue and not looks

    @property
    def _compares(self) -> bool:
        """What it lacks is not known yet."""
        return self._doubtful or self._comparing

    def enqueue(self, stored: Passage) -> None:
        """It is new or was changed."""
        self._queue.put(stored)

    def enqueue_removal(self, stored: Passage) -> None:
        """It is gone."""
        self._queue.remove(stored)

    def recheck(self) -> None:
        """Compare with the notes soon: they were read only now."""
        self._doubtful = True
        self._queue.changed.set()

    async def search(
        self, query: LexicalQuery, scope_filter: ScopeFilter, k: int
    ) -> LexicalMatches:
        """What shares words with the query, written yet or not. Raises IndexUnavailable."""
        if self.state not in ("ready", "building"):
            raise IndexUnavailable(f"index of words is {self.state}", code="not_ready")
        fresh = self._fresh(query, self.waiting(scope_filter))
        search = partial(self._index.search, query, scope_filter, k, fresh)
        try:
            async with asyncio.timeout(self._pace.query_seconds):
                answer = await asyncio.get_running_loop().run_in_executor(self._askers, search)
        except TimeoutError as error:
            raise IndexUnavailable("the index of words took too long", code="slow") from error
        except IndexUnavailable as error:
            if error.code not in (*PASSING, "closed"):
                self._hand_over(error)
            raise
        except RuntimeError as error:  # closed meanwhile, or the system has no thread left
            raise IndexUnavailable(str(error), code="closed") from error
        self._unanswered = False
        self._went_well()
        return answer

    def _fresh(self, query: LexicalQuery, waiting: list[Passage]) -> Iterator[LexicalRecord]:
        """Of many those that could answer. It is gone through in the index's thread."""
        if len(waiting) > FRESH:
            folded = [self._folded(passage) for passage in waiting]
            waiting = [waiting[place] for place in shortlist(query.text, folded, FRESH)]
        yield from map(lexical_record, waiting)

    def waiting(self, scope_filter: ScopeFilter) -> list[Passage]:
        """What is visible and not written yet, and what never will be. Until it is known which
        notes are written, all of them."""
        newest = self._queue.newest(_LOOKED_AT)
        visible = [passage for passage in newest if scope_filter.admits(place_name(passage))]
        if self._compares:
            listed = {key_of(passage) for passage in visible}
            notes = self._passages.visible_notes(scope_filter)
            visible += [note for note in notes if key_of(note) not in listed]
        return [*visible, *self._unread.visible(scope_filter)]

    def _folded(self, passage: Passage) -> str:
        known = self._passages.folded(passage)
        return known or self._unread.folded(passage) if isinstance(passage, StoredMemory) else known

    def _hand_over(self, fault: IndexUnavailable) -> None:
        self._fault = fault
        self._unanswered = True
        self._queue.changed.set()

    def _went_wrong(self, fault: IndexUnavailable) -> None:
        self._faults += 1
        if self._faults >= _OFTEN:
            self._notices.post(Notice("lexical_off", params={"detail": str(fault)}))

    def _went_well(self) -> None:
        if self._faults and not self._unanswered:  # what opens and answers no query is not well
            self._faults = 0
            self._notices.clear("lexical_off")

    async def run(self) -> None:
        """Open, catch up, then follow until cancelled. What is broken is begun anew."""
        failures = 0
        while True:
            try:
                await self._open()
                failures = 0
                await self._follow()
            except IndexUnavailable as error:
                logger.debug("the word index cannot be used for now: {}", error)
                self.state = "off"
                self._went_wrong(error)
                if error.code not in PASSING:
                    with contextlib.suppress(IndexUnavailable):
                        await self._call(self._index.discard)
                self._fault = None
                if failures or error.code in PASSING:
                    await asyncio.sleep(self._pace.retry(failures))
                failures += 1

    async def _open(self) -> None:
        cause = await self._call(self._index.open)
        if cause:
            logger.info("word_index_dropped", cause=cause)
        await self._compare()
        self.state = "building"
        while self._queue:
            await self._write(_BULK)
        self.state = "ready"
        self._went_well()

    async def _compare(self, *, notes_only: bool = False) -> None:
        self._doubtful, self._comparing = False, True
        try:
            await self._put_on_list(notes_only=notes_only)
        finally:
            self._comparing = False

    async def _put_on_list(self, *, notes_only: bool) -> None:
        """Whatever differs between the living and the index."""
        indexed = await self._call(lambda: self._indexed(notes_only=notes_only))
        # A copy, in order of time: others write while we pause.
        living = self._passages.notes() if notes_only else self._passages.all()
        for number, passage in enumerate(list(living)):
            if indexed.pop(key_of(passage), None) != lexical_hash(passage):
                self._queue.suggest(key_of(passage), passage)
            if number % _SLICE == 0:
                await asyncio.sleep(0)
        for key in self._passages.gone(indexed):
            self._queue.suggest(key, None)

    def _indexed(self, *, notes_only: bool) -> dict[Key, str]:
        """Blocks."""
        indexed = self._index.hashes()
        if not notes_only:
            return indexed
        return {key: found for key, found in indexed.items() if is_note_id(key.memory_id)}

    async def _follow(self) -> None:
        failures = 0
        while True:
            self._queue.changed.clear()
            if self._fault is not None:
                raise self._fault
            if self._doubtful:
                await self._compare(notes_only=True)
            if not self._queue:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.look_seconds):
                        await self._queue.changed.wait()
                    continue
                if await self._call(self._index.count) != len(self._passages):
                    await self._compare()
                continue
            try:
                began = time.monotonic()
                await self._write(_BATCH)
                failures = 0
                self._went_well()
                if self._queue:  # thousands at once: half of the time is for the bot
                    took = time.monotonic() - began
                    await asyncio.sleep(min(took, _RESTS * self._pace.pause_seconds))
            except IndexUnavailable as error:
                if error.code not in PASSING:
                    raise
                # What waits is searched all the same.
                logger.debug("the word index takes no writes for now: {}", error)
                self._went_wrong(error)
                await asyncio.sleep(self._pace.retry(failures))
                failures += 1

    async def _write(self, most: int) -> None:
        entries = self._queue.first(most)
        await self._call(lambda: self._put(entries))
        self._queue.mark_written(entries)
        await asyncio.sleep(0)

    def _put(self, entries: list[Entry]) -> None:
        """Blocks."""
        living = (passage for _, passage in entries if passage is not None)
        records = [lexical_record(passage) for passage in cooperative(living)]
        gone = [key for key, passage in entries if passage is None]
        self._index.write(records, gone)

    async def checkpoint_wal(self) -> None:
        """Leave nothing on disk of what was removed. An index that is off does so when it is closed
        or begun anew. Raises IndexUnavailable, also while a removal may wait to be written."""
        if self.state == "off":
            return
        if self._queue:
            raise IndexUnavailable(f"{len(self._queue)} changes to write", code="busy")
        await self._call(self._index.checkpoint_wal)

    async def _call[T](self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._owner, call)

    async def close(self) -> None:
        """Release the index. ``run`` must have ended. Idempotent."""
        if self.state == "off" and self._fault is not None:
            self._fault = None
        self.state = "off"
        with contextlib.suppress(RuntimeError, IndexUnavailable):
            await self._call(self._index.close)
        self._owner.shutdown(wait=False)
        self._askers.shutdown(wait=False)
