"""What a conversation reads: recall and its explanation, pointers, files, lists, and the turn that
a memory came from, out of the history that AstrBot keeps."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from ..catalogue.rules.bylines import folded_name
from ..catalogue.rules.pointers import is_note_id, pointed_id
from ..catalogue.rules.proposals import is_accepted, proposal_key
from ..catalogue.rules.talk_anchor import anchor_of, without_anchor
from ..catalogue.rules.talk_history import find_turn, turns_of
from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.conversation import Actor, ConversationId
from ..models.data_models import NO_TIME, Memory, Refused, StoredMemory, Topic, absent
from ..models.decisions import RECORD_PATHS
from ..models.passages import NoteSection
from ..models.recall import FileText, Hit, Recall, Told
from ..models.scope import ROLES_FOLDER, SHARED, Scope
from ..models.turns import ContextLine, QueuedTurn, ShownTurn, Voice
from ..models.vault_layout import MEMORY_PAGE, PRIMER_PAGE
from ..recall.question import RecallRequest
from ..recall.rules.order import Candidate, as_hit
from ..remember.corrected_texts import EVER
from ..remember.rules.gate import is_confidence
from ..scopes.access import View
from ..text.normalising import preview, without_controls
from ..text.overlap import holds
from ..text.scripts import fold
from ..text.third_person import third_person
from ..vault.markdown.decision_record import records_of
from ..vault.markdown.entry import render
from ..vault.markdown.marked_block import content_of
from ..vault.markdown.topic_file import parse_file
from ..vault.pages import text_of
from .bylines import Reader
from .door import Door

_MOST_SESSIONS = 5
_SESSION = re.compile(r"- (\d{4}-\d\d-\d\d .*) \((\d{4}-\d\d-\d\d\.md)\)")
"""A line of a role's MEMORY.md: when, how the note begins, its file."""
_PAGES = (MEMORY_PAGE, PRIMER_PAGE)
_MOST_CHARS = 400
"""Of each side of a turn."""


