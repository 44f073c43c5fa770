"""Keeps the recallable unread turns equal to the queue, and the vector index equal to them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..catalogue.unread_turns import Unread, UnreadTurns
from ..models.conversation import Actor
from ..models.data_models import MemoryDraft, MemoryKind, Refused, Source, StoredMemory, Topic
from ..models.scope import Scope
from ..models.turns import QueuedTurn
from ..models.vault_layout import topic_path
from ..remember.deeds import Deeds
from ..remember.exclusions import Exclusions
from ..remember.memory_handlers import MemoryHandlers, Said
from ..remember.rules.corrected import copies, unread_id
from ..runtime.cooperative import cooperative
from ..scopes.paused_conversations import PausedConversations
from ..text.normalising import embedded_text, preview
from ..text.scripts import fold
from ..vault.markdown_vault import MarkdownVault
from .rules.due import tells_something
from .turn_store import SqliteTurnStore

_MOST: Final = 2_000
"""The most turns, the newest of all scopes."""
_LONGEST: Final = 400
"""The most characters of one."""


@dataclass(eq=False)
class UnreadFollower:
    """Takes in each turn when it is queued, and all of them where the queue changed otherwise."""

    _unread: UnreadTurns
    _turns: SqliteTurnStore
    _vault: MarkdownVault
    _handlers: MemoryHandlers
    _corrected: Deeds
    _exclusions: Exclusions
    _paused_conversations: PausedConversations
    _silent: set[str] = field(init=False, default_factory=set)
    """Tickets of turns that state nothing, or may not be remembered."""
    _uncorrected: dict[str, tuple[int, bool]] = field(init=False, default_factory=dict)
    """By ticket, the scope's number of changes at the last check, and whether the turn was
    uncorrected then. What was not checked since the last change is hidden."""

    def __post_init__(self) -> None:
        self._unread.set_filter(self._is_shown, self._judge)

    async def follow(self) -> None:
        """Add what was queued, remove what no longer waits. Raises StateUnavailable."""
        known = self._unread.scopes()  # what is taken in from now on is not in the answer
        waiting = await asyncio.to_thread(self._waiting)
        kept = {ticket for ticket, scope in waiting.items() if known.get(ticket) == scope.name}
        self.let_go(known.keys() - kept)
        held = self._unread.scopes().keys()
        for ticket in self._uncorrected.keys() - held:
            del self._uncorrected[ticket]
        self._silent &= waiting.keys()
        new = waiting.keys() - held - self._silent
        for turn in await asyncio.to_thread(self._turns.turns, new):
            if turn.scope == waiting[turn.ticket_id].name:
                await self.take_in(turn, waiting[turn.ticket_id])
        await self._unread.review()

    def _waiting(self) -> dict[str, Scope]:
        """Returns the scopes of the turns by ticket, as far as they have a folder."""
        scopes = {scope.name: scope for scope in self._vault.scopes()}
        unread = self._turns.unread(_MOST)
        return {ticket: scopes[name] for ticket, name in unread if name in scopes}

    def let_go(self, tickets: Collection[str]) -> None:
        """These turns no longer wait."""
        self._unread.drop(tickets)

    async def take_in(self, turn: QueuedTurn, scope: Scope) -> None:
        """Make a turn recallable, as far as it states something that may be remembered."""
        made = await self._made(turn, scope) if tells_something(turn.user_text) else None
        if made is None:
            self._silent.add(turn.ticket_id)
            return
        await self._judge([made])
        self._unread.put(made)

    async def _made(self, turn: QueuedTurn, scope: Scope) -> Unread | None:
        draft = MemoryDraft(
            preview(turn.user_text, _LONGEST),
            kind=MemoryKind.EVENT,
            active=False,
            source=Source.REFLECTION,
            actor=Actor(turn.person, turn.who),
            said_at=turn.observed_at,
        )
        said = Said(turn.conversation, turn.persona)
        made = await self._handlers.made(draft, scope, said, unread_id(turn.ticket_id))
        if isinstance(made, Refused):
            return None
        memory, _ = made
        stored = StoredMemory(scope, topic_path(Topic.JOURNAL, memory.created_at), memory)
        folded = fold(embedded_text(memory))
        return Unread(turn.ticket_id, turn.map_key, stored, folded, copies(turn))

    def _is_shown(self, one: Unread) -> bool:
        paused = self._paused_conversations.of
        if paused(one.stored.memory.provenance.conversation) or paused(one.map_key):
            return False
        return self._uncorrected.get(one.ticket_id) == (self._changes(one), True)

    def _changes(self, one: Unread) -> int:
        return self._corrected.changes[one.stored.scope.name]

    async def _judge(self, turns: Sequence[Unread]) -> None:
        """Check which turns say what was corrected, until none is left that was not checked since
        the last change."""
        found = self._uncorrected
        while stale := [t for t in turns if found.get(t.ticket_id, (-1,))[0] != self._changes(t)]:
            found.update(await asyncio.to_thread(self._judged, stale))

    def _judged(self, turns: Sequence[Unread]) -> dict[str, tuple[int, bool]]:
        found = {}
        for one in cooperative(turns):  # each may take a millisecond
            # The number first: what changes meanwhile is checked again.
            changes, memory = self._changes(one), one.stored.memory
            scope = one.stored.scope.name
            is_corrected = self._corrected.texts.would_revive(
                scope, memory, memory.created_at, one.copies
            )
            person = memory.provenance.person
            forbidden = self._exclusions.forbids(scope, memory.judgment, person)
            found[one.ticket_id] = (changes, not (is_corrected or forbidden))
        return found
