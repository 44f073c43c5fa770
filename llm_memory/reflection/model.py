"""Asks the chat model: within the day's tokens, with backoff, a deadline, and one repair. An answer
goes through the caller's schema, which says what it holds or why it cannot be used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, Protocol

from ..errors import ChatFailed
from ..models.loop import Resting
from ..models.settings import LoopSettings
from ..runtime.identifiers import Clock
from ..storage.loop_file import SqliteLoopFacts
from ..text.normalising import estimate_tokens
from .rules.due import Allowance
from .rules.prompt import REPLY_TOKENS, Prompt
from .rules.reply import MOST_CHARS, Doubtful, Unreadable


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. ``tokens``: of prompt and answer together, None if the service does not
    say. ``model``: who has answered, where the label does not tell."""

    text: str
    tokens: int | None = None
    model: str = ""


class ChatModel(Protocol):
    """What the bot framework offers."""

    @property
    def label(self) -> str:
        """Its name in the status: a provider's id, or ``auto`` for the conversation's own."""

    def is_there(self, conversation: str) -> bool:
        """Returns whether a call for this conversation, or any if empty, would reach a service."""

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        """Returns one answer, without tools and history. ``conversation`` is a umo, and selects the
        service if the owner configured none. Callers set a deadline. Raises ChatFailed alone."""


type Purpose = Literal["reading", "asked", "night", "soul"]
"""``reading``: due turns, within what their group may use. ``asked``: an admin waits, so it skips
backoff and shares. ``night``: at most a fifth of the day. ``soul``: an evaluation."""
type Schema[T] = Callable[[Completion], T | Doubtful[T] | Unreadable]
"""Is called in a thread, for each of two answers at most."""

_FAILURES: Final = "model_failures"
_MOST_ANSWER: Final = 4 * REPLY_TOKENS
"""The most that one answer counts: a long one must not end all reading until tomorrow."""
_PAID: Final = ("timeout", "empty")
"""Faults for which services may charge the prompt."""
OF_PROMPT: Final = ("content", "empty")
"""Faults of what was asked: the service works, and other prompts need not wait."""
_MOST_REFUSALS: Final = 8
"""So many in a row are the service's fault after all: halving 40 turns takes fewer."""


class Rests(ChatFailed):
    """No call was made now. ``why`` says until when."""

    def __init__(self, why: Resting) -> None:
        super().__init__("resting", why)
        self.why: Resting = why


