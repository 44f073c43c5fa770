"""Who is read next, within the day's tokens, and who makes room in a full queue. Pure.

The group (a mapped scope, or all unmapped conversations together) that used the fewest tokens today
is read next, and inside a conversation the speakers take turns. Tokens are granted once a day, so a
flood in the morning must leave some for those who speak later: unmapped conversations may use half
of the day, and each group that was read this week, but not yet today, has a part kept for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...models.loop import UNMAPPED, Party, WaitingLine
from ...models.turns import QueuedTurn
from .prompt import LEAST_TOKENS, REPLY_TOKENS

LEAST_CALL: Final = LEAST_TOKENS + REPLY_TOKENS
"""Tokens of the smallest prompt with its answer."""
_KEPT: Final = 5
"""A fifth of the day is kept for a group that was not read today; for all of them half at most."""
_TURN_CHARS: Final = 100
"""The overhead of a turn in characters."""


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

    def left_for(self, *groups: str) -> int:
        """Returns the tokens that the groups may use now: of several, what the freest may."""
        return max(map(self._left_for, groups), default=0)

    def _left_for(self, group: str) -> int:
        others = sum(not used for name, used in self.used.items() if name != group)
        kept = self.daily // max(_KEPT, 2 * len(self.used)) * others
        left = self.daily - self.spent - kept
        if group == UNMAPPED:
            left = min(left, self.daily // 2 - self.used.get(UNMAPPED, 0))
        return max(left, 0)

    def in_order(self, lines: Sequence[WaitingLine]) -> list[WaitingLine]:
        """Returns the lines that may be read now: those of the group that used the fewest tokens
        first, of one group in the order in which they came."""
        allowed = [line for line in lines if self.left_for(*line.groups) >= LEAST_CALL]
        return sorted(allowed, key=lambda line: min(self.used.get(one, 0) for one in line.groups))

    def admins_only(self, line: WaitingLine) -> bool:
        """Returns whether of an unmapped conversation an admin's turns alone may be read."""
        return UNMAPPED in line.groups and self.left_for(UNMAPPED) < LEAST_CALL


def choose_evicted(held: Mapping[Party, int], newcomer: Party) -> Party | None:
    """Returns the party whose oldest turn a full queue drops for the newcomer's: of the group that
    holds the most places, the speaker who holds the most. None if that is the newcomer, whose turn
    is refused: what is queued is never dropped for one who holds as much."""
    groups: Counter[str] = Counter()
    for party, count in held.items():
        groups[party.group] += count
    group, most = max(groups.items(), key=lambda one: (one[1], one[0]), default=("", 0))
    if groups[newcomer.group] >= most:
        group = newcomer.group
    members = (party for party in held if party.group == group)
    largest = max(members, key=lambda one: (held[one], one.scope, one.speaker), default=newcomer)
    if group == newcomer.group and held.get(newcomer, 0) >= held.get(largest, 0):
        return None
    return largest


def split(tokens: int, turns: Sequence[QueuedTurn]) -> dict[str, int]:
    """Split a call's cost among the groups of its turns, by length: the bot's words count for the
    person that it answered. The parts add up to ``tokens``."""
    weights: Counter[str] = Counter()
    for turn in turns:
        weights[party_of(turn).group] += _TURN_CHARS + len(turn.user_text) + len(turn.reply_text)
    parts: dict[str, int] = {}
    whole, said, given = sum(weights.values()), 0, 0
    for group, weight in weights.items():
        said += weight
        parts[group] = tokens * said // whole - given
        given += parts[group]
    return parts


def party_of(turn: QueuedTurn) -> Party:
    """Returns the party that a turn belongs to."""
    return Party.of(turn.scope, turn.person, turn.conversation, admin=turn.admin)


def round_robin(turns: Sequence[QueuedTurn]) -> list[QueuedTurn]:
    """Returns the turns round-robin: the first of each speaker, then the second of each, and so
    on."""
    so_far: Counter[Party] = Counter()
    order = []
    for place, turn in enumerate(turns):
        party = party_of(turn)
        order.append((so_far[party], place, turn))
        so_far[party] += 1
    return [turn for _, _, turn in sorted(order, key=lambda one: one[:2])]
