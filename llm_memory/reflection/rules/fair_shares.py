"""Who is read next, within the day's tokens. Pure.

The group (a mapped scope, or all unmapped conversations together) that used the fewest tokens today
is read next. Strangers may use half of the day, and the night a fifth: a flood of theirs leaves
some for those who speak later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...models.loop import UNMAPPED, WaitingLine
from .prompt import LEAST_TOKENS, REPLY_TOKENS

LEAST_CALL: Final = LEAST_TOKENS + REPLY_TOKENS
"""Tokens of the smallest prompt with its answer."""
_OF_NIGHT: Final = 5


@dataclass(frozen=True, slots=True)
class Allowance:
    """Which of the day's tokens may be used now.

    Attributes:
        daily: Tokens of the whole day.
        spent: All tokens spent today.
        used: Those that each group used. The night, and a soul's evaluation, used the rest.
    """

    daily: int
    spent: int
    used: Mapping[str, int]

    @property
    def left(self) -> int:
        """Returns the tokens of the day that nobody has used."""
        return max(self.daily - self.spent, 0)

    @property
    def left_for_night(self) -> int:
        """Returns the tokens that calls may use now which no group pays for."""
        return min(self.left, self.daily // _OF_NIGHT - (self.spent - sum(self.used.values())))

    @property
    def overhears(self) -> bool:
        """Returns whether overheard turns may be read: until half of the tokens are spent."""
        return self.spent * 2 < self.daily

    def left_for(self, group: str) -> int:
        """Returns the tokens that a group may use now."""
        if group != UNMAPPED:
            return self.left
        return max(min(self.left, self.daily // 2 - self.used.get(UNMAPPED, 0)), 0)

    def in_order(self, lines: Sequence[WaitingLine]) -> list[WaitingLine]:
        """Returns the lines that may be read now: those of the group that used the fewest tokens
        first, of one group in the order in which they came."""
        allowed = [line for line in lines if self.left_for(line.group) >= LEAST_CALL]
        return sorted(allowed, key=lambda line: self.used.get(line.group, 0))
