"""What a conversation reads: recall and its explanation, what a pointer points to, lists; and what
all verbs of the front door begin with."""

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
from ..models.conversation import Actor, ConversationId
from ..models.data_models import StoredMemory, Topic, absent
from ..models.recall import (
    OFF_THE_RECORD,
    Expanded,
    ExpandedNote,
    Expansion,
    Explained,
    Hit,
    Recall,
    Told,
    Trace,
)
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.turns import ContextLine, Voice
from ..recall.memory_manager import MemoryManager
from ..recall.request import RecallRequest
from ..recall.rules.ranking import Candidate, as_hit
from ..reflection.model_histories import ModelHistories
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access, ConversationView
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import ScopeBook
from ..text.overlap import holds
from ..text.scripts import fold
from ..text.third_person import third_person
from ..vault.notes.note_book import NoteBook
from .bylines import Bylines


@dataclass(eq=False)
class Door:
    """Takes a ConversationId, derives the scope; what stands on it does what is asked inside it."""

    _life: Lifespan
    _access: Access

    async def _view(self, conversation_id: ConversationId) -> ConversationView:
        """What the conversation may see and do, once the vault is read."""
        await self._life.ready()
        return self._access.view(conversation_id)


REFUSED: Final = Trace(notes=("refused",))
"""Of a recall for a conversation that may read nothing."""


def _said_at(stored: StoredMemory) -> tuple[datetime, str]:
    """To the second, as the file has it; within one, ids grow with time."""
    return stored.memory.created_at.replace(microsecond=0), stored.memory.memory_id


