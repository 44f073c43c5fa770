"""What the loop's calls may cost, and have cost: one budget a local day, for all that ask a
model."""

from __future__ import annotations

import asyncio
from datetime import date

from ..models.loop import Spent
from ..policies.text import estimate_tokens
from ..ports.chat import Completion
from ..ports.loop import LoopBook
from .identifiers import Clock

_MOST = 10_000_000
"""Tokens of one call. No service counts right that says more."""


class Spending:
    """Counted where it is durable, so that a restart makes nothing free."""

    def __init__(self, book: LoopBook, daily_tokens: int, clock: Clock) -> None:
        self._book = book
        self._daily = daily_tokens
        self._clock = clock

    @property
    def daily(self) -> int:
        """Tokens a day; 0 for none at all."""
        return self._daily

    async def today(self) -> Spent:
        """All calls of this local day. Raises StateUnavailable."""
        return await asyncio.to_thread(self._book.spent, self._today())

    async def left(self) -> int:
        """Tokens of this local day. Raises StateUnavailable."""
        return max(self._daily - (await self.today()).tokens, 0)

    async def allows(self, prompt: str, system: str, *, answer: int = 0) -> bool:
        """Whether a call with this prompt, and an answer of so many tokens, still fits, as far as
        one can tell before it. Raises StateUnavailable."""
        asked = estimate_tokens(prompt) + estimate_tokens(system)
        return await self.left() >= asked + answer

    async def count(
        self, prompt: str, system: str, completion: Completion | None, *, paid: bool = True
    ) -> None:
        """One call more. What the service does not say is estimated; None stands for a call that
        failed, whose prompt may have been ``paid`` all the same. Raises StateUnavailable."""
        asked = estimate_tokens(prompt) + estimate_tokens(system)
        if completion is None:
            tokens = asked if paid else 0
        elif completion.tokens is not None and 0 < completion.tokens < _MOST:
            tokens = completion.tokens
        else:
            # In a thread: nobody knows how long an answer is.
            tokens = asked + await asyncio.to_thread(estimate_tokens, completion.text)
        day, failed = self._today(), completion is None
        await asyncio.to_thread(self._book.spend, day, tokens=tokens, failed=failed)

    def _today(self) -> date:
        return self._clock().date()
