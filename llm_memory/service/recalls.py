"""What a conversation reads: recall and its explanation, what a pointer points to, lists."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.pointers import is_note_id, pointed_id
from ..catalogue.unread_turns import UnreadTurns
from ..index.pending_records import PendingRecords
from ..models.conversation import Actor
from ..models.data_models import StoredMemory
from ..models.recall import (
    OFF_THE_RECORD,
    Expanded,
    ExpandedNote,
    Expansion,
    Explained,
    Hit,
    PointerNotVisible,
    Recall,
    Told,
    Trace,
)
from ..models.scope import ScopeFilter
from ..models.talk import ContextLine, Voice
from ..recall.memory_manager import MemoryManager
from ..recall.request import RecallRequest
from ..recall.rules.ranking import Candidate, as_hit
from ..reflection.model_histories import ModelHistories
from ..scopes.access import Access, ConversationView
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import ScopeBook
from ..text.overlap import holds
from ..text.scripts import fold
from ..vault.notes.note_book import NoteBook
from .bylines import Bylines

REFUSED: Final = Trace(notes=("refused",))
"""Of a recall for a conversation that may read nothing."""


def _said_at(stored: StoredMemory) -> tuple[datetime, str]:
    """To the second, as the file has it; within one, ids grow with time."""
    return stored.memory.created_at.replace(microsecond=0), stored.memory.memory_id


@dataclass(eq=False)
class Recalls:
    """Answers ``CognitiveService`` inside a view that it has resolved."""

    _access: Access
    _book: ScopeBook
    _catalogue: Catalogue
    _manager: MemoryManager
    _notes: NoteBook
    _pending: PendingRecords
    _unread: UnreadTurns
    _paused_conversations: PausedConversations
    _histories: ModelHistories
    _bylines: Bylines

    async def recall(self, request: RecallRequest, view: ConversationView) -> Recall:
        """``request`` is in the view's filter. Lines of its context that are of another view are
        not used."""
        umo, actor, line = view.conversation_id.umo, request.asker, request.line
        if self._paused_conversations.of(view.conversation_id):
            return Recall(trace=Trace(notes=(OFF_THE_RECORD,)))
        explanations = self._manager.explanations
        reader = self._bylines.reader(request.scope_filter, umo, actor)
        complete = reader.complete
        asked = replace(
            request,
            names=self._names_of(actor, request.scope_filter),
            named=self._bylines.named(_heard(request), request.scope_filter),
            stands=reader.stands,
            context=tuple(one for one in request.context if self._is_of_now(one, view)),
            line=None if line is None else lambda hit: line(complete(hit)),
        )
        with explanations.noting_failure(umo, request.query, request.scope_filter):
            recall = await self._manager.comprehensive_recall(asked)
        explanations.note(umo, request.query, recall.trace)
        self._manager.uses.show(recall.hits)
        hits = self._access.as_seen_by(actor, recall.hits)
        return replace(recall, hits=tuple(map(complete, hits)))

    def _names_of(self, actor: Actor | None, scope_filter: ScopeFilter) -> tuple[str, ...]:
        if actor is None or actor.is_agent:
            return ()
        return (actor.name, *self._bylines.names(actor.person, scope_filter))

    async def announce(self, query: str, view: ConversationView) -> None:
        """Begin what a recall of this query needs. Never raises for a broken index or embedder."""
        if view.readable is None or self._paused_conversations.of(view.conversation_id):
            return
        await self._manager.announce(query, view.readable)

    def explain(self, view: ConversationView) -> list[Explained]:
        """The last recalls of the conversation, the newest first, as far as it may see them."""
        if view.readable is None:
            return []
        return self._manager.explanations.of(view.conversation_id.umo, view.readable)

    def last(self) -> list[Told]:
        """The last recalls of every conversation, the newest first."""
        return self._manager.explanations.all()

    async def expand(self, pointer: str, view: ConversationView) -> Expansion:
        """The whole entry, or section of a note, behind a pointer that the conversation may see."""
        named, seen = pointed_id(pointer), view.readable
        if named is None or seen is None or self._paused_conversations.of(view.conversation_id):
            return PointerNotVisible(pointer)
        if is_note_id(named):
            return await self._expand_note(pointer, named, seen)
        stored = (
            self._access.find(pointer, view)
            # Recalled, so it can be read.
            or self._pending.find(named, seen)
            or self._unread.find(named, seen)
        )
        return PointerNotVisible(pointer) if stored is None else Expanded(stored)

    async def _expand_note(
        self, pointer: str, note_id: str, scope_filter: ScopeFilter
    ) -> Expansion:
        chunk = self._notes.find(note_id, scope_filter)
        if chunk is None:
            return PointerNotVisible(pointer)
        return ExpandedNote(await self._notes.section(chunk))

    async def newest(
        self, view: ConversationView, *, limit: int | None, said_by: Actor | None, naming: str
    ) -> list[StoredMemory]:
        """The arguments are those of ``CognitiveService.newest``."""
        if view.readable is None:
            return []
        visible = self._catalogue.visible_with_text(view.readable)
        several = self._bylines.named(fold(naming), view.readable)
        called = [
            (word, *chain(*(n for n in several if n[0] == word))) for word in fold(naming).split()
        ]

        def step() -> list[StoredMemory]:
            found: Iterable[tuple[StoredMemory, str]] = visible
            if said_by is not None:
                same, person = self._book.same_person, said_by.person
                found = (pair for pair in found if same(person, pair[0].memory.provenance.person))
            # The text begins with its speaker's name.
            found = (
                pair
                for pair in found
                if all(any(holds(pair[1], fold(name)) for name in names) for names in called)
            )
            chosen = [stored for stored, _ in found]
            return sorted(chosen, key=_said_at, reverse=True)[:limit]

        return await self._catalogue.unchanged(await asyncio.to_thread(step))

    async def speakers(self, view: ConversationView, name: str) -> dict[str, int]:
        """The arguments are those of ``CognitiveService.speakers``."""
        if view.readable is None:
            return {}
        visible = self._catalogue.visible_with_text(view.readable)
        same, wanted = self._book.same_person, fold(name)

        def step() -> dict[str, int]:
            counts = Counter((one.memory.who, one.memory.provenance.person) for one, _ in visible)
            found: dict[str, int] = {}
            for who, person in counts:
                names = (who, person, person.partition(":")[2])
                known = not person or any(same(person, other) for other in found)
                if not known and wanted in map(fold, names):
                    every = (n for (_, other), n in counts.items() if same(person, other))
                    found[person] = sum(every)
            return found

        return await asyncio.to_thread(step)

    async def ids_said_by(self, view: ConversationView, person: str) -> list[str]:
        """The arguments are those of ``CognitiveService.ids_said_by``."""
        said_by, same = Actor(person, ""), self._book.same_person
        found = await self.newest(view, limit=None, said_by=said_by, naming="")
        unread = self._unread.visible(view.readable) if view.readable else ()
        found += [one for one in unread if same(person, one.memory.provenance.person)]
        return [one.memory.memory_id for one in found]

    def told(
        self, found: Sequence[StoredMemory], view: ConversationView, actor: Actor, chars: int
    ) -> list[Hit]:
        """The arguments are those of ``CognitiveService.told``."""
        if view.readable is None:
            return []
        complete = self._bylines.reader(view.readable, view.conversation_id.umo, actor).complete
        hits = [as_hit(Candidate(stored, 0.0), chars) for stored in found]
        return list(map(complete, self._access.as_seen_by(actor, hits)))

    def _is_of_now(self, line: ContextLine, view: ConversationView) -> bool:
        """Heard while the conversation saw what it sees now, or put up with the question. An answer
        that may carry words of another scope is none."""
        mixed = self._histories.current_is_mixed(view.conversation_id.umo)
        if line.voice is Voice.BOT and mixed:
            return False
        return line.voice is Voice.QUOTED or line.view == view.mark


def _heard(request: RecallRequest) -> str:
    return fold(" ".join((request.query, *(line.text for line in request.context))))
