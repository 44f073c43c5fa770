"""The talk that a memory came from, out of the history that AstrBot keeps. Nothing is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.day_journal import lists
from ..catalogue.rules.proposals import is_accepted, proposal_key
from ..catalogue.rules.talk_anchor import anchor_of
from ..catalogue.rules.talk_history import TalkTurn, find_turn, turns_of
from ..catalogue.rules.timeline import is_digest
from ..models.data_models import StoredMemory
from ..models.decisions import RECORD_PATHS
from ..models.passages import NoteSection
from ..models.turns import KeptHistory, NoTalk, QueuedTurn, ShownTurn, Transcript
from ..reflection.model_histories import ModelHistories
from ..remember.corrected_texts import CorrectedTexts
from ..remember.rules.gate import is_confidence
from ..scopes.access import ConversationView
from ..scopes.scope_book import ScopeBook
from ..text.normalising import estimate_tokens
from ..vault.markdown.decision_record import records_of

_BESIDE: Final = 2
"""Turns before and behind."""
_MOST_CHARS: Final = 400
"""Of each side of a turn."""
_MOST_TOKENS: Final = 1_500
_MOST_OF_A_JOURNAL: Final = 5


@dataclass(eq=False)
class Transcripts:
    """Shows a talk inside the conversation and the scope in which it was said, and there without
    what is off the record, corrected, private or said in confidence."""

    _book: ScopeBook
    _catalogue: Catalogue
    _histories: ModelHistories
    _corrected: CorrectedTexts
    _hide: Callable[[str], str]
    """A text without what is private in it. It may block."""

    async def of(
        self, stored: StoredMemory, view: ConversationView, kept: KeptHistory
    ) -> Transcript | NoTalk:
        """``stored``: what the conversation sees, a memory or the journal of a day. Raises what
        ``kept`` raises."""
        if not is_digest(stored.memory):
            return await self._around(stored, view, kept, beside=_BESIDE)
        why, turns, alone = NoTalk.NEVER_KEPT, list[ShownTurn](), False
        for one in self._listed(stored, view)[:_MOST_OF_A_JOURNAL]:
            found = await self._around(one, view, kept, beside=0)
            if isinstance(found, NoTalk):
                why = found
            else:
                turns += [turn for turn in found.turns if turn not in turns]
                alone = alone or found.alone
        return Transcript(tuple(_within_budget(turns, 0)), alone) if turns else why

    async def of_record(
        self, section: NoteSection, view: ConversationView, kept: KeptHistory
    ) -> Transcript | NoTalk:
        """A record names no talk: it is that of its proposal, for those who see that entry. Raises
        what ``kept`` raises."""
        seen = view.readable if section.chunk.file in RECORD_PATHS else None
        entries = () if seen is None else tuple(self._catalogue.visible(seen))
        found = await asyncio.to_thread(_proposal_of, section.text, entries)
        return NoTalk.NEVER_KEPT if found is None else await self.of(found, view, kept)

    def _listed(self, journal: StoredMemory, view: ConversationView) -> list[StoredMemory]:
        """The entries that a journal lists, as far as the conversation sees them."""
        memory = journal.memory
        if view.readable is None:
            return []
        day, zone = memory.created_at.date(), memory.created_at.tzinfo
        own = replace(view.readable, scopes=(journal.scope,))
        return [
            one
            for one in self._catalogue.of_days(day, day, own, zone)
            if one.scope == journal.scope and lists(memory.judgment, one.memory)
        ]

    async def _around(
        self, stored: StoredMemory, view: ConversationView, kept: KeptHistory, *, beside: int
    ) -> Transcript | NoTalk:
        memory, umo = stored.memory, view.conversation_id.umo
        if memory.provenance.conversation != umo:
            return NoTalk.ELSEWHERE if memory.provenance.conversation else NoTalk.NEVER_KEPT
        noted = anchor_of(memory)
        if noted is None:
            return NoTalk.NEVER_KEPT
        history, digest = noted
        scope = stored.scope.name
        if view.scope_in_use != scope or not await self._histories.is_of(umo, history, scope):
            return NoTalk.OTHER_SCOPE
        text = await kept(umo, history)
        if text is None:
            return NoTalk.GONE
        whole = await self._histories.is_whole(umo, history)
        beside = beside if whole else 0
        turns = await asyncio.to_thread(self._shown, text, digest, stored, beside)
        if turns is None:
            return NoTalk.GONE
        return Transcript(turns, alone=not whole)

    def _shown(
        self, text: str, digest: str, stored: StoredMemory, beside: int
    ) -> tuple[ShownTurn, ...] | None:
        """Blocks. None where the turn is not in the history."""
        memory, turns = stored.memory, turns_of(text)
        said_at = None if memory.undated else memory.created_at.replace(tzinfo=None)
        place = find_turn(turns, digest, said_at)
        if place is None:
            return None
        near = range(max(place - beside, 0), min(place + beside + 1, len(turns)))
        told = (self._cleared(turns[one], stored, origin=one == place) for one in near)
        shown = [turn for turn in told if turn.origin or turn.said or turn.replied]
        return tuple(_within_budget(shown, next(n for n, one in enumerate(shown) if one.origin)))

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
        left = self._corrected.told_again(queued)
        return ShownTurn(
            _cut(left.user_text), _cut(left.reply_text), queued.who, turn.at, origin=origin
        )


def _proposal_of(record: str, entries: Sequence[StoredMemory]) -> StoredMemory | None:
    """Returns the entry that became the record with this text."""
    keys = [found.record.proposal for found in records_of(record)[:1] if found.record.proposal]
    accepted = (one for one in entries if keys and is_accepted(one.memory))
    return next((one for one in accepted if proposal_key(one.memory.memory_id) in keys), None)


def _within_budget(turns: Sequence[ShownTurn], origin: int) -> list[ShownTurn]:
    """Those that fit, the ones next to the origin first, in their order."""
    left, fitting = _MOST_TOKENS, list[int]()
    for number in sorted(range(len(turns)), key=lambda one: abs(one - origin)):
        left -= estimate_tokens(turns[number].said) + estimate_tokens(turns[number].replied)
        if left < 0:
            break
        fitting.append(number)
    return [turns[number] for number in sorted(fitting)]


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - 1] + "…"
