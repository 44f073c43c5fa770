"""Finished turns, queued durably with the scope in which they were said, and recallable at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from ..catalogue.unread_turns import Unread, UnreadTurns
from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
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
from ..storage.state_store import SqliteStateStore
from ..text.normalising import embedded_text, preview
from ..text.scripts import fold
from ..text.turn_text import MOST_CHARS, cut, name_of, spoken
from ..vault.markdown_vault import MarkdownVault
from .rules.due import tells_something
from .turn_store import SqliteTurnStore

_MARGIN: Final = 200
_MOST_RECALLED: Final = 50
_PATIENCE: Final = 60.0
"""Seconds, from when it came, that a turn waits for another's lock on the file; ``_AGAIN`` between
two attempts."""
_AGAIN: Final = 1.0
_MOST_UNREAD: Final = 2_000
"""The most turns that are recallable, the newest."""
_LONGEST: Final = 400
"""The most characters of one."""


@dataclass(eq=False)
class ModelHistories:
    """Notes durably in which scope each chat history is given to the model: an answer may quote
    what was said in it while the conversation had another scope."""

    _state: SqliteStateStore
    _mixed: set[str] = field(init=False, default_factory=set)
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def is_mixed(
        self, umo: str, history: str, scope: str, *, empty: bool = False, switched: bool = False
    ) -> bool:
        """Note that the history is used in this scope, or was in another one a moment ago
        (``switched``). Returns True if it may hold words of another, also if that is unknown;
        ``empty``: it has no turns, so its earlier use does not count."""
        async with self._lock:
            try:
                former = await asyncio.to_thread(self._state.model_history, umo, history)
                mixed = switched or (former not in (None, (scope, False)) and not empty)
                if (scope, mixed) != former:
                    await asyncio.to_thread(
                        self._state.note_model_history, umo, history, scope, mixed=mixed
                    )
            except StateUnavailable as error:
                logger.warning("state_not_written", error=error)
                return True
            (self._mixed.add if mixed else self._mixed.discard)(umo)
        return mixed

    async def is_of(self, umo: str, history: str, scope: str) -> bool:
        """Returns whether all of the history was made in this scope. Raises StateUnavailable."""
        noted = await asyncio.to_thread(self._state.model_history, umo, history)
        return noted == (scope, False)

    def current_is_mixed(self, umo: str) -> bool:
        """Returns ``is_mixed`` of the history used last since the start, False for none."""
        return umo in self._mixed


@dataclass(eq=False)
class UnreadFollower:
    """Makes each turn recallable when it is queued, and all where the queue changed otherwise."""

    _unread: UnreadTurns
    _turns: SqliteTurnStore
    _vault: MarkdownVault
    _handlers: MemoryHandlers
    _corrected: Deeds
    _exclusions: Exclusions
    _paused_conversations: PausedConversations
    _told: dict[str, int] = field(init=False, default_factory=dict)
    """By ticket, the scope's number of changes when it was found fit to be told: hides it later."""

    def __post_init__(self) -> None:
        self._unread.set_filter(self._is_shown, self._judge)

    async def follow(self) -> None:
        """Add what was queued, remove what no longer waits. Raises StateUnavailable."""
        known = self._unread.scopes()  # what is taken in from now on is not in the answer
        waiting = await asyncio.to_thread(self._waiting)
        kept = {(ticket, scope.name) for ticket, (_, scope) in waiting.items()}
        self._unread.drop([ticket for ticket, _ in known.items() - kept])
        held = self._unread.scopes()
        self._told = {ticket: self._told[ticket] for ticket in self._told.keys() & held.keys()}
        for ticket, (turn, scope) in waiting.items():
            # One that was there before has been read, or moved, since it was looked for.
            if ticket not in held and known.get(ticket) != scope.name:
                await self._take_in(turn, scope)
        await self._unread.review()

    def _waiting(self) -> dict[str, tuple[QueuedTurn, Scope]]:
        """Returns the turns that tell something and whose scopes have a folder, with these."""
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
        if not isinstance(made, Refused):
            stored = StoredMemory(scope, topic_path(Topic.JOURNAL, turn.observed_at), made[0])
            folded = fold(embedded_text(stored.memory))
            unread = Unread(turn.ticket_id, turn.map_key, stored, folded, copies(turn))
            await self._judge([unread])
            self._unread.put(unread)

    def _is_shown(self, one: Unread) -> bool:
        names = (one.stored.memory.provenance.conversation, one.map_key)
        if any(map(self._paused_conversations.of, names)):
            return False
        return self._told.get(one.ticket_id) == self._corrected.changes[one.stored.scope.name]

    async def _judge(self, turns: Sequence[Unread]) -> None:
        """Look which turns may be told: each may take a millisecond."""
        numbers = {one.ticket_id: self._corrected.changes[one.stored.scope.name] for one in turns}
        stale = [one for one in turns if self._told.get(one.ticket_id) != numbers[one.ticket_id]]
        for one in await asyncio.to_thread(self._fit, stale):
            self._told[one.ticket_id] = numbers[one.ticket_id]

    def _fit(self, turns: Sequence[Unread]) -> list[Unread]:
        """Returns those that say nothing that was corrected, or is never to be learned. Blocks."""
        forbids, revives = self._exclusions.forbids, self._corrected.texts.would_revive
        return [
            one
            for one in cooperative(turns)
            for scope, said in [(one.stored.scope.name, one.stored.memory)]
            if not forbids(scope, said.judgment, said.provenance.person)
            and not revives(scope, said, said.created_at, one.copies)
        ]


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
        self, turn: Turn, scope: Scope | Refused, where: ConversationId
    ) -> ObserveOutcome:
        """A ticket, once the turn is on disk and can be recalled. Where a disk refuses it,
        ``not_written``, and a notice counts such turns."""
        if isinstance(scope, Refused):
            return scope
        if not self._settings.reads_turns:
            return Refused("learning_paused")
        # What the bot only overhears takes no place from what is said to it.
        addressed = bool(turn.reply_text) or where.kind is ConversationKind.PRIVATE
        code = "queue_full" if addressed else "chatter_full"
        most = self._settings.most_queued // (1 if addressed else 2)
        late_at = asyncio.get_running_loop().time() + _PATIENCE
        try:
            queued = await asyncio.to_thread(self._made, turn, scope, where)
            if isinstance(queued, Refused):
                return queued
            async with self._writing:
                dropped = await self._patiently(
                    partial(self._written, queued, scope, most, may_replace=addressed), late_at
                )
        except (VaultWriteFailed, StateUnavailable, OSError, RuntimeError) as error:
            # RuntimeError: no thread can be started.
            self._lost += 1
            told = {"count": str(self._lost), "detail": str(error)}
            self._notices.post(Notice("turns_lost", params=told, error=True))
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
        while True:
            try:
                return await asyncio.to_thread(work)
            except StateUnavailable as error:
                is_late = asyncio.get_running_loop().time() >= late_at or self._life.is_closing
                if is_late or "locked" not in error.cause:
                    raise
            await asyncio.sleep(_AGAIN)

    def _written(
        self, turn: QueuedTurn, scope: Scope, most: int, *, may_replace: bool
    ) -> str | None:
        """Returns whose place it took, empty for none; None where the queue is full. Blocks."""
        # The folder is where the scope is found again, also after a restart.
        self._vault.ensure(scope)
        if self._turns.count() < most:
            self._turns.put(turn)
            return ""
        return self._turns.put_instead(turn, self._clock().date()) if may_replace else None

    def _made(self, turn: Turn, scope: Scope, where: ConversationId) -> QueuedTurn | Refused:
        if self._book.no_confidence(scope) and is_confidence(turn.user_text):
            return Refused("confidence")
        # What is private is looked for in a little more than is kept, lest half a number be left.
        user_text, reply_text = (
            cut(self._hide(spoken(text)[: MOST_CHARS + _MARGIN]))
            for text in (turn.user_text, turn.reply_text)
        )
        if not user_text and not reply_text:
            return Refused("empty")
        now = self._clock()
        return QueuedTurn(
            ticket_id=make_id("t", now),
            scope=scope.name,
            conversation=where.umo,
            persona=where.persona or "",
            observed_at=turn.said_at or now,
            person=turn.actor.person,
            who=self._hide(name_of(turn.actor.name)),
            user_text=user_text,
            reply_text=reply_text,
            recalled=turn.recalled[:_MOST_RECALLED],
            map_key=where.map_key,
            admin=turn.actor.admin,
            stored=turn.stored[:_MOST_RECALLED],
            history=turn.history,
        )