class Recalls(Door):
    """What is absent and what is another's are answered alike."""

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
        """At most ``limit`` relevant memories that fit the budget, of what is read so far. See
        ``RecallRequest``; of the context, what was said in another view is not used."""
        await self.parts.life.begun(wait_seconds=self.parts.settings.load_seconds)
        view = self.parts.gate.look(conversation_id, actor)
        asked = RecallRequest(
            query, view.seen, limit, token_budget, actor, days, context, in_talk, topic, on
        )
        return await self.parts.manager.comprehensive_recall(self._question(asked, view))

    def announce(self, query: str, *, conversation_id: ConversationId) -> None:
        """``recall`` will be asked this in a moment: what takes longest, its vector, is begun. The
        persona need not be known."""
        if self.parts.indexing.is_open and not self.parts.gate.look(conversation_id).silence:
            self.parts.finder.announce(query)

    def _question(self, request: RecallRequest, view: View) -> RecallRequest:
        """With what is to be known of the asker, of whom he names, and of the talk before."""
        bylines, umo, asker = self.parts.bylines, view.where.umo, request.asker
        reader, names = Reader(self.parts, view), tuple[str, ...]()
        if asker is not None and not asker.is_agent:
            names = (asker.name, *bylines.names(asker.person, view.seen))
        heard = fold(" ".join((request.query, *(one.text for one in request.context))))
        now = (one for one in request.context if one.voice is Voice.QUOTED or one.view == view.mark)
        # An answer that may carry words of another scope is no context.
        mixed = self.parts.histories.current_is_mixed(umo)
        return replace(
            request,
            names=names,
            named=bylines.named(heard, view.seen),
            stands=reader.stands,
            context=[one for one in now if not (mixed and one.voice is Voice.BOT)],
            complete=reader.complete,
            conversation=umo,
            silence=view.silence,
        )

    async def explain(
        self, *, conversation_id: ConversationId, actor: Actor | None = None
    ) -> list[Told]:
        """Its last recalls, the newest first, as far as it may see them, as told to ``actor``."""
        view = await self.parts.gate.open(conversation_id, actor)
        complete, shown = Reader(self.parts, view).complete, list[Told]()
        for one in self.parts.manager.explanations.of(view.where.umo, view.seen):
            hits = {name: complete(hit) for name, hit in one.hits.items()}
            shown.append(replace(one, hits=hits))
            await asyncio.sleep(0)  # each is some thirty memories
        return shown

    async def expand(
        self, pointer: str, *, conversation_id: ConversationId
    ) -> StoredMemory | NoteSection | Refused:
        """The whole entry, or section of a note, behind a pointer that the conversation may see."""
        return await self._expand(pointer, await self.parts.gate.open(conversation_id))

    async def _expand(self, pointer: str, view: View) -> StoredMemory | NoteSection | Refused:
        named, seen = pointed_id(pointer) or "", view.looked_up
        if is_note_id(named) and (chunk := self.parts.note_book.find(named, seen)):
            return await self.parts.note_book.section(chunk)
        # What is recalled can be read.
        places = (self.parts.catalogue, self.parts.pending, self.parts.unread)
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
        """Memories that it may see, the newest first: only what was ``said_by`` any account of a
        person, and what holds each word of ``naming``, or was said by a person of that name."""
        view = await self.parts.gate.open(conversation_id)
        return await self._newest(view, limit, None if said_by is None else said_by.person, naming)

    async def _newest(
        self, view: View, limit: int | None, person: str | None, naming: str = ""
    ) -> list[StoredMemory]:
        visible = self.parts.catalogue.visible_with_text(view.seen)
        several = {names[0]: names for names in self.parts.bylines.named(fold(naming), view.seen)}
        called = [several.get(word, (word,)) for word in fold(naming).split()]

        def is_meant(one: StoredMemory, text: str) -> bool:
            speaker = one.memory.provenance.person
            if person is not None and not self.parts.book.same_person(person, speaker):
                return False
            # The text begins with its speaker's name; people point to what they were shown.
            return all(
                any(holds(text, fold(name)) for name in names)
                or holds(fold(third_person(one.memory.judgment, one.memory.who)), names[0])
                for names in called
            )

        def newest() -> list[StoredMemory]:
            chosen = (stored for stored, text in visible if is_meant(stored, text))
            return sorted(chosen, key=_said_at, reverse=True)[:limit]

        return await self.parts.catalogue.unchanged(await asyncio.to_thread(newest))

    async def _said_by(
        self, person: str, view: View, limit: int | None = None
    ) -> tuple[list[StoredMemory], list[StoredMemory]]:
        """What it sees and this person said, by any account: memories, the newest first, and turns
        that are not read yet."""
        same, turns = self.parts.book.same_person, self.parts.unread.visible(view.seen)
        unread = [one for one in turns if same(person, one.memory.provenance.person)]
        return await self._newest(view, limit, person), unread

    async def ids_said_by(self, person: str, *, conversation_id: ConversationId) -> list[str]:
        """The ids of these."""
        memories, turns = await self._said_by(person, await self.parts.gate.open(conversation_id))
        return [one.memory.memory_id for one in memories + turns]

    async def speakers(self, name: str, *, conversation_id: ConversationId) -> list[str]:
        """Of speakers whom it sees and who are called so, or have this account: one of each."""
        view = await self.parts.gate.open(conversation_id)
        heard, places = self.parts.catalogue.speakers, view.seen.names
        people = set[str]().union(*(heard.people(place, "") for place in places))
        found = heard.bearers(folded_name(name), places) | (people & {name})
        return sorted({min(found & self.parts.book.ids_of(one)) for one in found - {""}})

    async def told(
        self,
        found: Iterable[StoredMemory],
        *,
        conversation_id: ConversationId,
        actor: Actor,
        chars: int,
    ) -> list[Hit]:
        """Memories as recall tells them: with what is to be known of their speakers and of their
        standing, and at most ``chars`` characters of each."""
        view = await self.parts.gate.open(conversation_id, actor)
        hits = (as_hit(Candidate(stored, 0.0), chars) for stored in found if view.sees(stored))
        return list(map(Reader(self.parts, view).complete, hits))

    async def read(self, where: str, *, conversation_id: ConversationId) -> FileText | Refused:
        """What a pointer leads to, or a path of the own scope, of ``shared/`` or of the role, or
        as ``./…`` of a project's memory root; without what the conversation may not see."""
        view = await self.parts.gate.open(conversation_id)
        if pointed_id(where) is None:
            path = unicodedata.normalize("NFC", where.strip())
            return await self._file(path, view) or absent(where)
        found = await self._expand(where, view)
        if isinstance(found, NoteSection):
            return FileText(found.chunk.file, found.text, found.first)
        if isinstance(found, Refused):
            return found
        return FileText(found.path, "\n".join(_as_read(found.memory)))

    async def _file(self, path: str, view: View) -> FileText | None:
        seen, book = view.looked_up, self.parts.note_book
        for one in book.visible(seen):
            if one.place.is_shelf and one.file == path:
                text = await book.text(one.place, one.path)
                return None if text is None else FileText(path, text.rstrip("\n"))
        own = seen.scopes[:1]
        return await asyncio.to_thread(self._of_scope, own[0], path, view) if own else None

    def _of_scope(self, own: Scope, path: str, view: View) -> FileText | None:
        """Blocks."""
        if path not in {*_PAGES, *self.parts.pages.names(own)}:
            return None  # whatever else lies there, or above
        try:
            if (page := self.parts.pages.read(own, path)) is None:
                return None
            file = parse_file(without_controls(page.raw.decode()), fallback_time=NO_TIME)
        except (VaultWriteFailed, VaultFileBroken, OSError, UnicodeDecodeError):
            return None
        lines = list(file.lines)
        for entry in reversed(file.entries):
            seen = view.sees(StoredMemory(own, path, entry.memory))
            lines[entry.start : entry.end] = _as_read(entry.memory) if seen else []
        return FileText(path, "\n".join(lines).rstrip("\n"))

    def _shared_headings(self, view: View) -> tuple[str, ...]:
        """Returns a line for each file of ``shared/``: its path, and its widest headings."""
        found: dict[str, dict[str, None]] = {}
        for chunk in self.parts.note_book.visible(view.seen):
            if chunk.place == SHARED:
                found.setdefault(chunk.file, {}).update(dict.fromkeys(chunk.headings[:1]))
        return tuple(": ".join(filter(None, (path, " · ".join(of)))) for path, of in found.items())

    def _last_sessions(self, view: View) -> tuple[str, ...]:
        """Returns the newest lines that the role's MEMORY.md keeps of its sessions. Blocks."""
        found: list[str] = []
        for role in view.seen.shelves:
            if role.folder.startswith(f"{ROLES_FOLDER}/"):
                with suppress(VaultWriteFailed):
                    text = text_of(self.parts.pages.read(role, MEMORY_PAGE)) or ""
                    lines = filter(None, map(_SESSION.fullmatch, content_of(text).split("\n")))
                    found += (f"{line[1]} ({role.folder}/{line[2]})" for line in lines)
        return tuple(found[:_MOST_SESSIONS])

    async def talk_of(self, pointer: str, *, conversation_id: ConversationId) -> str | Refused:
        """The id of the chat history with the talk that a memory or a decision came from. Only in
        the conversation and the scope in which it was said."""
        found = await self._talk(pointer, await self.parts.gate.open(conversation_id))
        return found if isinstance(found, Refused) else found[1]

    async def transcript(
        self, pointer: str, kept: str, *, conversation_id: ConversationId
    ) -> ShownTurn | Refused:
        """The turn in which it was said, without what is corrected, private or said in confidence.
        ``kept``: the history of ``talk_of``, JSON text as AstrBot keeps it, empty for none."""
        found = await self._talk(pointer, await self.parts.gate.open(conversation_id))
        if isinstance(found, Refused):
            return found
        stored, _, digest = found
        return await asyncio.to_thread(self._shown, kept, digest, stored)

    async def _talk(self, pointer: str, view: View) -> tuple[StoredMemory, str, str] | Refused:
        """The entry, the history and the turn in it."""
        found = await self._expand(pointer, view)
        if isinstance(found, NoteSection):  # a record names no talk: it is that of its proposal
            in_record = found.chunk.file in RECORD_PATHS
            seen = tuple(self.parts.catalogue.visible(view.seen)) if in_record else ()
            found = await asyncio.to_thread(_proposal_of, found.text, seen)
        if isinstance(found, Refused):
            return found
        umo, scope = view.where.umo, found.scope.name
        origin, noted = found.memory.provenance.conversation, anchor_of(found.memory)
        if origin and origin != umo:
            return Refused("elsewhere")
        if not origin or noted is None:
            return Refused("never_kept")
        if view.scope_in_use != scope or not await self.parts.histories.is_of(umo, noted[0], scope):
            return Refused("other_scope")
        return found, *noted

    def _shown(self, history: str, digest: str, stored: StoredMemory) -> ShownTurn | Refused:
        """Blocks."""
        memory, origin, turns = stored.memory, stored.memory.provenance, turns_of(history)
        said_at = None if memory.undated else memory.created_at.replace(tzinfo=None)
        place = find_turn(turns, digest, said_at)
        if place is None:
            return Refused("gone")
        said, replied = self.parts.hide(turns[place].said), self.parts.hide(turns[place].replied)
        refused = self.parts.book.no_confidence(stored.scope)
        if refused and any(map(is_confidence, (said, replied))):
            said = replied = ""
        where, by = (stored.scope.name, origin.conversation, ""), (origin.person, origin.who)
        turn = QueuedTurn("", *where, memory.created_at, *by, said, replied)
        left = self.parts.corrected.texts.cleared(turn, EVER)
        said, replied = (preview(one, _MOST_CHARS) for one in (left.user_text, left.reply_text))
        return ShownTurn(said, replied, origin.who, turns[place].at)


def _as_read(memory: Memory) -> list[str]:
    """An entry's lines without its person, conversation and talk: a reader sees names. And without
    the questions that are for search alone."""
    origin = replace(memory.provenance, person="", conversation="")
    return render(replace(without_anchor(memory), provenance=origin, asks=())).splitlines()


def _said_at(stored: StoredMemory) -> tuple[datetime, str]:
    """To the second, as the file has it; within one, ids grow with time."""
    return stored.memory.created_at.replace(microsecond=0), stored.memory.memory_id


def _proposal_of(record: str, entries: Sequence[StoredMemory]) -> StoredMemory | Refused:
    """The entry that became the record with this text, for those who see it."""
    keys = {found.record.proposal for found in records_of(record)[:1]} - {""}
    for one in entries:
        if is_accepted(one.memory) and proposal_key(one.memory.memory_id) in keys:
            return one
    return Refused("never_kept")
