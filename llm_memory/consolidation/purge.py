"""Takes the words and the ids of purged memories out of our files: archives, the queue of turns,
the ledger, indexes, the logs of databases, nightly backups. A plain search of these files tells
whether anything is left. Copies that an owner made are the owner's, and are not looked at."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.timeline import is_digest
from ..errors import ScopedMemoryError
from ..index.indexing_service import IndexingService
from ..index.lexical_service import LexicalService
from ..log import logger
from ..models.data_models import Memory, StoredMemory
from ..models.deeds import Deed
from ..models.passages import Key
from ..models.status import Notice
from ..models.turns import QueuedTurn
from ..reflection.turn_store import SqliteTurnStore
from ..remember.deeds import Deeds
from ..remember.rules.corrected import unread_id
from ..runtime.cooperative import cooperative
from ..runtime.notice_board import NoticeBoard
from ..runtime.shielded import shielded
from ..storage.loop_facts import SqliteLoopFacts
from ..storage.loop_file import SqliteLoopFile
from ..storage.state_store import SqliteStateStore
from ..storage.store_files import StoreFiles
from ..text.normalising import preview, same_words
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.note_book import NoteBook
from .backup import Backup
from .report import SleepReport
from .traces import Traces

_FAILURES: Final = (OSError, ScopedMemoryError)
_PAUSES: Final = (0.1, 0.3, 0.6, 0.0)
"""Seconds after a try at a file that another program has open."""
_DETAIL_CHARS: Final = 300
_STATE: Final = ("state/state.sqlite", "state/state.sqlite-wal")
"""They have the words that are looked for until those are sealed."""

type Step = Callable[[], object]
"""Takes the statements out of one of our files. Blocks, or returns what is to be awaited; is
idempotent."""


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
    _loop_book: SqliteLoopFacts
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

    async def run(self) -> SleepReport:
        """Returns how many statements are in none of our files any more. A notice tells what is
        left."""
        self._left, done = [], 0
        for name, memory_id in self._corrected.unsealed():
            if self._catalogue.get(Key(name, memory_id)):  # a person has put it back
                await self._corrected.not_purged(name, memory_id)
        waits, living = bool(self._corrected.unsealed()), list(self._catalogue.all())
        try:
            purged, kept = await asyncio.to_thread(self._purged, living)
            if waits := waits or bool(purged):
                done = await self._take_out(purged, kept)
            await self._do(self._logs)
        except _FAILURES as error:
            self._left.append(str(error))
        if left := "; ".join(dict.fromkeys(self._left)) if waits else "":
            logger.warning("purge_incomplete", left=left)
            params = {"detail": preview(left, _DETAIL_CHARS)}
            self._notices.post(Notice("purge_unfinished", params=params))
        else:
            self._notices.clear("purge_unfinished")
        return SleepReport(purged=done)

    def _purged(self, living: Sequence[StoredMemory]) -> tuple[list[Deed], list[Memory]]:
        """Returns the statements that no entry needs any more, and the entries that stay. Raises
        VaultFileBroken for an archive that may hold any."""
        asked, for_good = self._corrected.all_in_words(), set(self._corrected.unsealed())
        kept, folders = [stored.memory for stored in living], set[str]()
        for scope in self._vault.scopes() if asked or for_good else ():
            archived = self._vault.all_archived(scope)
            kept += [one for one in archived if (scope.name, one.memory_id) not in for_good]
            folders.add(scope.name)
        there = {one.memory_id for one in kept}
        needed = {(one.memory_id, same_words(one.judgment)) for one in cooperative(kept) if asked}
        # A turn that is not read yet may be wanted back, unless it is to go for good.
        waiting = {unread_id(turn.ticket_id) for turn in self._queued() if asked}
        waiting -= {memory_id for _, memory_id in for_good}
        purged = [
            one
            for one in asked
            if (one.memory_id, same_words(one.words)) not in needed
            # No archive ever held what a person overwrote in a file: it goes with its entry.
            and not (one.is_hand_edit and one.memory_id in there)
            and one.memory_id not in waiting
            # A folder that is gone may be back tomorrow, with what was forgotten in it.
            and {one.scope, one.target or one.scope} <= folders
        ]
        return purged, kept

    def _queued(self) -> Iterator[QueuedTurn]:
        for scope in sorted(self._turns.scopes()):
            yield from self._turns.of_scope(scope)

    async def _take_out(self, purged: Sequence[Deed], kept: Sequence[Memory]) -> int:
        """Take the statements out of every file, and seal those that no file has any more. Returns
        how many."""
        gone = {one.memory_id for one in purged} - {memory.memory_id for memory in kept}
        traces = await asyncio.to_thread(self._traces, purged, gone, kept)
        async with self._living.writing:
            await self._do(
                {
                    "archive/": partial(self._clear_archives, traces, gone),
                    "state/loop.sqlite": partial(self._clear_queue, purged, gone),
                    "state/loop.sqlite:evidence": partial(self._loop_book.forget_evidence, gone),
                    "state/state.sqlite": partial(self._state.drop_uses, gone),
                    "state/vault.sqlite": partial(self._vault.ledger.forget, gone),
                }
            )
        self._left += await asyncio.to_thread(self._backup.rewrite, traces.cut)
        await self._do(self._logs)
        found = await self._searched(traces)
        # What may not be open, or is slow to build, is made anew where it has an id.
        anew: dict[str, Step] = {name: partial(step, gone) for name, step in self._walks.items()}
        anew["index/chroma/"] = self._indexing.begin_anew
        holding = [where for where in anew if any(path.startswith(where) for path in found)]
        if holding:
            await self._do({where: anew[where] for where in holding})
            found = await self._searched(traces)
        if traces.uncut:
            found["backups/daily/"] = traces.uncut
        numbers = set[int]().union(*found.values())
        clean = [one for one in purged if one.number not in numbers and not self._left]
        self._left += found
        if clean:
            await self._corrected.seal(clean, gone)
            sealed = gone & {one.memory_id for one in clean}
            for scope, memory_id in self._corrected.unsealed():
                if memory_id in sealed:
                    await self._corrected.not_purged(scope, memory_id)
        return len(clean)

    def _traces(self, purged: Sequence[Deed], gone: set[str], kept: Sequence[Memory]) -> Traces:
        """What others say as well may stay: living and archived entries, notes, and turns since."""
        texts = [note.text for note in self._note_book.all()]
        since = (turn for turn in self._queued() if any(turn.observed_at >= d.at for d in purged))
        texts.extend(f"{turn.user_text}\n{turn.reply_text}" for turn in since)
        return Traces(purged, gone, [one for one in kept if not is_digest(one)], texts)

    async def _do(self, steps: Mapping[str, Step]) -> None:
        """Do each step, again where a file is busy: a backup program may read it."""
        for where, step in steps.items():
            for pause in _PAUSES:
                try:
                    done = await asyncio.to_thread(step)
                    if inspect.isawaitable(done):
                        await done
                    break
                except _FAILURES as error:
                    if not pause:
                        self._left.append(f"{where}: {error}")
                    await asyncio.sleep(pause)

    @cached_property
    def _logs(self) -> Mapping[str, Step]:
        """The log of a database holds what rows were before."""
        return {
            "state/loop.sqlite": self._loop_file.checkpoint_wal,
            "state/state.sqlite": self._state.checkpoint_wal,
            "state/vault.sqlite": self._vault.ledger.checkpoint_wal,
            "index/lexical.sqlite": self._lexical.checkpoint_wal,
            "index/embeddings.sqlite": self._indexing.clear_traces,
        }

    async def _searched(self, traces: Traces) -> dict[str, set[int]]:
        """Returns by path the statements that are left in our files."""
        found, unread = await shielded(asyncio.to_thread(self._files.search, traces.found))
        self._left += [f"{path}: {why}" for path, why in unread.items()]
        return {path: some for path, some in found.items() if path not in _STATE}

    def _clear_archives(self, traces: Traces, gone: Collection[str]) -> None:
        """Delete what a command could not delete there, and journals of an earlier version."""
        for_good = set(self._corrected.unsealed())

        def unwanted(memory: Memory, scope: str) -> bool:
            return (scope, memory.memory_id) in for_good or traces.is_gone(memory)

        for scope in self._vault.scopes():
            self._vault.purge(scope, partial(unwanted, scope=scope.name), gone)

    def _clear_queue(self, purged: Sequence[Deed], gone: Collection[str]) -> None:
        for scope in self._turns.scopes():
            here = [one for one in purged if scope in (one.scope, one.target)]
            named = {*gone, *(one.memory_id for one in here)}
            turns = self._turns.of_scope(scope)
            cut = [self._cut(turn, here, named) for turn in turns]
            self._turns.reword([now for now, was in zip(cut, turns, strict=True) if now != was])
        # They may say any of it in other words: their turns are read again, as they are now.
        self._turns.release(dead=False)

    def _cut(self, turn: QueuedTurn, purged: Sequence[Deed], named: Collection[str]) -> QueuedTurn:
        turn = self._corrected.texts.turn_without(turn, purged)
        recalled, stored = (
            tuple(one for one in ids if one not in named) for ids in (turn.recalled, turn.stored)
        )
        return replace(turn, recalled=recalled, stored=stored)
