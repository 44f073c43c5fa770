"""What a conversation reads: recall and its explanation, what a pointer points to, lists."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.pointers import is_note_id, pointed_id
from ..catalogue.unread_turns import UnreadTurns
from ..index.pending_records import PendingRecords
from ..models.conversation import Actor, ConversationId
from ..models.data_models import StoredMemory, Topic, absent
from ..models.recall import Expansion, Explained, Hit, Recall, Told, Trace
from ..models.settings import EngineSettings
from ..models.turns import ContextLine, Voice
from ..recall.memory_manager import MemoryManager
from ..recall.question import RecallRequest
from ..recall.rules.choosing import Candidate, as_hit
from ..reflection.model_histories import ModelHistories
from ..scopes.access import View
from ..scopes.scope_book import ScopeBook
from ..text.overlap import holds
from ..text.scripts import fold
from ..text.third_person import third_person
from ..vault.notes.note_book import NoteBook
from .bylines import Bylines
from .door import Door


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
        Answers from what has been read so far. See ``RecallRequest`` for the arguments; lines of
        the context that are of another view than the conversation has now are not used."""
        await self._life.begun()
        view = self._gate.look(conversation_id, actor)
        asked = RecallRequest(
            query, view.seen, limit, token_budget, actor, days, context, in_talk, topic, on
        )
        return await self._recall(asked, view)

    async def _recall(self, asked: RecallRequest, view: View) -> Recall:
        if asked.limit == 0 or not asked.query:
            return Recall()
        if view.silence:
            return Recall(trace=Trace(notes=[view.silence]))
        await self._life.begun(wait_seconds=self._settings.load_seconds)
        explanations, umo = self._manager.explanations, view.where.umo
        reader = self._bylines.reader(view)
        talk = tuple(one for one in asked.context if self._is_of_now(one, view))
        heard = fold(" ".join((asked.query, *(one.text for one in asked.context))))
        asked = replace(
            asked,
            names=self._names_of(asked.asker, view),
            named=self._bylines.named(heard, view.seen),
            stands=reader.stands,
            context=talk,
            complete=reader.complete,
        )
        with explanations.noting_failure(umo, asked.query, view.seen):
            recall = await self._manager.comprehensive_recall(asked)
        explanations.note(umo, asked.query, recall.trace)
        self._manager.uses.show(recall.hits)
        return replace(recall, hits=reader.told(recall.hits))

    def _names_of(self, asker: Actor | None, view: View) -> tuple[str, ...]:
        if asker is None or asker.is_agent:
            return ()
        return (asker.name, *self._bylines.names(asker.person, view.seen))

    def _is_of_now(self, line: ContextLine, view: View) -> bool:
        """Heard while the conversation saw what it sees now, or put up with the question. An answer
        that may carry words of another scope is none."""
        if line.voice is Voice.BOT and self._histories.current_is_mixed(view.where.umo):
            return False
        return line.voice is Voice.QUOTED or line.view == view.mark

    async def announce(self, query: str, *, conversation_id: ConversationId) -> None:
        """``recall`` will be asked this in a moment: what can be done for it begins already. The
        persona need not be known. Nothing is looked for, and nothing kept but for that recall.

        Never raises for a broken index or embedder.
        """
        await self._life.begun()
        view = self._gate.look(conversation_id)
        if not view.silence:
            await self._manager.announce(query, view.seen)

    async def explain(
        self, *, conversation_id: ConversationId, actor: Actor | None = None
    ) -> list[Explained]:
        """The last recalls of this conversation, the newest first, as far as it may see them, and
        as it is told to ``actor``."""
        view = await self._gate.open(conversation_id, actor)
        complete = self._bylines.reader(view).complete
        return [
            replace(
                one, candidates=tuple((of, hit and complete(hit)) for of, hit in one.candidates)
            )
            for one in self._manager.explanations.of(view.where.umo, view.seen)
        ]

    def last_recalls(self) -> list[Told]:
        """Of every conversation, the newest first: for the owner of the files."""
        return self._manager.explanations.all()

    async def expand(self, pointer: str, *, conversation_id: ConversationId) -> Expansion:
        """The whole entry, or section of a note, behind a pointer that the conversation may see."""
        return await self._expand(pointer, await self._gate.open(conversation_id))

    async def _expand(self, pointer: str, view: View) -> Expansion:
        named, seen = pointed_id(pointer) or "", view.looked_up
        if is_note_id(named) and (chunk := self._notes.find(named, seen)):
            return await self._notes.section(chunk)
        # What is recalled can be read.
        places = (self._catalogue, self._pending, self._unread)
        found = next(filter(None, (one.find(named, seen) for one in places)), None)
        return found or absent(pointer)

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
        view = await self._gate.open(conversation_id)
        return await self._newest(view, limit, None if said_by is None else said_by.person, naming)

    async def _newest(
        self, view: View, limit: int | None, person: str | None, naming: str = ""
    ) -> list[StoredMemory]:
        visible, same = self._catalogue.visible_with_text(view.seen), self._book.same_person
        several = self._bylines.named(fold(naming), view.seen)
        called = [
            (word, *chain(*(n for n in several if n[0] == word))) for word in fold(naming).split()
        ]

        def is_meant(one: StoredMemory, text: str) -> bool:
            if person is not None and not same(person, one.memory.provenance.person):
                return False
            # The text begins with its speaker's name; people point to what they were shown.
            return all(
                any(holds(text, fold(name)) for name in names)
                or holds(fold(third_person(one.memory.judgment, one.memory.who)), names[0])
                for names in called
            )

        def step() -> list[StoredMemory]:
            chosen = [stored for stored, text in visible if is_meant(stored, text)]
            return sorted(chosen, key=_said_at, reverse=True)[:limit]

        return await self._catalogue.unchanged(await asyncio.to_thread(step))

    async def _said_by(
        self, person: str, view: View, limit: int | None = None
    ) -> tuple[list[StoredMemory], list[StoredMemory]]:
        """What the conversation sees and this person said, by any of the person's accounts:
        memories, the newest first, and turns that are not read yet."""
        same, turns = self._book.same_person, self._unread.visible(view.seen)
        unread = [one for one in turns if same(person, one.memory.provenance.person)]
        return await self._newest(view, limit, person), unread

    async def ids_said_by(
        self, person: str, *, conversation_id: ConversationId
    ) -> tuple[list[str], list[str]]:
        """The ids of all that the conversation sees and this person said, by any of the person's
        accounts: of memories, and of turns that are not read yet."""
        said = await self._said_by(person, await self._gate.open(conversation_id))
        memories, turns = ([one.memory.memory_id for one in some] for some in said)
        return memories, turns

    async def speakers(self, name: str, *, conversation_id: ConversationId) -> dict[str, int]:
        """Who of the speakers whom the conversation sees is called so, or has this account: one
        account of each person, and how many memories the person said."""
        view = await self._gate.open(conversation_id)
        visible = self._catalogue.visible_with_text(view.seen)
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

    async def told(
        self,
        found: Iterable[StoredMemory],
        *,
        conversation_id: ConversationId,
        actor: Actor,
        chars: int,
    ) -> list[Hit]:
        """Memories that the conversation sees, as recall tells them: with what is to be known of
        their speakers and of their standing, and at most ``chars`` characters of each."""
        view = await self._gate.open(conversation_id, actor)
        hits = (as_hit(Candidate(stored, 0.0), chars) for stored in found if view.sees(stored))
        return list(self._bylines.reader(view).told(hits))


def _said_at(stored: StoredMemory) -> tuple[datetime, str]:
    """To the second, as the file has it; within one, ids grow with time."""
    return stored.memory.created_at.replace(microsecond=0), stored.memory.memory_id
