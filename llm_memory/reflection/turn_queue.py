"""Finished turns, queued durably with the scope in which they were said, and recallable at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from ..catalogue.unread_turns import Unread, UnreadTurns
from ..errors import StateUnavailable, VaultWriteFailed
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import MemoryDraft, MemoryKind, Refused, Source, StoredMemory, Topic
from ..models.scope import Scope
from ..models.settings import LoopSettings
from ..models.status import Notice
from ..models.turns import ObserveOutcome, QueuedTurn, Ticket, Turn
from ..models.vault_layout import topic_path
from ..remember.deeds import Deeds
from ..remember.exclusions import Exclusions
from ..remember.memory_handlers import MemoryHandlers, Said
from ..remember.rules.corrected import copies, unread_id
from ..remember.rules.gate import is_confidence
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock, make_id
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import ScopeBook
from ..text.normalising import embedded_text, preview
from ..text.scripts import fold
from ..text.turn_text import MOST_CHARS, cut, name_of, spoken
from ..vault.markdown_vault import MarkdownVault
from .rules.due import tells_something
from .turn_store import SqliteTurnStore

_MARGIN = 200
_MOST_RECALLED = 50
_PATIENCE: Final = 60.0
"""Seconds, from when it came, that a turn waits for another's lock on the file; ``_AGAIN`` between
two attempts."""
_AGAIN: Final = 1.0
_MOST_UNREAD: Final = 2_000
"""The most turns that are recallable, the newest of all scopes."""
_LONGEST: Final = 400
"""The most characters of one."""


@dataclass(eq=False)
class UnreadFollower:
    """Makes each turn recallable when it is queued, and all of them where the queue changed
    otherwise."""

    _unread: UnreadTurns
    _turns: SqliteTurnStore
    _vault: MarkdownVault
    _handlers: MemoryHandlers
    _corrected: Deeds
    _exclusions: Exclusions
    _paused_conversations: PausedConversations
    _checked: dict[str, tuple[int, bool]] = field(init=False, default_factory=dict)
    """By ticket, the scope's number of changes at the last check, and whether the turn may be told.
    What was not checked since the last change is hidden."""

    def __post_init__(self) -> None:
        self._unread.set_filter(self._is_shown, self._judge)

    async def follow(self) -> None:
        """Add what was queued, remove what no longer waits. Raises StateUnavailable."""
        known = self._unread.scopes()  # what is taken in from now on is not in the answer
        waiting = await asyncio.to_thread(self._waiting)
        kept = {ticket for ticket, (_, scope) in waiting.items() if known.get(ticket) == scope.name}
        self._unread.drop(known.keys() - kept)
        held = self._unread.scopes()
        for ticket in self._checked.keys() - held.keys():
            del self._checked[ticket]
        for turn, scope in [one for ticket, one in waiting.items() if ticket not in kept]:
            await self._take_in(turn, scope)
        await self._unread.review()

    def _waiting(self) -> dict[str, tuple[QueuedTurn, Scope]]:
        """Returns the turns that tell something, with their scopes, as far as these have a
        folder."""
        scopes = {scope.name: scope for scope in self._vault.scopes()}
        return {
            turn.ticket_id: (turn, scopes[turn.scope])
            for turn in cooperative(self._turns.newest(_MOST_UNREAD))
            if turn.scope in scopes and tells_something(turn.user_text)
        }

    async def queued(self, turn: QueuedTurn, scope: Scope, *, instead_of: str) -> None:
        """A turn was queued, in the place of another or of none."""
        self._unread.drop([instead_of])
        if tells_something(turn.user_text):
            await self._take_in(turn, scope)

    async def _take_in(self, turn: QueuedTurn, scope: Scope) -> None:
        """Make a turn recallable, if it may be remembered."""
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
            return
        memory, _ = made
        stored = StoredMemory(scope, topic_path(Topic.JOURNAL, memory.created_at), memory)
        folded = fold(embedded_text(memory))
        unread = Unread(turn.ticket_id, turn.map_key, stored, folded, copies(turn))
        await self._judge([unread])
        self._unread.put(unread)

    def _is_shown(self, one: Unread) -> bool:
        paused = self._paused_conversations.of
        if paused(one.stored.memory.provenance.conversation) or paused(one.map_key):
            return False
        return self._checked.get(one.ticket_id) == (self._changes(one), True)

    def _changes(self, one: Unread) -> int:
        return self._corrected.changes[one.stored.scope.name]

    async def _judge(self, turns: Sequence[Unread]) -> None:
        """Check which turns may be told, until none is left that was not checked since the last
        change."""
        seen = self._checked
        while stale := [t for t in turns if seen.get(t.ticket_id, (-1,))[0] != self._changes(t)]:
            seen.update(await asyncio.to_thread(self._judged, stale))

    def _judged(self, turns: Sequence[Unread]) -> dict[str, tuple[int, bool]]:
        # Each may take a millisecond. The number first: what changes meanwhile is checked again.
        return {
            one.ticket_id: (self._changes(one), self._may_be_told(one))
            for one in cooperative(turns)
        }

    def _may_be_told(self, one: Unread) -> bool:
        """Returns whether it says nothing that was corrected, or is never to be learned."""
        scope, memory = one.stored.scope.name, one.stored.memory
        forbids, revives = self._exclusions.forbids, self._corrected.texts.would_revive
        if forbids(scope, memory.judgment, memory.provenance.person):
            return False
        return not revives(scope, memory, memory.created_at, one.copies)


@dataclass(eq=False)
class TurnQueue:
    """Puts turns in."""

    _book: ScopeBook
    _turns: SqliteTurnStore
    _vault: MarkdownVault
    _clock: Clock
    _hide: Callable[[str], str]
    """Returns a text without what is private in it. It may block."""
    _settings: LoopSettings
    _notices: NoticeBoard
    _life: Lifespan
    _unread_follower: UnreadFollower
    _writing: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    """One waits for the file at a time, or all threads would."""
    _lost: int = field(init=False, default=0)

    async def put(
        self, turn: Turn, scope: Scope | Refused, conversation_id: ConversationId
    ) -> ObserveOutcome:
        """A ticket, once the turn is on disk and can be recalled. Never raises for a disk that
        refuses it: ``not_written``, and a notice counts such turns."""
        if isinstance(scope, Refused):
            return scope
        if not self._settings.reads_turns:
            return Refused("learning_paused")
        # What the bot only overhears takes no place from what is said to it.
        addressed = bool(turn.reply_text) or conversation_id.kind is ConversationKind.PRIVATE
        code = "queue_full" if addressed else "chatter_full"
        most = self._settings.most_queued // (1 if addressed else 2)
        late_at = asyncio.get_running_loop().time() + _PATIENCE
        try:
            queued = await asyncio.to_thread(self._made, turn, scope, conversation_id)
            if isinstance(queued, Refused):
                return queued
            async with self._writing:
                dropped = await self._patiently(
                    partial(self._written, queued, scope, most, may_replace=addressed), late_at
                )
        except (VaultWriteFailed, StateUnavailable, OSError, RuntimeError) as error:
            # RuntimeError: no thread can be started.
            self._lost += 1
            params = {"count": str(self._lost), "detail": str(error)}
            self._notices.post(Notice("turns_lost", params=params, error=True))
            return Refused("not_written", detail=str(error))
        self._lost = 0
        self._notices.clear("turns_lost")
        if dropped == "":
            self._notices.clear(code)
        else:
            self._notices.post(Notice(code, params={"count": str(most)}))
        if dropped is None:
            return Refused("full")
        await self._unread_follower.queued(queued, scope, instead_of=dropped)
        return Ticket(queued.ticket_id)

    async def _patiently[T](self, work: Callable[[], T], late_at: float) -> T:
        """Do work in a thread, again while another program holds the file."""
        clock = asyncio.get_running_loop().time
        while True:
            try:
                return await asyncio.to_thread(work)
            except StateUnavailable as error:
                is_late = clock() >= late_at or self._life.is_closing
                if is_late or "locked" not in error.cause:
                    raise
            await asyncio.sleep(_AGAIN)

    def _written(
        self, turn: QueuedTurn, scope: Scope, most: int, *, may_replace: bool
    ) -> str | None:
        """Returns the ticket of the turn whose place it took, empty for none; None where the queue
        is full. Blocks."""
        # The folder is where the scope is found again, also after a restart.
        self._vault.ensure(scope)
        if self._turns.count() < most:
            self._turns.put(turn)
            return ""
        day = self._clock().date()
        return (self._turns.put_instead(turn, day=day) or None) if may_replace else None

    def _made(
        self, turn: Turn, scope: Scope, conversation_id: ConversationId
    ) -> QueuedTurn | Refused:
        if self._book.no_confidence(scope) and is_confidence(turn.user_text):
            return Refused("confidence")
        user_text, reply_text = self._kept(turn.user_text), self._kept(turn.reply_text)
        if not user_text and not reply_text:
            return Refused("empty")
        now = self._clock()
        return QueuedTurn(
            ticket_id=make_id("t", now),
            scope=scope.name,
            conversation=conversation_id.umo,
            persona=conversation_id.persona or "",
            observed_at=turn.said_at or now,
            person=turn.actor.person,
            who=self._hide(name_of(turn.actor.name)),
            user_text=user_text,
            reply_text=reply_text,
            recalled=turn.recalled[:_MOST_RECALLED],
            map_key=conversation_id.map_key,
            admin=turn.actor.admin,
            stored=turn.stored[:_MOST_RECALLED],
            history=turn.history,
        )

    def _kept(self, text: str) -> str:
        # What is private is looked for in a little more than is kept, lest half a number be left.
        return cut(self._hide(spoken(text)[: MOST_CHARS + _MARGIN]))