@dataclass(eq=False)
class Model:
    """Failures are stored durably, and a call counts as failed from before it is made: neither a
    restart nor a bot that dies in it shortens the backoff."""

    _chat: ChatModel | None
    """None: no model reads turns."""
    _book: SqliteLoopFacts
    _settings: LoopSettings
    _clock: Clock
    _refusals: int = field(init=False, default=0)
    """Prompts in a row that were at fault, and not the service."""

    @property
    def label(self) -> str:
        """Returns the model's label, empty without a model."""
        return self._chat.label if self._chat is not None else ""

    def unavailable_reason(self, conversation: str = "") -> Resting:
        """Returns why no model can be called for a conversation, or for any; empty if one can."""
        if self._chat is None:
            return "off"
        return "" if self._chat.is_there(conversation) else "no_provider"

    async def ask[T](
        self,
        prompt: Prompt,
        schema: Schema[T],
        *,
        conversation: str,
        purpose: Purpose,
        group: str | None = None,
    ) -> T:
        """Returns what the schema reads in the model's answer. If that cannot be used, or not all
        of it, the model is asked once more, with the reason. ``conversation``: whose model is
        asked, if the owner has chosen none. ``group``: who pays for it, None for nobody. Raises
        Rests if no call was made, ChatFailed if no answer can be used, StateUnavailable."""
        call = (conversation, purpose, group)
        completion = await self._call(prompt, *call)
        first = await asyncio.to_thread(schema, completion)
        if not isinstance(first, Doubtful | Unreadable):
            return first
        shown = completion.text if isinstance(first, Doubtful) or first.shown else ""
        try:
            completion = await self._call(prompt.again(shown, first.reason), *call)
        except ChatFailed:
            if isinstance(first, Unreadable):
                raise
            return first.value
        second = await asyncio.to_thread(schema, completion)
        found = second.value if isinstance(second, Doubtful) else second
        if not isinstance(found, Unreadable):
            return found if isinstance(first, Unreadable) else first.joined(found)
        if isinstance(first, Doubtful):
            return first.value
        raise ChatFailed("unreadable", found.reason)

    async def resting(
        self, prompt: Prompt, *, conversation: str, purpose: Purpose, group: str | None = None
    ) -> Resting:
        """Returns why a call is not made now; empty if it is. Raises StateUnavailable."""
        if unavailable := self.unavailable_reason(conversation):
            return unavailable
        if purpose != "asked" and await asyncio.to_thread(self._backs_off):
            return "backoff"
        allowed, payer = await self.allowance(), group if purpose == "reading" else None
        left = allowed.left(payer, night=purpose == "night")
        return "" if left >= prompt.tokens + REPLY_TOKENS else "budget"

    async def allowance(self) -> Allowance:
        """Returns which of the day's tokens each group may use now. Raises StateUnavailable."""
        day, book = self._clock().date(), self._book
        shares, spent = await asyncio.to_thread(lambda: (book.shares(day), book.spent(day)))
        used = {share.group: share.tokens for share in shares}
        return Allowance(self._settings.daily_tokens, spent.tokens, used)

    def _backs_off(self) -> bool:
        failures, _, at = self._book.fact(_FAILURES).partition(" ")
        *_, wait = (0.0, *self._settings.retry_seconds[: int(failures or 0)])
        # A clock that was set back further than that makes nobody wait for it.
        return wait > 0 and abs(self._clock() - datetime.fromisoformat(at)).total_seconds() < wait

    async def _call(
        self, prompt: Prompt, conversation: str, purpose: Purpose, group: str | None
    ) -> Completion:
        """Returns an answer that is not empty, with the tokens that were counted for it."""
        why = await self.resting(prompt, conversation=conversation, purpose=purpose, group=group)
        if why or self._chat is None:
            raise Rests(why)
        await asyncio.to_thread(self._note_failure)
        try:
            completion = await self._answer(self._chat, prompt, conversation)
        except ChatFailed as failed:
            paid = prompt.tokens if failed.code in _PAID else 0
            await asyncio.to_thread(self._count, paid, group, failed.code)
            raise
        told = completion.tokens or 0  # not every service says it
        estimated = prompt.tokens + estimate_tokens(completion.text[:MOST_CHARS])
        tokens = min(told if told > 0 else estimated, prompt.tokens + _MOST_ANSWER)
        fault = "" if completion.text.strip() else "empty"
        await asyncio.to_thread(self._count, tokens, group, fault)
        if fault:
            raise ChatFailed(fault)
        return replace(completion, tokens=tokens)

    async def _answer(self, chat: ChatModel, prompt: Prompt, conversation: str) -> Completion:
        call = asyncio.ensure_future(
            chat.complete(prompt.user, system=prompt.system, conversation=conversation)
        )
        try:
            # Not asyncio.timeout: a service that swallows the cancellation would block us for good.
            done, _ = await asyncio.wait([call], timeout=self._settings.call_seconds)
        finally:
            if not call.done():
                call.cancel()
                call.add_done_callback(lambda late: late.cancelled() or late.exception())
        if not done:
            raise ChatFailed("timeout")
        return call.result()

    def _note_failure(self) -> None:
        failures = int(self._book.fact(_FAILURES).partition(" ")[0] or 0)
        self._book.put_fact(_FAILURES, f"{failures + 1} {self._clock().isoformat()}")

    def _count(self, tokens: int, group: str | None, fault: str = "") -> None:
        """Count a call's tokens, and whether the service works."""
        self._book.spend(self._clock().date(), tokens=tokens, failed=bool(fault), group=group)
        self._refusals = self._refusals + 1 if fault in OF_PROMPT else 0
        if not fault or 0 < self._refusals <= _MOST_REFUSALS:
            self._book.put_fact(_FAILURES, "")
