"""Keeps the recallable unread turns equal to the queue, and the vector index equal to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import batched
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
from ..scopes.paused_conversations import PausedConversations
from ..text.normalising import embedded_text, preview
from ..text.scripts import fold
from ..vault.markdown_vault import MarkdownVault
from .rules.worth_reading import tells_something
from .turn_store import SqliteTurnStore

_MOST: Final = 2_000
"""The most turns, the newest of all scopes."""
_LONGEST: Final = 400
"""The most characters of one."""
_SLICE: Final = 20
"""Turns that are judged in a thread at once: each may take a millisecond."""


class UnreadFollower:
    """Called whenever turns were queued or read."""

    def __init__(
        self,
        unread: UnreadTurns,
        turns: SqliteTurnStore,
        vault: MarkdownVault,
        handlers: MemoryHandlers,
        corrected: Deeds,
        exclusions: Exclusions,
        paused_conversations: PausedConversations,
    ) -> None:
        self._unread = unread
        self._turns = turns
        self._vault = vault
        self._handlers = handlers
        self._corrected = corrected
        self._exclusions = exclusions
        self._paused_conversations = paused_conversations
        self._passed_over: set[str] = set()
        self._uncorrected: dict[str, tuple[int, bool]] = {}
        """By ticket, the scope's number of changes at the last check, and whether the turn was
        uncorrected then. What was not checked since the last change is hidden."""
        self._judging = asyncio.Lock()
        unread.set_filter(self._is_shown, self._judge)

    async def follow(self) -> None:
        """Add what was queued, remove what no longer waits. Raises StateUnavailable."""
        await self._take_in()
        await self._unread.review()

    async def _take_in(self) -> None:
        waiting, scopes = await asyncio.to_thread(self._queue)
        known = self._unread.scopes()
        self._unread.drop([t for t, scope in known.items() if waiting.get(t) != scope])
        self._passed_over &= waiting.keys()
        self._uncorrected = {t: found for t, found in self._uncorrected.items() if t in waiting}
        new = waiting.keys() - self._unread.scopes().keys() - self._passed_over
        if not new:
            return
        for turn in await asyncio.to_thread(self._turns.turns, new):
            scope = scopes.get(turn.scope)
            made = None if scope is None else await self._made(turn, scope)
            if made is None:
                self._passed_over.add(turn.ticket_id)
            else:
                self._unread.put(made)

    def _queue(self) -> tuple[dict[str, str], dict[str, Scope]]:
        """Returns the waiting turns' scope names by ticket, and the scopes that have a folder."""
        waiting = dict(self._turns.unread(_MOST))
        scopes = {scope.name: scope for scope in self._vault.scopes()} if waiting else {}
        return {ticket: name for ticket, name in waiting.items() if name in scopes}, scopes

    async def _made(self, turn: QueuedTurn, scope: Scope) -> Unread | None:
        """Returns None for a turn that states nothing, or may not be remembered."""
        if not tells_something(turn.user_text):
            return None
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
        origin = one.stored.memory.provenance
        paused = self._paused_conversations.of
        if paused(origin.conversation) or paused(one.map_key):
            return False
        return self._uncorrected.get(one.ticket_id) == (self._changes(one), True)

    def _changes(self, one: Unread) -> int:
        return self._corrected.changes[one.stored.scope.name]

    async def _judge(self, turns: Sequence[Unread]) -> None:
        """Check in a thread, some at a time, which turns say what was corrected, until none is left
        that was not checked since the last change."""
        async with self._judging:
            while stale := [one for one in turns if self._is_stale(one)]:
                for some in batched(stale, _SLICE):
                    self._uncorrected |= await asyncio.to_thread(self._judged, some)

    def _is_stale(self, one: Unread) -> bool:
        return self._uncorrected.get(one.ticket_id, (-1,))[0] != self._changes(one)

    def _judged(self, turns: Sequence[Unread]) -> dict[str, tuple[int, bool]]:
        found = {}
        for one in turns:
            changes = self._changes(one)  # before: what changes meanwhile is checked again
            scope, memory = one.stored.scope.name, one.stored.memory
            is_corrected = self._corrected.texts.would_revive(
                scope, memory, memory.created_at, one.copies
            )
            person = memory.provenance.person
            forbidden = self._exclusions.forbids(scope, memory.judgment, person)
            found[one.ticket_id] = (changes, not (is_corrected or forbidden))
        return found
