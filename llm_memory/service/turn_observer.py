"""What of a finished turn goes on the queue: its scope is fixed now, and an answer that may carry
words of another scope stays out."""

from __future__ import annotations

from dataclasses import replace

from ..models.conversation import ConversationId
from ..models.turns import NotObserved, ObserveOutcome, Turn
from ..reflection.model_histories import ModelHistories
from ..reflection.turn_queue import TurnQueue
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access
from ..scopes.paused_conversations import PausedConversations

_PAUSED = "paused"
"""The mark of a conversation that is off the record: it sees nothing."""


class TurnObserver:
    """What ``CognitiveService.observe`` and ``view`` do once it is ready."""

    def __init__(
        self,
        access: Access,
        paused_conversations: PausedConversations,
        histories: ModelHistories,
        turns: TurnQueue,
        life: Lifespan,
    ) -> None:
        self._access = access
        self._paused_conversations = paused_conversations
        self._histories = histories
        self._turns = turns
        self._life = life

    async def put(self, turn: Turn, conversation_id: ConversationId) -> ObserveOutcome:
        """Queue a finished turn durably."""
        if not self._paused_conversations.known:
            return NotObserved(note="pauses_unknown")
        if self._paused_conversations.since(conversation_id) or turn.view == _PAUSED:
            # Also where it has come to an end meanwhile: it was said off the record.
            return NotObserved(note="paused")
        scope = self._access.writable(conversation_id)
        switched = bool(turn.view) and turn.view != self._access.view(conversation_id)
        if switched:
            # The map has changed since the bot was shown something: its answer may tell of that.
            turn = replace(turn, recalled=())
        if await self._is_mixed(conversation_id, turn.history, switched=switched) or switched:
            turn = replace(turn, reply_text="")
        return await self._life.finish(self._turns.put(turn, scope, conversation_id))

    async def view(self, conversation_id: ConversationId, history: str, *, empty: bool) -> str:
        """The mark of what the conversation sees now; the history is noted."""
        if self._paused_conversations.since(conversation_id):
            return _PAUSED
        await self._is_mixed(conversation_id, history, empty=empty)
        return self._access.view(conversation_id)

    async def _is_mixed(
        self,
        conversation_id: ConversationId,
        history: str,
        *,
        empty: bool = False,
        switched: bool = False,
    ) -> bool:
        scope = self._access.scope_in_use(conversation_id)
        if not history or not scope:
            return False
        noting = self._histories.is_mixed(
            conversation_id.umo, history, scope, empty=empty, switched=switched
        )
        return await self._life.finish(noting)
