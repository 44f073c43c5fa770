"""Who is read next, within the day's tokens. Pure.

The group (a mapped scope, or all unmapped conversations together) that used the fewest tokens today
is read next. Tokens are granted once a day, so a
flood in the morning must leave some for those who speak later: unmapped conversations may use half
of the day, and each group that was read this week, but not yet today, has a part kept for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...models.loop import UNMAPPED, WaitingLine
from .prompt import LEAST_TOKENS, REPLY_TOKENS

LEAST_CALL: Final = LEAST_TOKENS + REPLY_TOKENS
"""Tokens of the smallest prompt with its answer."""
_KEPT: Final = 5
"""A fifth of the day is kept for a group that was not read today; for all of them half at most."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Which of the day's tokens may be used now.

    Attributes:
        daily: Tokens of the whole day.
        spent: All tokens spent today, those of the night included.
        used: Tokens that each group used today; 0 for one that was read this week but not today.
    """

    daily: int
    spent: int
    used: Mapping[str, int]

    @property
    def overhears(self) -> bool:
        """Returns whether overheard turns may be read: until half of the tokens are spent."""
        return self.spent * 2 < self.daily

    def left_for(self, group: str) -> int:
        """Returns the tokens that a group may use now."""
        others = sum(not used for name, used in self.used.items() if name != group)
        kept = self.daily // max(_KEPT, 2 * len(self.used)) * others
        left = self.daily - self.spent - kept
        if group == UNMAPPED:
            left = min(left, self.daily // 2 - self.used.get(UNMAPPED, 0))
        return max(left, 0)

    def in_order(self, lines: Sequence[WaitingLine]) -> list[WaitingLine]:
        """Returns the lines that may be read now: those of the group that used the fewest tokens
        first, of one group in the order in which they came."""
        allowed = [line for line in lines if self.left_for(line.group) >= LEAST_CALL]
        return sorted(allowed, key=lambda line: self.used.get(line.group, 0))
