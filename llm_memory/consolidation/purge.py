"""Takes the words and the ids of purged memories out of our files: archives, the queue of turns,
the ledger, indexes, the logs of databases, nightly backups. A plain search of these files tells
whether anything is left. Copies that an owner made are the owner's, and are not looked at."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.timeline import is_digest
from ..errors import ScopedMemoryError
from ..index.semantic import Semantic
from ..index.word_index import WordIndex
from ..models.data_models import Memory, StoredMemory
from ..models.deeds import Deed
from ..models.passages import Key
from ..models.status import Notice
from ..models.turns import QueuedTurn
from ..models.vault_layout import is_other_version, is_page
from ..reflection.turn_store import SqliteTurnStore
from ..remember.deeds import Deeds
from ..remember.rules.corrected import unread_id
from ..runtime.cooperative import cooperative
from ..runtime.lifecycle import shielded
from ..runtime.notice_board import NoticeBoard
from ..storage.loop_file import SqliteLoopFacts, SqliteLoopFile
from ..storage.state_store import SqliteStateStore
from ..storage.store_files import StoreFiles
from ..text.normalising import preview, same_words
from ..vault.archive import any_of
from ..vault.markdown.entry import render
from ..vault.markdown.escaping import escape_body, escape_inline
from ..vault.markdown.topic_file import parse_file
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.note_book import NoteBook
from .backup import Backup
from .report import SleepReport

_AGAIN_SECONDS: Final = 3.0
"""Then all is tried once more: an index may be writing, a backup program reading."""
_DETAIL_CHARS: Final = 300
_STATE: Final = ("state/state.sqlite", "state/state.sqlite-wal")
"""They have the words that are looked for until those are sealed."""
_CHROMA: Final = "index/chroma/"


@dataclass(eq=False)
class Purge:
    """A corrected statement is purged once no archive and no living entry holds its words: a person
    has purged it by command, or deleted it from ``archive/`` by hand. Words that somebody overwrote
    in a file are purged with their entry. Keyed hashes take the place of the words last, and of all
    together: while anything is left it is named, and all is tried again the next night."""

    _files: StoreFiles
    _state: SqliteStateStore
    _turns: SqliteTurnStore
    _loop_file: SqliteLoopFile
    _loop_book: SqliteLoopFacts
    _lexical: WordIndex
    _indexing: Semantic
    _walks: Mapping[str, Callable[[set[str]], None]]
    """By path: what removes ids from the records of walks over memories. These block."""
    _vault: MarkdownVault
    _catalogue: Catalogue
    _note_book: NoteBook
    _living: RecallableMemories
    _corrected: Deeds
    _backup: Backup
    _notices: NoticeBoard

    async def run(self) -> SleepReport:
        """Returns how many statements are in none of our files any more. A notice tells what is
        left. Raises VaultFileBroken for an archive that may hold any, StateUnavailable."""
        for name, memory_id in self._corrected.unsealed():
            if self._catalogue.get(Key(name, memory_id)):  # a person has put it back
                await self._corrected.not_purged(name, memory_id)
        notes = [note.text for note in self._note_book.all()]
        traces = await asyncio.to_thread(self._traces, list(self._catalogue.all()), notes)
        left = list[str]()
        if traces.deeds:
            there = await asyncio.to_thread(self._files.search, lambda _: True)
            left = await self._taken_out(traces, there)
        if left:
            await asyncio.sleep(_AGAIN_SECONDS)
            left = await self._taken_out(traces, left)
        purged = 0 if left else len(traces.deeds)
        if not left:
            await self._corrected.seal(traces.deeds, traces.ids)
            written = await self._done(self._logs)
            left = written if purged else []
        if left:
            detail = preview("; ".join(left), _DETAIL_CHARS)
            self._notices.post(Notice("purge_unfinished", params={"detail": detail}))
        else:
            self._notices.clear("purge_unfinished")
        return SleepReport(purged=purged)

    def _traces(self, living: Sequence[StoredMemory], notes: Sequence[str]) -> Traces:
        """Returns those of the statements that no entry needs any more. What others say as well may
        stay: living and archived entries, notes, and turns since."""
        asked = self._corrected.all_in_words()
        if not asked:
            return Traces((), set(), ())
        folders, turns = {scope.name for scope in self._vault.scopes()}, self._queued()
        for_good = {memory_id for _, memory_id in self._corrected.unsealed()}
        archived = (m for m in self._vault.archived_anywhere() if m.memory_id not in for_good)
        kept = [*(stored.memory for stored in living), *archived]
        there = {one.memory_id for one in kept}
        needed = {(one.memory_id, same_words(one.judgment)) for one in cooperative(kept)}
        # A turn that is not read yet may be wanted back, unless it is to go for good.
        waiting = {unread_id(turn.ticket_id) for turn in turns} - for_good
        deeds = [
            one
            for one in asked
            if (one.memory_id, same_words(one.words)) not in needed
            # No archive ever held what a person overwrote in a file: it goes with its entry.
            and not (one.is_hand_edit and one.memory_id in there)
            and one.memory_id not in waiting
            # A folder that is gone may be back tomorrow, with what was forgotten in it.
            and {one.scope, one.target or one.scope} <= folders
        ]
        since = [t for t in turns if any(t.observed_at >= one.at for one in deeds)]
        others = chain(
            (render(one) for one in kept if not is_digest(one)),
            notes,
            (text for turn in since for text in (turn.user_text, turn.reply_text)),
        )
        return Traces(deeds, {one.memory_id for one in deeds} - there, others)

    def _queued(self) -> list[QueuedTurn]:
        return [turn for scope in self._turns.scopes() for turn in self._turns.of_scope(scope)]

    async def _taken_out(self, traces: Traces, found: Sequence[str]) -> list[str]:
        """Take the statements out of every file. Returns what is left, by file. ``found``: which
        files may hold any. Nothing can be looked for in vectors: they are all written anew."""
        async with self._living.writing:
            left = await self._done(
                {
                    "archive/": partial(self._clear_archives, traces),
                    "state/loop.sqlite": partial(self._clear_loop, traces),
                    "state/state.sqlite": partial(self._state.drop_uses, traces.ids),
                    "state/vault.sqlite": partial(self._vault.ledger.forget, traces.ids),
                    **{where: partial(walk, traces.ids) for where, walk in self._walks.items()},
                }
            )
        left += await asyncio.to_thread(self._backup.rewrite, traces.cut)
        left += ["backups/daily/"] * traces.uncut
        left += await self._done(self._logs)
        if any(path.startswith(_CHROMA) for path in found):
            left += await self._done({_CHROMA: self._indexing.clear_traces})
        left += await shielded(asyncio.to_thread(self._files.search, traces.are_in))
        return [path for path in left if path not in _STATE]

    async def _done(self, steps: Mapping[str, Callable[[], object]]) -> list[str]:
        """Do each step: it blocks, or returns what is to be awaited, and may be done again. Returns
        which failed, and why."""
        failed = []
        for where, step in steps.items():
            try:
                done = await asyncio.to_thread(step)
                if inspect.isawaitable(done):
                    await done
            except (OSError, ScopedMemoryError) as error:
                failed.append(f"{where}: {error}")
        return failed

    @cached_property
    def _logs(self) -> Mapping[str, Callable[[], object]]:
        """The log of a database holds what rows were before."""
        return {
            "state/loop.sqlite": self._loop_file.checkpoint_wal,
            "state/state.sqlite": self._state.checkpoint_wal,
            "state/vault.sqlite": self._vault.ledger.checkpoint_wal,
            "index/words.sqlite": self._lexical.clear_traces,
        }

    def _clear_archives(self, traces: Traces) -> None:
        """Delete what a command could not delete there, and journals of an earlier version."""
        for scope in self._vault.scopes():
            self._vault.purge(scope, traces.is_gone, traces.ids)

    def _clear_loop(self, traces: Traces) -> None:
        turns = [(turn, self._without(turn, traces)) for turn in self._queued()]
        self._turns.reword([now for was, now in turns if now != was])
        # They may say any of it in other words: their turns are read again, as they are now.
        self._turns.release(dead=False)
        self._loop_book.forget_evidence(traces.ids)

    def _without(self, turn: QueuedTurn, traces: Traces) -> QueuedTurn:
        here = [one for one in traces.deeds if turn.scope in (one.scope, one.target)]
        recalled, stored = (
            tuple(one for one in ids if one not in traces.ids)
            for ids in (turn.recalled, turn.stored)
        )
        cut = self._corrected.texts.turn_without(turn, here)
        return replace(cut, recalled=recalled, stored=stored)


@dataclass(eq=False)
class Traces:
    """What purged statements leave in our files: their ids, and their words, unless somebody else
    says them as well. It is looked for who does only where words were found."""

    deeds: Sequence[Deed]
    ids: set[str]
    """Those that no entry has any more."""
    others: Iterable[str]
    """Where else the words may stand: other entries, notes, and turns since."""
    uncut: bool = False
    """``cut`` has left something."""

    def __post_init__(self) -> None:
        self._named = any_of(self.ids)
        self._said = {(one.memory_id, same_words(one.words)) for one in self.deeds}
        self._forms = {
            form.encode(): one.words
            for one in self.deeds
            for form in (one.words, escape_inline(one.words), escape_body(one.words))
        }

    def are_in(self, pieces: Iterable[bytes]) -> bool:
        """Returns whether any is in a content, which is given in pieces that overlap."""
        return any(
            self._named.search(piece) or any(one not in self._also for one in self._words_in(piece))
            for piece in pieces
        )

    def _words_in(self, piece: bytes) -> set[str]:
        return {words for form, words in self._forms.items() if form in piece}

    @cached_property
    def _also(self) -> set[str]:
        """What others say as well."""
        wanted, texts = self._forms.values(), cooperative(self.others)
        return {words for text in texts for words in wanted if words in text}

    def is_gone(self, memory: Memory) -> bool:
        """Returns True for an archived entry that is purged, and for a journal that repeats it."""
        name, words = memory.memory_id, memory.judgment
        repeats = is_digest(memory) and bool(self._words_in(words.encode()))
        return repeats or name in self.ids or (name, same_words(words)) in self._said

    def cut(self, path: str, content: bytes) -> bytes:
        """Returns what is left of a file of a tree."""
        if not self._named.search(content) and not self._words_in(content):
            return content
        text = content.decode(errors="surrogateescape")
        file = parse_file(text, fallback_time=datetime.fromtimestamp(0, UTC))
        text = file.without(*(entry for entry in file.entries if self.is_gone(entry.memory)))
        left = self._named.sub(b"m-", text.encode(errors="surrogateescape"))
        if is_page(path) or is_other_version(path):
            lines = left.splitlines(keepends=True)
            left = b"".join(line for line in lines if not self._words_in(line))
        self.uncut = self.uncut or self.are_in([left])
        return left
