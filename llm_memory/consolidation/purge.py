"""Takes the words and the ids of purged memories out of our files: archives, the queue of turns,
the ledger, indexes, the logs of databases, nightly backups. A plain search of these files tells
whether anything is left. Copies that an owner made are the owner's, and are not looked at."""

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
from .backup import Backup
from .report import SleepReport
from .rules.traces import Traces
from .sleep_store import SqliteSleepStore

_VECTORS: Final = "index/chroma/"
_PAUSES: Final = (0.1, 0.3, 0.6, 0.0)
"""Seconds after a try at a file that another program has open."""
_DETAIL_CHARS: Final = 300
_STATE: Final = ("state/state.sqlite", "state/state.sqlite-wal")
"""They have the words that are looked for until those are sealed."""


@dataclass(eq=False)
class Purge:
    """A corrected statement is purged once no archive and no living entry holds its words: a person
    has purged it by command, or deleted it from ``archive/`` by hand. Words that somebody overwrote
    in a file are purged with their entry. Keyed hashes take the place of the words last, so that
    what could not be done is named, and tried again the next night."""

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
    _backup: Backup
    _notices: NoticeBoard
    _left: list[str] = field(init=False, default_factory=list)
    """What could not be done this time, by file."""
    _sealed: int = field(init=False, default=0)
    """Statements that may still stand in the log of the state's file."""

    async def run(self) -> SleepReport:
        """Returns how many statements are in none of our files any more. A notice tells what is
        left. Raises StateUnavailable."""
        self._left = []
        await asyncio.to_thread(self._files.remove_stale)
        await self._purge_archives()
        waits = bool(self._corrected.unsealed())
        try:
            kept, folders = await asyncio.to_thread(self._archived)
            kept += [stored.memory for stored in self._catalogue.all()]
            if purged := await asyncio.to_thread(self._purged, kept, folders):
                waits = True
                await self._clear(purged, kept)
            else:
                await self._clear_logs()
        except VaultFileBroken as error:  # it may hold any of them
            self._left.append(f"archive/{error}")
        except (OSError, StateUnavailable, TransferFailed) as error:
            self._left.append(str(error))
        done, waits = 0, waits or self._sealed > 0
        if await self._attempt(partial(asyncio.to_thread, self._state.checkpoint_wal), _STATE[0]):
            done, self._sealed = self._sealed, 0
        if done:
            logger.info("purged", count=done)
        self._tell(tuple(dict.fromkeys(self._left)) if waits else ())
        return SleepReport(purged=done)

    def _tell(self, left: Sequence[str]) -> None:
        if not left:
            self._notices.clear("purge_unfinished")
            return
        logger.warning("purge_incomplete", left=left)
        params = {"detail": preview("; ".join(left), _DETAIL_CHARS)}
        self._notices.post(Notice("purge_unfinished", params=params))

    def _archived(self) -> tuple[list[Memory], set[str]]:
        """Returns every archived entry, and the scopes that have a folder: one that is gone may be
        back tomorrow, with what was forgotten in it. Raises VaultFileBroken."""
        if not self._corrected.all_in_words():
            return [], set()
        scopes = self._vault.scopes()
        archived = [memory for scope in scopes for memory in self._vault.all_archived(scope)]
        return archived, {scope.name for scope in scopes}

    def _purged(self, kept: Sequence[Memory], folders: Collection[str]) -> list[Deed]:
        """Returns the statements that none of the ``kept`` entries needs any more."""
        asked = self._corrected.all_in_words()
        there = {one.memory_id for one in kept}
        needed = {(one.memory_id, same_words(one.judgment)) for one in kept}
        # A turn that is not read yet may be wanted back, unless it is to go for good.
        queued = (turn for scope in self._turns.scopes() for turn in self._turns.of_scope(scope))
        for_good = {memory_id for _, memory_id in self._corrected.unsealed()}
        waiting = {unread_id(turn.ticket_id) for turn in queued} - for_good if asked else set()
        return [
            one
            for one in asked
            if (one.memory_id, same_words(one.words)) not in needed
            # No archive ever held what a person overwrote in a file: it goes with its entry.
            and not (one.is_hand_edit and one.memory_id in there)
            and one.memory_id not in waiting
            and {one.scope, one.target or one.scope} <= folders
        ]

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

    async def _clear(self, purged: Sequence[Deed], kept: Sequence[Memory]) -> None:
        """Take the statements out of every file, and seal those that no file has any more, but for
        the state's log."""
        gone = {one.memory_id for one in purged} - {memory.memory_id for memory in kept}
        traces = await asyncio.to_thread(self._traces, purged, gone, kept)
        found: dict[str, set[int]] = {}

        def cut(path: str, content: bytes) -> bytes | None:
            now = traces.cut(path, content)
            if now and (some := traces.found(lambda: (now,))):
                found["backups/daily/"] = found.get("backups/daily/", set()) | some
            return now

        await asyncio.to_thread(self._clear_queue, purged, gone)
        await self._clear_digests(purged, gone)
        self._left += await self._backup.rewrite(cut)
        async with self._living.writing:
            await asyncio.to_thread(self._clear_ledger, purged, gone)
        await asyncio.to_thread(self._sleep_store.forget, gone)
        await asyncio.to_thread(self._state.drop_uses, gone)
        await self._clear_logs()
        found |= await self._searched(traces, gone)
        is_unknown = bool(self._left)
        self._left = [*found, *self._left]
        if is_unknown:
            return
        numbers = set[int]().union(*found.values())
        if clean := [one for one in purged if one.number not in numbers]:
            await self._corrected.seal(clean, gone)
            sealed = {one.memory_id for one in clean} & gone
            for scope, memory_id in self._corrected.unsealed():
                if memory_id in sealed:
                    await self._corrected.not_purged(scope, memory_id)
        self._sealed += len(clean)

    def _traces(self, purged: Sequence[Deed], gone: set[str], kept: Sequence[Memory]) -> Traces:
        """What others say as well may stay: living and archived entries, notes, and turns since."""
        texts = [note.text for note in self._note_book.all()]
        oldest = min(one.at for one in purged)
        queued = (turn for scope in self._turns.scopes() for turn in self._turns.of_scope(scope))
        since = (turn for turn in queued if turn.observed_at >= oldest)
        texts.extend(f"{turn.user_text}\n{turn.reply_text}" for turn in since)
        others = [one for one in kept if not is_digest(one)]
        return Traces(
            purged, gone, others, texts, partial(self._corrected.texts.says, purged=purged)
        )

    async def _searched(self, traces: Traces, gone: Collection[str]) -> dict[str, set[int]]:
        """Returns by path the statements that are left in our files, when those that hold ids were
        made anew without them."""
        found = await self._search(traces)
        anew: dict[str, Callable[[], Awaitable[object]]] = {
            where: partial(asyncio.to_thread, forget, gone) for where, forget in self._walks.items()
        }
        anew[_VECTORS] = self._indexing.begin_anew
        holding = [where for where in anew if any(path.startswith(where) for path in found)]
        for where in holding:
            await self._attempt(anew[where], where)
        found = await self._search(traces) if holding else found
        return {path: some for path, some in found.items() if path not in _STATE}

    async def _search(self, traces: Traces) -> dict[str, set[int]]:
        stopped = threading.Event()
        search = asyncio.to_thread(self._files.search, traces.found, stopped)
        found, unread = await shielded(search, on_cancel=stopped.set)
        self._left += [f"{path}: {why}" for path, why in unread.items()]
        return found

    async def _attempt(self, step: Callable[[], Awaitable[object]], where: str) -> bool:
        """Do a step, again where a file is busy: a backup program may read it. Returns False if it
        could not be done."""
        for pause in _PAUSES:
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
        for where, clear in (
            ("state/loop.sqlite", partial(asyncio.to_thread, self._loop_file.checkpoint_wal)),
            ("state/vault.sqlite", partial(asyncio.to_thread, self._vault.ledger.checkpoint_wal)),
            ("index/lexical.sqlite", self._lexical.checkpoint_wal),
            ("index/embeddings.sqlite", self._indexing.clear_traces),
        ):
            await self._attempt(clear, where)

    def _clear_queue(self, purged: Sequence[Deed], gone: Collection[str]) -> None:
        texts = self._corrected.texts
        for scope in sorted(self._turns.scopes()):
            here = [one for one in purged if scope in (one.scope, one.target)]
            named = {*gone, *(one.memory_id for one in here)}
            changed = []
            for turn in self._turns.of_scope(scope):
                cut = texts.turn_without(turn, here) if here else turn
                recalled = tuple(name for name in turn.recalled if name not in gone)
                # It is no copy of these any more.
                stored = tuple(name for name in turn.stored if name not in named)
                if (cut := replace(cut, recalled=recalled, stored=stored)) != turn:
                    changed.append(cut)
            self._turns.reword(changed)
            for batch in self._turns.batches():
                tells = here and texts.says(_plain(batch.reply), here)
                if batch.scope == scope and (tells or any(one in batch.reply for one in gone)):
                    # Without its reply it is read again, as its turns are now.
                    self._turns.keep_reply(replace(batch, reply=""))

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


def _plain(reply: str) -> str:
    """A model may have written its words as escapes."""
    try:
        return json.dumps(json.loads(reply), ensure_ascii=False)
    except ValueError:
        return reply