@dataclass(eq=False)
class Recalls(Door):
    """What is found and told."""

    _settings: EngineSettings
    _book: ScopeBook
    _catalogue: Catalogue
    _manager: MemoryManager
    _notes: NoteBook
    _pending: PendingRecords
    _unread: UnreadTurns
    _paused_conversations: PausedConversations
    _histories: ModelHistories
    _bylines: Bylines

    async def recall(
        self,
        query: str,
        *,
        conversation_id: ConversationId,
        limit: int,
        token_budget: int,
        actor: Actor | None = None,
        days: int = 0,
        context: Sequence[ContextLine] = (),
        in_talk: bool = False,
        topic: Topic | None = None,
        on: str = "",
    ) -> Recall:
        """At most ``limit`` relevant memories that fit the budget; none where none is relevant.

        Args:
            actor: Who asks: 我 is that person.
            days: What answers a question about days alone may be one memory for each of so many
                of them, whatever the limit is. The budget holds.
            context: What was said just before, the earliest first. Lines of another view than the
                conversation has now are not used; see ``Talk`` for what is made of the others.
            in_talk: The query is a person's message, not a search: it may ask for nothing.
            topic: Only what stands in its files.
            on: Only what is of the days that these words name, see ``days_named``.
        """
        await self._life.begun(wait_seconds=self._settings.load_seconds)
        view = self._access.view(conversation_id)
        if view.readable is None:
            return Recall(trace=REFUSED)
        request = RecallRequest(
            query,
            view.readable,
            limit,
            token_budget,
            actor,
            days,
            context,
            in_talk,
            topic,
            on,
        )
        return await self._recall_in(request, view)

    async def _recall_in(self, request: RecallRequest, view: ConversationView) -> Recall:
        """``request`` is in the view's filter. Lines of its context that are of another view are
        not used."""
        umo, actor = view.conversation_id.umo, request.asker
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
            complete=complete,
        )
        with explanations.noting_failure(umo, request.query, request.scope_filter):
            recall = await self._manager.comprehensive_recall(asked)
        explanations.note(umo, request.query, recall.trace)
        self._manager.uses.show(recall.hits)
        hits = self._access.as_seen_by(actor, recall.hits)
        return replace(recall, hits=tuple(map(complete, hits)))

    def _names_of(self, actor: Actor | None, seen: ScopeFilter) -> tuple[str, ...]:
        if actor is None or actor.is_agent:
            return ()
        return (actor.name, *self._bylines.names(actor.person, seen))

    async def announce(self, query: str, *, conversation_id: ConversationId) -> None:
        """``recall`` will be asked this in a moment: what can be done for it begins already. The
        persona need not be known. Nothing is looked for, and nothing kept but for that recall.

        Never raises for a broken index or embedder.
        """
        await self._life.begun()
        view = self._access.view(conversation_id)
        if view.readable is None or self._paused_conversations.of(conversation_id):
            return
        await self._manager.announce(query, view.readable)

    async def explain(
        self, *, conversation_id: ConversationId, actor: Actor | None = None
    ) -> list[Explained]:
        """The last recalls of this conversation, the newest first, as far as it may see them, and
        as it is told to ``actor``."""
        view = await self._view(conversation_id)
        if view.readable is None:
            return []
        complete = self._bylines.reader(view.readable, conversation_id.umo, actor).complete
        return [
            replace(
                one, candidates=tuple((of, hit and complete(hit)) for of, hit in one.candidates)
            )
            for one in self._manager.explanations.of(conversation_id.umo, view.readable)
        ]

    def last_recalls(self) -> list[Told]:
        """Of every conversation, the newest first: for the owner of the files."""
        return self._manager.explanations.all()

    async def expand(self, pointer: str, *, conversation_id: ConversationId) -> Expansion:
        """The whole entry, or section of a note, behind a pointer that the conversation may see."""
        return await self._expand_in(pointer, await self._view(conversation_id))

    async def _expand_in(self, pointer: str, view: ConversationView) -> Expansion:
        named, seen = pointed_id(pointer), view.readable
        if named is None or seen is None or self._paused_conversations.of(view.conversation_id):
            return absent(pointer)
        if is_note_id(named):
            return await self._expand_note(pointer, named, seen)
        stored = (
            self._access.find(pointer, view)
            # Recalled, so it can be read.
            or self._pending.find(named, seen)
            or self._unread.find(named, seen)
        )
        return absent(pointer) if stored is None else Expanded(stored)

    async def _expand_note(self, pointer: str, note_id: str, seen: ScopeFilter) -> Expansion:
        chunk = self._notes.find(note_id, seen)
        if chunk is None:
            return absent(pointer)
        return ExpandedNote(await self._notes.section(chunk))

    async def newest(
        self,
        *,
        conversation_id: ConversationId,
        limit: int | None = None,
        said_by: Actor | None = None,
        naming: str = "",
    ) -> list[StoredMemory]:
        """The memories that the conversation may see, the newest first.

        Args:
            limit: So many at most, None for all.
            said_by: Only what this person said, by any of the person's accounts.
            naming: Only what holds each of these words, or was said by a person of that name.
        """
        view = await self._view(conversation_id)
        return await self._newest(view, limit, said_by, naming)

    async def _newest(
        self, view: ConversationView, limit: int | None, said_by: Actor | None, naming: str
    ) -> list[StoredMemory]:
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
            # The text begins with its speaker's name; people point to what they were shown.
            found = (
                (one, text)
                for one, text in found
                if all(
                    any(holds(text, fold(name)) for name in names)
                    or holds(fold(third_person(one.memory.judgment, one.memory.who)), names[0])
                    for names in called
                )
            )
            chosen = [stored for stored, _ in found]
            return sorted(chosen, key=_said_at, reverse=True)[:limit]

        return await self._catalogue.unchanged(await asyncio.to_thread(step))

    async def speakers(self, name: str, *, conversation_id: ConversationId) -> dict[str, int]:
        """Who of the speakers whom the conversation sees is called so, or has this account: one
        account of each person, and how many memories the person said."""
        view = await self._view(conversation_id)
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

    async def ids_said_by(
        self, person: str, *, conversation_id: ConversationId
    ) -> tuple[list[str], list[str]]:
        """The ids of all that the conversation sees and this person said, by any of the person's
        accounts: of memories, and of turns that are not read yet."""
        view = await self._view(conversation_id)
        said_by, same = Actor(person, ""), self._book.same_person
        found = await self._newest(view, None, said_by, "")
        unread = self._unread.visible(view.readable) if view.readable else ()
        turns = [one for one in unread if same(person, one.memory.provenance.person)]
        return [one.memory.memory_id for one in found], [one.memory.memory_id for one in turns]

    async def told(
        self,
        found: Sequence[StoredMemory],
        *,
        conversation_id: ConversationId,
        actor: Actor,
        chars: int,
    ) -> list[Hit]:
        """Memories that the conversation sees, as recall tells them: with what is to be known of
        their speakers and of their standing, and at most ``chars`` characters of each."""
        view = await self._view(conversation_id)
        if view.readable is None:
            return []
        complete = self._bylines.reader(view.readable, conversation_id.umo, actor).complete
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
