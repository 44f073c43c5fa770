"""The token budget of a local day, shared by all callers of the model, and its use."""

from __future__ import annotations

import asyncio
from datetime import date

from ..models.loop import Spent
from ..runtime.identifiers import Clock
from ..storage.loop_facts import SqliteLoopFacts
from ..text.normalising import estimate_tokens
from .chat_port import Completion
from .rules.fair_shares import Allowance
from .rules.prompt import REPLY_TOKENS

_MOST_ANSWER = 4 * REPLY_TOKENS
"""The most that one answer counts, whatever its length and the cost that the service reports:
enough for a model that thinks aloud."""
_IMPLAUSIBLE = 10_000_000
"""A reported cost of so many tokens for one call is ignored."""
_NIGHT, _NIGHT_SHARE = "tokens_of_the_night", 5
"""The fact that keeps what calls without turns used of a day, and which part of it they may use."""
_CHARS_A_TOKEN = 4
"""The most characters that are estimated as one token."""


class TokenBudget:
    """Counted durably, so that a restart does not reset the budget."""

    def __init__(self, book: SqliteLoopFacts, daily_tokens: int, clock: Clock) -> None:
        self._book = book
        self._daily = daily_tokens
        self._clock = clock

    @property
    def daily(self) -> int:
        """Returns the tokens of a day; 0 for none at all."""
        return self._daily

    async def today(self) -> Spent:
        """Returns what all calls of this local day used. Raises StateUnavailable."""
        return await asyncio.to_thread(self._book.spent, self._today())

    async def left(self) -> int:
        """Returns the tokens left of this local day. Raises StateUnavailable."""
        return max(self._daily - (await self.today()).tokens, 0)

    async def left_for_the_night(self) -> int:
        """Returns what calls that read no turns may still use of this local day: a fifth of it at
        most. Raises StateUnavailable."""
        used = await asyncio.to_thread(self._night_used, self._today())
        return min(self._daily // _NIGHT_SHARE - used, await self.left())

    async def allowance(self) -> Allowance:
        """Returns what may be used now, and what each group used today. Raises StateUnavailable."""
        return await asyncio.to_thread(self._allowance)

    def _allowance(self) -> Allowance:
        day = self._today()
        used = {share.group: share.tokens for share in self._book.shares(day)}
        return Allowance(self._daily, self._book.spent(day).tokens, used)

    async def allows(self, prompt: str, system: str, *, answer: int = 0) -> bool:
        """Returns whether a call with this prompt, and an answer of so many tokens, is estimated to
        fit. Raises StateUnavailable."""
        asked = estimate_tokens(prompt) + estimate_tokens(system)
        return await self.left() >= asked + answer

    async def count(
        self,
        prompt: str,
        system: str,
        completion: Completion | None,
        *,
        paid: bool = True,
        night: bool = True,
    ) -> int:
        """Count one call. Returns the tokens that it counts for.

        A cost that the service does not report is estimated; None stands for a failed call, whose
        prompt may have been ``paid`` all the same. An answer counts for at most ``_MOST_ANSWER``
        and half of the day: one long reply must not end all reading until tomorrow.

        Args:
            night: The call was the night's, else an admin asked for it.

        Raises StateUnavailable.
        """
        asked = estimate_tokens(prompt) + estimate_tokens(system)
        if completion is None:
            tokens = asked if paid else 0
        else:
            most = max(min(_MOST_ANSWER, self._daily // 2), REPLY_TOKENS)
            tokens = completion.tokens or 0
            if not 0 < tokens < _IMPLAUSIBLE:
                tokens = asked + estimate_tokens(completion.text[: most * _CHARS_A_TOKEN])
            tokens = min(tokens, asked + most)
        day, failed = self._today(), completion is None
        await asyncio.to_thread(self._book.spend, day, tokens=tokens, failed=failed)
        if night:
            await asyncio.to_thread(self._count_night, day, tokens)
        return tokens

    def _night_used(self, day: date) -> int:
        noted, _, tokens = self._book.fact(_NIGHT).partition(" ")
        return int(tokens) if noted == day.isoformat() and tokens.isdecimal() else 0

    def _count_night(self, day: date, tokens: int) -> None:
        used = self._night_used(day) + tokens
        self._book.put_fact(_NIGHT, f"{day.isoformat()} {used}")

    def _today(self) -> date:
        return self._clock().date()
