"""The talk that a memory came from, out of the history that AstrBot keeps. Nothing is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..catalogue.rules.proposals import is_accepted, proposal_key
from ..catalogue.rules.talk_anchor import anchor_of
from ..catalogue.rules.talk_history import TalkTurn, find_turn, turns_of
from ..models.conversation import ConversationId
from ..models.data_models import Reason, Refused, StoredMemory
from ..models.decisions import RECORD_PATHS
from ..models.passages import NoteSection
from ..models.turns import QueuedTurn, ShownTurn, Transcript
from ..remember.rules.gate import is_confidence
from ..scopes.access import View
from ..text.normalising import estimate_tokens
from ..vault.markdown.decision_record import records_of
from .recalls import Recalls

_BESIDE: Final = 2
"""Turns before and behind."""
_MOST_CHARS: Final = 400
"""Of each side of a turn."""
_MOST_TOKENS: Final = 1_500


@dataclass(eq=False)
class Transcripts(Recalls):
    """Shows a talk inside the conversation and the scope in which it was said, and there without
    what is off the record, corrected, private or said in confidence."""

    async def talk_of(self, pointer: str, *, conversation_id: ConversationId) -> str | Refused:
        """The id of the chat history that holds the talk which a memory or a decision came from,
        for ``transcript``. Only in the conversation and the scope in which it was said."""
        found = await self._talk(pointer, await self._gate.open(conversation_id))
        return found if isinstance(found, Refused) else found[1]

    async def transcript(
        self, pointer: str, kept: str, *, conversation_id: ConversationId
    ) -> Transcript | Refused:
        """The turn in which it was said, and those beside it, out of the history of ``talk_of``:
        JSON text as AstrBot keeps it, empty where it has none."""
        found = await self._talk(pointer, await self._gate.open(conversation_id))
        if isinstance(found, Refused):
            return found
        stored, history, digest = found
        whole = await self._histories.is_whole(conversation_id.umo, history)
        beside = _BESIDE if whole else 0
        turns = await asyncio.to_thread(self._shown, kept, digest, stored, beside)
        return Transcript(turns, alone=not whole) if turns else Refused(Reason.GONE)

    async def _talk(self, pointer: str, view: View) -> tuple[StoredMemory, str, str] | Refused:
        """Returns the entry, the history and the turn in it."""
        found = await self._expand(pointer, view)
        if isinstance(found, NoteSection):  # a record names no talk: it is that of its proposal
            in_record = found.chunk.file in RECORD_PATHS
            seen = tuple(self._catalogue.visible(view.seen)) if in_record else ()
            found = await asyncio.to_thread(_proposal_of, found.text, seen)
        if isinstance(found, Refused):
            return found
        umo, scope = view.where.umo, found.scope.name
        origin, noted = found.memory.provenance.conversation, anchor_of(found.memory)
        if origin and origin != umo:
            return Refused(Reason.ELSEWHERE)
        if not origin or noted is None:
            return Refused(Reason.NEVER_KEPT)
        if view.scope_in_use != scope or not await self._histories.is_of(umo, noted[0], scope):
            return Refused(Reason.OTHER_SCOPE)
        return found, *noted

    def _shown(
        self, text: str, digest: str, stored: StoredMemory, beside: int
    ) -> tuple[ShownTurn, ...]:
        """Blocks. Empty where the turn is not in the history."""
        memory, turns = stored.memory, turns_of(text)
        said_at = None if memory.undated else memory.created_at.replace(tzinfo=None)
        place = find_turn(turns, digest, said_at)
        if place is None:
            return ()
        near = range(max(place - beside, 0), min(place + beside + 1, len(turns)))
        left, shown = _MOST_TOKENS, dict[int, ShownTurn]()
        for at in sorted(near, key=lambda one: abs(one - place)):
            turn = self._cleared(turns[at], stored, origin=at == place)
            left -= estimate_tokens(turn.said) + estimate_tokens(turn.replied)
            if left < 0:
                break
            if turn.origin or turn.said or turn.replied:
                shown[at] = turn
        return tuple(shown[at] for at in sorted(shown))

    def _cleared(self, turn: TalkTurn, stored: StoredMemory, *, origin: bool) -> ShownTurn:
        memory = stored.memory
        said, replied = self._hide(turn.said), self._hide(turn.replied)
        refused = self._book.no_confidence(stored.scope)
        if refused and any(map(is_confidence, (said, replied))):
            said = replied = ""
        zone = memory.created_at.tzinfo
        queued = QueuedTurn(
            ticket_id="",
            scope=stored.scope.name,
            conversation=memory.provenance.conversation,
            persona="",
            observed_at=turn.at.replace(tzinfo=zone) if turn.at else memory.created_at,
            person=memory.provenance.person if origin else "",
            who=memory.provenance.who if origin else "",
            user_text=said,
            reply_text=replied,
        )
        left = self._corrected.texts.told_again(queued)
        return ShownTurn(
            _cut(left.user_text), _cut(left.reply_text), queued.who, turn.at, origin=origin
        )


def _proposal_of(record: str, entries: Sequence[StoredMemory]) -> StoredMemory | Refused:
    """Returns the entry that became the record with this text, for those who see it."""
    keys = {found.record.proposal for found in records_of(record)[:1]} - {""}
    for one in entries:
        if is_accepted(one.memory) and proposal_key(one.memory.memory_id) in keys:
            return one
    return Refused(Reason.NEVER_KEPT)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - 1] + "…"
