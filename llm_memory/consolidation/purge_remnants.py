"""Removes the words and the ids of purged memories from every file that the bot keeps."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.timeline import is_digest
from ..errors import (
    IndexUnavailable,
    StateUnavailable,
    TransferFailed,
    VaultFileBroken,
    VaultWriteFailed,
)
from ..index.indexing_service import IndexingService
from ..index.lexical_service import LexicalService
from ..log import logger
from ..models.data_models import Memory
from ..models.deeds import Deed
from ..models.scope import Scope
from ..models.status import Notice
from ..reflection.turn_store import SqliteTurnStore
from ..remember.deeds import Deeds
from ..remember.rules.corrected import unread_id
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..storage.loop_file import SqliteLoopFile
from ..storage.state_store import SqliteStateStore
from ..storage.store_files import StoreFiles
from ..text.normalising import preview, same_words
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.note_book import NoteBook
from .nightly_backup import NightlyBackup
from .purged_backups import PurgedBackups
from .report import SleepReport
from .rules.traces import Traces
from .sleep_store import SqliteSleepStore

_VECTORS: Final = "index/chroma/"
_PAUSES: Final = (0.1, 0.3, 0.6)
"""Seconds between two tries at a file that another program has open."""
_DETAIL_CHARS: Final = 300
_STATE: Final = ("state/state.sqlite", "state/state.sqlite-wal")
"""They have the words that are looked for until those are sealed."""


@dataclass(eq=False)
class PurgeRemnants:
    """A corrected statement counts as purged once no archive and no living entry holds its words: a
    person has purged it by command, or deleted it from ``archive/`` by hand. Words that somebody
    overwrote in a file are purged with their entry."""

    _files: StoreFiles
    _state: SqliteStateStore
    _turns: SqliteTurnStore
    _loop_file: SqliteLoopFile
    _sleep_store: SqliteSleepStore
    _lexical: LexicalService
    _indexing: IndexingService
    _walks: Mapping[str, Callable[[Collection[str]], None]]
    """By path: what removes ids from the records of walks over memories. These block."""
    _vault: MarkdownVault
    _catalogue: Catalogue
    _note_book: NoteBook
    _living: RecallableMemories
    _corrected: Deeds
    _backup: NightlyBackup
    _notices: NoticeBoard
    _archived: list[Memory] = field(init=False, default_factory=list)
    _left: list[str] = field(init=False, default_factory=list)
    _sealed: int = field(init=False, default=0)

    async def run(self) -> SleepReport:
        """Count a statement as purged once a search finds it in no file of the store. A notice
        tells what is left, which is tried again the next night.

        Raises StateUnavailable.
        """
        self._left = []
        await asyncio.to_thread(self._files.remove_stale)
        await self._purge_archives()
        if purged := await self._purged():
            try:
                self._sealed += await self._clear(purged)
            except (OSError, StateUnavailable, TransferFailed) as error:
                self._left.append(str(error))
        else:
            left = self._left.copy()
            await self._clear_logs()
            if not self._corrected.unsealed():  # nothing waits for it
                self._left = left
        done, left = 0, self._left.copy()
        # What was sealed, perhaps before the last start, stands in the log until then.
        if await self._attempt(partial(asyncio.to_thread, self._state.checkpoint_wal), _STATE[0]):
            done, self._sealed = self._sealed, 0
        elif not self._sealed:
            self._left = left
        if done:
            logger.info("purged", count=done)
        self._tell_what_is_left()
        return SleepReport(purged=done)

    def _tell_what_is_left(self) -> None:
        if not self._left:
            self._notices.clear("purge_unfinished")
            return
        left = tuple(dict.fromkeys(self._left))
        logger.warning("purge_incomplete", left=left)
        params = {"detail": preview("; ".join(left), _DETAIL_CHARS)}
        self._notices.post(Notice("purge_unfinished", params=params))

    async def _clear(self, purged: Sequence[Deed]) -> int:
        """Take the statements out of every file. Seal those that no file has any more, but for the
        state's log. Returns how many."""
        named = (*self._archived, *(stored.memory for stored in self._catalogue.all()))
        gone = {one.memory_id for one in purged} - {memory.memory_id for memory in named}
        backups = PurgedBackups(purged, gone, self._corrected)
        await asyncio.to_thread(self._clear_queue, purged, gone)
        await self._clear_digests(purged, gone)
        self._left += await self._backup.change(backups.changed)
        async with self._living.writing:
            await asyncio.to_thread(self._clear_ledger, purged, gone)
        await asyncio.to_thread(self._sleep_store.forget, gone)
        await asyncio.to_thread(self._state.drop_uses, gone)
        await self._clear_logs()
        traces = await self._traces(purged, gone)
        found, unread = await self._search(traces)
        ours: dict[str, Callable[[], Awaitable[object]]] = {
            where: partial(asyncio.to_thread, forget, gone) for where, forget in self._walks.items()
        }
        ours[_VECTORS] = self._indexing.begin_anew
        holding = [where for where in ours if any(path.startswith(where) for path in found)]
        for where in holding:
            await self._attempt(ours[where], where)
        if holding:
            found, unread = await self._search(traces)
        may_be_left = bool(self._left or unread)
        self._left += [*found, *(f"{path}: {why}" for path, why in unread.items())]
        if may_be_left:
            return 0
        numbers = set[int]().union(*found.values())
        clean = [one for one in purged if one.number not in numbers]
        if clean:
            await self._corrected.seal(clean, gone)
            for scope, memory_id in self._corrected.unsealed():
                if memory_id in gone and any(one.memory_id == memory_id for one in clean):
                    await self._corrected.not_purged(scope, memory_id)
        return len(clean)

    async def _attempt(self, step: Callable[[], Awaitable[object]], where: str) -> bool:
        """Do a step, again where a file is busy: a backup program may read it. Returns False if it
        could not be done."""
        for pause in (*_PAUSES, 0.0):
            try:
                await step()
            except (IndexUnavailable, StateUnavailable) as error:
                if not pause:
                    self._left.append(f"{where}: {error}")
                await asyncio.sleep(pause)
            else:
                return True
        return False

    async def _clear_logs(self) -> None:
        """The log of a database holds what rows were before."""
        for where, file in (
            ("state/loop.sqlite", self._loop_file),
            ("state/vault.sqlite", self._vault.ledger),
        ):
            await self._attempt(partial(asyncio.to_thread, file.checkpoint_wal), where)
        await self._attempt(self._lexical.checkpoint_wal, "index/lexical.sqlite")
        await self._attempt(self._indexing.clear_traces, "index/embeddings.sqlite")

    async def _purge_archives(self) -> None:
        """Delete what a command could not delete from an archive."""
        living = {(s.scope.name, s.memory.memory_id) for s in self._catalogue.all()}
        for name, memory_id in self._corrected.unsealed():
            scope = self._vault.named(name)
            if scope is None or (name, memory_id) in living:  # a person has put it back
                await self._corrected.not_purged(name, memory_id)
                continue

            def is_it(memory: Memory, memory_id: str = memory_id) -> bool:
                return memory.memory_id == memory_id

            await self._purge_archive(scope, is_it, [memory_id])

    async def _purge_archive(
        self, scope: Scope, unwanted: Callable[[Memory], bool], memory_ids: Collection[str]
    ) -> None:
        async with self._living.writing:
            try:
                await asyncio.to_thread(self._vault.purge, scope, unwanted, memory_ids)
            except VaultWriteFailed as error:
                self._left.append(f"scopes/{scope.name}/archive/{error}")

    async def _purged(self) -> list[Deed]:
        asked = self._corrected.all_in_words()
        if not asked:
            return []
        try:
            self._archived, folders = await asyncio.to_thread(self._all_archived)
        except VaultFileBroken as error:  # it may hold any of them
            if self._corrected.unsealed():
                self._left.append(f"archive/{error}")
            return []
        living = (stored.memory for stored in self._catalogue.all())
        kept = {(one.memory_id, same_words(one.judgment)) for one in (*self._archived, *living)}
        # No archive ever held what a person overwrote in a file: it goes with its entry.
        there = {memory_id for memory_id, _ in kept}
        kept |= {_said(one) for one in asked if one.is_hand_edit and one.memory_id in there}
        # Nor a turn that is not read yet: unless it is to go for good, it may be wanted back.
        waiting = await asyncio.to_thread(self._waiting)
        kept |= {_said(one) for one in asked if one.memory_id in waiting}
        return [
            one
            for one in asked
            # A folder that is gone may be back tomorrow, with what was forgotten in it.
            if _said(one) not in kept and {one.scope, one.target or one.scope} <= folders
        ]

    def _waiting(self) -> set[str]:
        turns = self._turns
        queued = (turn for scope in turns.scopes() for turn in turns.of_scope(scope))
        purged = {memory_id for _, memory_id in self._corrected.unsealed()}
        return {unread_id(turn.ticket_id) for turn in queued} - purged

    def _all_archived(self) -> tuple[list[Memory], set[str]]:
        """Returns every archived entry, and the scopes that have a folder. Raises
        VaultFileBroken."""
        scopes = self._vault.scopes()
        archived = [memory for scope in scopes for memory in self._vault.all_archived(scope)]
        return archived, {scope.name for scope in scopes}

    def _clear_queue(self, purged: Sequence[Deed], gone: Collection[str]) -> None:
        for scope in sorted(self._turns.scopes()):
            here = [one for one in purged if scope in (one.scope, one.target)]
            named = {*gone, *(one.memory_id for one in here)}
            changed = []
            for turn in self._turns.of_scope(scope):
                cut = self._corrected.texts.turn_without(turn, here) if here else turn
                recalled = tuple(name for name in turn.recalled if name not in gone)
                # It is no copy of these any more.
                stored = tuple(name for name in turn.stored if name not in named)
                if (cut := replace(cut, recalled=recalled, stored=stored)) != turn:
                    changed.append(cut)
            self._turns.reword(changed)
            for batch in self._turns.batches():
                tells = here and self._corrected.texts.says(_plain(batch.reply), here)
                if batch.scope == scope and (tells or any(one in batch.reply for one in gone)):
                    # Without its reply it is read again, as its turns are now.
                    is_answered = batch.state == "answered"
                    state = "open" if is_answered else batch.state
                    self._turns.put_batch(replace(batch, state=state, reply=""))

    def _clear_ledger(self, purged: Sequence[Deed], gone: Collection[str]) -> None:
        """The ledger keeps how an entry was before the bot rewrote it."""
        ids = {one.memory_id for one in purged}
        ids |= {s.memory.memory_id for s in self._catalogue.all() if is_digest(s.memory)}
        ledger = self._vault.ledger
        priors = [entry for entry in ledger.entries_named(ids) if entry.prior is not None]
        ledger.record(
            entries=[
                replace(entry, prior=None, prior_digest="", rewritten_at=0.0) for entry in priors
            ]
        )
        ledger.forget(gone)

    async def _clear_digests(self, purged: Sequence[Deed], gone: Collection[str]) -> None:
        """A journal that faded stands in the archive with what it told of the day."""
        for scope in await asyncio.to_thread(self._vault.scopes):
            here = [one for one in purged if one.scope == scope.name]

            def tells(memory: Memory, here: Sequence[Deed] = here) -> bool:
                told = bool(here) and is_digest(memory)
                return told and self._corrected.texts.says(memory.judgment, here)

            await self._purge_archive(scope, tells, gone)

    async def _traces(self, purged: Sequence[Deed], gone: Collection[str]) -> Traces:
        """Returns what to look for. What others say as well may stay: living and archived entries,
        notes, and turns since."""
        memories = (*self._archived, *(stored.memory for stored in self._catalogue.all()))
        others = [one for one in memories if not is_digest(one)]
        texts = [note.text for note in self._note_book.all()]
        oldest, turns = min(one.at for one in purged), self._turns

        def made() -> Traces:
            queued = (turn for scope in turns.scopes() for turn in turns.of_scope(scope))
            since = (turn for turn in queued if turn.observed_at >= oldest)
            texts.extend(f"{turn.user_text}\n{turn.reply_text}" for turn in since)
            return Traces(purged, gone, others, texts)

        return await asyncio.to_thread(made)

    async def _search(self, traces: Traces) -> tuple[dict[str, set[int]], dict[str, str]]:
        """Search every file but the state's. Returns by path the numbers of what was found, and why
        a file could not be read."""
        stopped = threading.Event()
        search = asyncio.to_thread(self._files.search, traces.in_pieces, stopped)
        found, unread = await shielded(search, on_cancel=stopped.set)
        return {path: some for path, some in found.items() if path not in _STATE}, unread


def _said(one: Deed) -> tuple[str, str]:
    return one.memory_id, same_words(one.words)


def _plain(reply: str) -> str:
    """A model may have written its words as escapes."""
    try:
        return json.dumps(json.loads(reply), ensure_ascii=False)
    except ValueError:
        return reply
