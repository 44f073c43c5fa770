"""Calls the reflection model within token budget and deadline, with backoff after failures."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from ..errors import ChatFailed
from ..models.loop import Resting
from ..models.settings import LoopSettings
from ..runtime.identifiers import Clock
from ..storage.loop_facts import SqliteLoopFacts
from .chat_port import ChatModel, Completion
from .rules.due import seconds_until_asked, wait_after
from .rules.fair_shares import LEAST_CALL, Allowance
from .rules.prompt import REPLY_TOKENS, Prompt
from .token_budget import TokenBudget

_FAILURES = "reader_failures"
_FAILED_AT = "reader_failed_at"
_SUCCEEDED_AT = "reader_succeeded_at"
_ERROR = "reader_error"
_PAID = ("timeout", "empty")
"""Faults for which services may charge tokens."""


class ModelCalls:
    """Failures and their last time are stored durably: a restart does not shorten the backoff.

    A call counts as failed from before it is made: if the bot dies in it repeatedly, each start
    waits longer, too.
    """

    def __init__(
        self,
        chat: ChatModel | None,
        book: SqliteLoopFacts,
        settings: LoopSettings,
        clock: Clock,
    ) -> None:
        self._chat = chat
        self.token_budget = TokenBudget(book, settings.daily_tokens, clock)
        self._book = book
        self._settings = settings
        self._clock = clock

    @property
    def label(self) -> str:
        """Returns the model's label, empty without a model."""
        return self._chat.label if self._chat is not None and self._settings.reads_turns else ""

    def unavailable_reason(self, conversation: str = "") -> Resting:
        """Returns why no model can be called for a conversation, or for any; NO if one can."""
        if self._chat is None or not self._settings.reads_turns:
            return "off"
        return "" if self._chat.is_there(conversation) else "no_provider"

    async def seconds_to_wait(self) -> float:
        """Returns the seconds of backoff that are left, 0 for none. Raises StateUnavailable."""
        return await asyncio.to_thread(self._seconds_to_wait)

    async def allowance(self) -> Allowance:
        """Returns which of the day's tokens each group may use now. Raises StateUnavailable."""
        return await self.token_budget.allowance()

    async def affords_any(self) -> bool:
        """Returns whether the smallest call still fits into the day's budget. Raises
        StateUnavailable."""
        return await self.token_budget.left() >= LEAST_CALL

    async def may_ask_at_night(self, prompt: Prompt, conversation: str) -> bool:
        """Returns whether a call that reads no turns may be made now. Raises StateUnavailable."""
        if self.unavailable_reason(conversation) or await self.seconds_to_wait() > 0:
            return False
        left = await self.token_budget.left_for_the_night()
        return left >= prompt.tokens + REPLY_TOKENS

    async def affords(self, prompt: Prompt) -> bool:
        """Returns whether a call that an admin asks for fits into what is left of the day. Raises
        StateUnavailable."""
        return await self.token_budget.allows(prompt.user, prompt.system, answer=REPLY_TOKENS)

    async def ask(self, prompt: Prompt, *, conversation: str = "") -> str:
        """Returns the answer of the conversation's model, at night. Raises ChatFailed,
        StateUnavailable."""
        return (await self.complete(prompt, conversation=conversation)).text

    async def complete(
        self, prompt: Prompt, *, conversation: str, night: bool = True
    ) -> Completion:
        """Returns the answer, with the tokens that it counts for. ``night``: it is one of the
        night's calls, else an admin asked for it. Raises ChatFailed, StateUnavailable."""
        if self._chat is None:
            raise ChatFailed("gone")
        count = partial(self.token_budget.count, prompt.user, prompt.system, night=night)
        await asyncio.to_thread(self._note_failure)
        try:
            completion = await self._complete(self._chat, prompt, conversation)
        except ChatFailed as error:
            await count(None, paid=error.code in _PAID)
            raise
        tokens = await count(completion)
        if not completion.text.strip():
            raise ChatFailed("empty")
        await asyncio.to_thread(self._note_success)
        return replace(completion, tokens=tokens)

    async def _complete(self, chat: ChatModel, prompt: Prompt, conversation: str) -> Completion:
        call = asyncio.ensure_future(
            chat.complete(prompt.user, system=prompt.system, conversation=conversation)
        )
        try:
            # Not asyncio.timeout: a service that swallows the cancellation would block us for good.
            done, _ = await asyncio.wait([call], timeout=self._settings.call_seconds)
        finally:
            if not call.done():
                call.cancel()
                call.add_done_callback(_forget)
        if not done:
            raise ChatFailed("timeout")
        return call.result()

    def _seconds_to_wait(self) -> float:
        failures = _number(self._book.fact(_FAILURES))
        failed_at = _moment(self._book.fact(_FAILED_AT))
        if not failures or failed_at is None:
            return 0.0
        now = self._clock()
        if now < failed_at:  # the clock was set back: start the backoff over, once
            failed_at = now
            self._book.put_fact(_FAILED_AT, now.isoformat())
        wait: timedelta = wait_after(failures, self._settings.retry_seconds)
        return seconds_until_asked(now, failed_at, wait)

    def _note_failure(self) -> None:
        failures = _number(self._book.fact(_FAILURES))
        self._book.put_fact(_FAILED_AT, self._clock().isoformat())
        self._book.put_fact(_FAILURES, str(failures + 1))

    def _note_success(self) -> None:
        self._book.put_fact(_FAILURES, "")
        self._book.put_fact(_SUCCEEDED_AT, self._clock().isoformat())


def _forget(call: asyncio.Future[Completion]) -> None:
    if not call.cancelled():
        call.exception()


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
