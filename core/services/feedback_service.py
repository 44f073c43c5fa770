"""Finished turns: queued with their conversation, and read behind the bot when it is time."""

from __future__ import annotations

from ...llm_memory import ConversationId, Engine, ObserveOutcome, Ticket, Turn


class FeedbackService:
    """What the hooks hand their turns to, and what the owner task runs behind the bot.

    It knows the conversation and never a scope: that is decided, and kept with the turn, below.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def queue(self, turn: Turn, conversation_id: ConversationId) -> ObserveOutcome:
        """Put a finished turn onto the durable queue and wake the reflection.

        Raises EngineClosed, EngineOff.
        """
        outcome = await self._engine.service.observe(turn, conversation_id=conversation_id)
        if isinstance(outcome, Ticket):
            self._engine.reflection.wake()
        return outcome

    async def run(self) -> None:
        """Read what is due, until cancelled. The engine is open."""
        await self._engine.reflection.run()
