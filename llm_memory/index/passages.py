"""Memories, pieces of notes, and what is recalled before it stands in the vault, behind one door:
what an index is kept equal to, and the last word on what exists, whatever an index tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, tzinfo
from itertools import chain

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.pointers import is_note_id
from ..catalogue.unread_turns import UnreadTurns
from ..models.data_models import StoredMemory
from ..models.passages import Key, NoteChunk, Passage
from ..models.scope import ScopeFilter
from ..text.normalising import embedded_text
from ..text.scripts import fold
from ..vault.notes.note_book import NoteBook
from .pending_records import PendingRecords


@dataclass(frozen=True)
class Passages:
    """Keys of the two kinds never meet: ids of memories begin with ``m-``, those of notes with
    ``n-``. Touched from the event loop only.

    ``_pending``: what is recalled while it waits to enter the vault; an index of vectors is given
    none of it, for it is embedded when it lives. ``_unread``: what was said and is not read yet.
    """

    _catalogue: Catalogue
    _notes: NoteBook
    _pending: PendingRecords
    _unread: UnreadTurns

    @property
    def sources(self) -> tuple[NoteBook, PendingRecords, UnreadTurns]:
        """Who tells an index of changes, beside ``RecallableMemories``."""
        return self._notes, self._pending, self._unread

    def get(self, key: Key) -> Passage | None:
        """By place and id."""
        known = self._catalogue.at(key) or self._notes.get(key) or self._pending.get(key)
        return known or self._unread.get(key)

    def all(self) -> Iterator[Passage]:
        """Every one of every place: for an index, never for a reader."""
        waiting = chain(self._pending.all(), self._unread.all())
        return chain(self._catalogue.all(), self._notes.all(), waiting)

    def is_followed(self, passage: Passage) -> bool:
        """Whether an index should hold it: a turn also while it is hidden and not told to be."""
        key = key_of(passage)
        return self.get(key) is passage or self._unread.followed(key) is passage

    @property
    def are_whole(self) -> bool:
        """Whether notes were read, too."""
        return self._notes.scanned

    def is_gone(self, key: Key) -> bool:
        """Whether nothing lives there. Of notes nobody knows before they were read for the first
        time."""
        return (self.are_whole or not is_note_id(key.memory_id)) and self.get(key) is None

    def record(self, proposal: str, scope_filter: ScopeFilter) -> NoteChunk | None:
        """Where the record of a proposal begins, by its key, if the filter admits it."""
        return self._notes.record(proposal, scope_filter)

    def visible(self, scope_filter: ScopeFilter) -> Iterator[Passage]:
        """Everything that the filter admits: memories first, of each the reader's own scope."""
        return chain(
            self._catalogue.visible(scope_filter),
            self._notes.visible(scope_filter),
            self._pending.visible(scope_filter),
            self._unread.visible(scope_filter),
        )

    def is_unread(self, passage: Passage) -> bool:
        """Whether it was said and is not read yet."""
        return self._unread.waiting(key_of(passage)) is not None

    def copied(self, passage: Passage) -> frozenset[str]:
        """The ids of what was stored of a turn that is not read yet."""
        return self._unread.copied(key_of(passage))

    def of_days(
        self,
        first: date,
        last: date,
        scope_filter: ScopeFilter,
        zone: tzinfo | None,
        most: int = 1000,
    ) -> Iterator[StoredMemory]:
        """What tells a day: what was remembered on those from ``first`` to ``last``, see the
        catalogue, then what was said on them and is not read yet."""
        days = first, last, scope_filter, zone, most
        return chain(self._catalogue.of_days(*days), self._unread.of_days(*days))

    async def ahead(self, query: str, scope_filter: ScopeFilter) -> None:
        """Before a question: have what could answer it and was not read yet."""
        if (look := self._pending.look) is not None:
            await look(query, scope_filter)

    def folded(self, passage: Passage) -> str:
        """What it says, ready to be looked through for words."""
        if isinstance(passage, NoteChunk):
            return self._notes.folded(passage)
        known = self._catalogue.folded(passage) or self._unread.folded(passage)
        return known or fold(embedded_text(passage.memory))
