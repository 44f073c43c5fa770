"""The turn that a memory came from, out of the history that AstrBot keeps. Nothing is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from ..catalogue.rules.proposals import is_accepted, proposal_key
from ..catalogue.rules.talk_anchor import anchor_of
from ..catalogue.rules.talk_history import find_turn, turns_of
from ..models.conversation import ConversationId
from ..models.data_models import Refused, StoredMemory
from ..models.decisions import RECORD_PATHS
from ..models.passages import NoteSection
from ..models.turns import QueuedTurn, ShownTurn
from ..remember.corrected_texts import EVER
from ..remember.rules.gate import is_confidence
from ..scopes.access import View
from ..text.normalising import preview
from ..vault.markdown.decision_record import records_of
from .recalls import Recalls

_MOST_CHARS: Final = 400
"""Of each side of a turn."""


class Transcripts(Recalls):
    """Shows a turn inside the conversation and the scope in which it was said, and there without
    what is corrected, private or said in confidence."""

    async def talk_of(self, pointer: str, *, conversation_id: ConversationId) -> str | Refused:
        """The id of the chat history that holds the talk which a memory or a decision came from,
        for ``transcript``. Only in the conversation and the scope in which it was said."""
        found = await self._talk(pointer, await self.parts.gate.open(conversation_id))
        return found if isinstance(found, Refused) else found[1]

    async def transcript(
        self, pointer: str, kept: str, *, conversation_id: ConversationId
    ) -> ShownTurn | Refused:
        """The turn in which it was said, out of the history of ``talk_of``: JSON text as AstrBot
        keeps it, empty where it has none."""
        found = await self._talk(pointer, await self.parts.gate.open(conversation_id))
        if isinstance(found, Refused):
            return found
        stored, _, digest = found
        return await asyncio.to_thread(self._shown, kept, digest, stored)

    async def _talk(self, pointer: str, view: View) -> tuple[StoredMemory, str, str] | Refused:
        """Returns the entry, the history and the turn in it."""
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
        turn = QueuedTurn(
            ticket_id="",
            scope=stored.scope.name,
            conversation=origin.conversation,
            persona="",
            observed_at=memory.created_at,
            person=origin.person,
            who=origin.who,
            user_text=said,
            reply_text=replied,
        )
        left = self.parts.corrected.texts.cleared(turn, EVER)
        said, replied = (preview(one, _MOST_CHARS) for one in (left.user_text, left.reply_text))
        return ShownTurn(said, replied, origin.who, turns[place].at)


def _proposal_of(record: str, entries: Sequence[StoredMemory]) -> StoredMemory | Refused:
    """Returns the entry that became the record with this text, for those who see it."""
    keys = {found.record.proposal for found in records_of(record)[:1]} - {""}
    for one in entries:
        if is_accepted(one.memory) and proposal_key(one.memory.memory_id) in keys:
            return one
    return Refused("never_kept")
