"""The talk that a memory came from, out of the history that AstrBot keeps. Nothing is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.proposals import is_accepted, proposal_key
from ..catalogue.rules.talk_anchor import anchor_of
from ..catalogue.rules.talk_history import TalkTurn, find_turn, turns_of
from ..models.data_models import Reason, Refused, StoredMemory
from ..models.decisions import RECORD_PATHS
from ..models.passages import NoteSection
from ..models.turns import KeptHistory, QueuedTurn, ShownTurn, Transcript
from ..reflection.model_histories import ModelHistories
from ..remember.corrected_texts import CorrectedTexts
from ..remember.rules.gate import is_confidence
from ..scopes.access import View
from ..scopes.scope_book import ScopeBook
from ..text.normalising import estimate_tokens
from ..vault.markdown.decision_record import records_of

_BESIDE: Final = 2
"""Turns before and behind."""
_MOST_CHARS: Final = 400
"""Of each side of a turn."""
_MOST_TOKENS: Final = 1_500


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

    async def of(self, stored: StoredMemory, view: View, kept: KeptHistory) -> Transcript | Refused:
        """The turn in which what the conversation sees was said, and those beside it. Raises what
        ``kept`` raises."""
        umo, origin = view.where.umo, stored.memory.provenance.conversation
        noted, scope = anchor_of(stored.memory), stored.scope.name
        if origin and origin != umo:
            return Refused(Reason.ELSEWHERE)
        if not origin or noted is None:
            return Refused(Reason.NEVER_KEPT)
        history, digest = noted
        if view.scope_in_use != scope or not await self._histories.is_of(umo, history, scope):
            return Refused(Reason.OTHER_SCOPE)
        text = await kept(umo, history)
        whole = await self._histories.is_whole(umo, history)
        beside = _BESIDE if whole else 0
        turns = await asyncio.to_thread(self._shown, text or "", digest, stored, beside)
        return Transcript(turns, alone=not whole) if turns else Refused(Reason.GONE)

    async def of_record(
        self, section: NoteSection, view: View, kept: KeptHistory
    ) -> Transcript | Refused:
        """A record names no talk: it is that of its proposal, for those who see that entry. Raises
        what ``kept`` raises."""
        seen = self._catalogue.visible(view.seen) if section.chunk.file in RECORD_PATHS else ()
        found = await asyncio.to_thread(_proposal_of, section.text, tuple(seen))
        return await self.of(found, view, kept) if found else Refused(Reason.NEVER_KEPT)

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
        told = (self._cleared(turns[one], stored, origin=one == place) for one in near)
        shown = [turn for turn in told if turn.origin or turn.said or turn.replied]
        return _within_budget(shown, next(n for n, one in enumerate(shown) if one.origin))

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


def _within_budget(turns: Sequence[ShownTurn], origin: int) -> tuple[ShownTurn, ...]:
    """Those that fit, the ones next to the origin first, in their order."""
    left, fitting = _MOST_TOKENS, list[int]()
    for number in sorted(range(len(turns)), key=lambda one: abs(one - origin)):
        left -= estimate_tokens(turns[number].said) + estimate_tokens(turns[number].replied)
        if left < 0:
            break
        fitting.append(number)
    return tuple(turns[number] for number in sorted(fitting))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - 1] + "…"
