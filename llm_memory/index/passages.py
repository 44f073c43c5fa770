"""Memories and pieces of notes together: what an index is kept equal to, and the last word on what
exists, whatever an index tells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import date, tzinfo
from itertools import chain

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.pointers import is_note_id
from ..catalogue.unread_turns import UnreadTurns
from ..models.data_models import StoredMemory, Topic
from ..models.passages import Key, NoteChunk, Passage
from ..models.scope import ScopeFilter
from ..vault.notes.note_book import NoteBook
from .pending_records import PendingRecords


class Passages:
    """The catalogue and the note book behind one door. Their keys never meet: ids of memories begin
    with ``m-``, those of notes with ``n-``. Touched from the event loop only.

    ``pending``: what is recalled while it waits to enter the vault. An index of vectors is not told
    of it: it begins when it lives. ``unread``: what was said and is not read yet. An index of words
    is not told of it. An index is kept equal to the passages that it is given.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        notes: NoteBook,
        pending: PendingRecords | None = None,
        unread: UnreadTurns | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._notes = notes
        self._pending = PendingRecords(catalogue) if pending is None else pending
        self._unread = UnreadTurns() if unread is None else unread

    def __len__(self) -> int:
        """How many there are, in all places."""
        memories = len(self._catalogue) + len(self._pending) + len(self._unread)
        return memories + len(self._notes)

    def get(self, key: Key) -> Passage | None:
        """By place and id."""
        known = self._catalogue.at(key) or self._notes.get(key) or self._pending.get(key)
        return known or self._unread.get(key)

    def all(self) -> Iterator[Passage]:
        """Every one of every place: for an index, never for a reader."""
        waiting = chain(self._pending.all(), self._unread.all())
        return chain(self._catalogue.all(), self._notes.all(), waiting)

    def notes(self) -> Iterator[Passage]:
        """Every piece of a note."""
        return self._notes.all()

    def visible_notes(self, scope_filter: ScopeFilter) -> Iterator[Passage]:
        """Every piece of a note that the filter admits, the reader's own scope first."""
        return self._notes.visible(scope_filter)

    def record(self, proposal: str, scope_filter: ScopeFilter) -> NoteChunk | None:
        """Where the record of a proposal begins, by its key, if the filter admits it."""
        return self._notes.record(proposal, scope_filter)

    def gone(self, keys: Iterable[Key]) -> list[Key]:
        """Those of an index's keys that nothing lives under. Of notes nobody knows before they were
        read for the first time."""
        known = self._notes.scanned
        return [
            key
            for key in keys
            if self.get(key) is None and (known or not is_note_id(key.memory_id))
        ]

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
        return self._unread.get(key_of(passage)) is not None

    def copied(self, passage: Passage) -> frozenset[str]:
        """The ids of what was stored of a turn that is not read yet."""
        return self._unread.copied(key_of(passage))

    def of_topics(
        self, topics: Collection[Topic], scope_filter: ScopeFilter
    ) -> Iterator[StoredMemory]:
        """The visible memories in the files of topics; see the catalogue."""
        return self._catalogue.of_topics(topics, scope_filter)

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
        await self._pending.ahead(query, scope_filter)

    def folded(self, passage: Passage) -> str:
        """What it says, ready to be looked through for words."""
        if isinstance(passage, NoteChunk):
            return self._notes.folded(passage)
        known = self._catalogue.folded(passage) or self._pending.folded(passage)
        return known or self._unread.folded(passage)
