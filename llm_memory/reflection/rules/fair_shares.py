"""Fair shares of the day's tokens, and of the places in the queue. Pure.

A total is shared equally at two levels among the parties that want some of it: first by group (each
mapped scope is one, all strangers together are one), then by party inside the group. A share is not
a quota: a party beyond its share is served after those within theirs, and tokens without other
demand are free. But tokens are granted once a day, and a flood in the morning would spend them
before the family has said a word. So strangers, and parties beyond their share while others wait,
are rate-limited: half of the day's tokens at any time, and the rest in proportion to the time of
day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ...models.loop import HeldBack, Party, Share, Use, WaitingLine
from ...models.turns import QueuedTurn
from .prompt import LEAST_TOKENS, REPLY_TOKENS

_PLENTY: Final = 10**12
LEAST_CALL: Final = LEAST_TOKENS + REPLY_TOKENS
"""Tokens of the smallest prompt with its answer."""
_DAY_SECONDS: Final = 86_400
_TURN_CHARS: Final = 100
"""The overhead of a turn in characters."""

Rank = tuple[bool, bool, int, int]


class Shares:
    """A total, how much of it each party used, and which parties want more of it."""

    def __init__(self, total: int, used: Mapping[Party, int], wanting: Collection[Party]) -> None:
        self._used = used
        self._group_used: Counter[str] = Counter()
        for party, amount in used.items():
            self._group_used[party.group] += amount
        members = Counter(party.group for party in set(wanting))
        part = total // max(len(members), 1)
        self._group_share = dict.fromkeys(members, part)
        self._own_share = {group: part // count for group, count in members.items()}
        self.within = frozenset(party for party in wanting if not self.is_beyond(party))
        """The parties that want more and are within their share."""

    def group_share(self, party: Party) -> int:
        """Returns the equal share of the party's group, 0 for a party that wants nothing."""
        return self._group_share.get(party.group, 0)

    def own_share(self, party: Party) -> int:
        """Returns the party's equal share of its group's share."""
        return self._own_share.get(party.group, 0)

    def group_used(self, party: Party) -> int:
        """Returns what all parties of its group used, including those that want nothing more."""
        return self._group_used[party.group]

    def used(self, party: Party) -> int:
        """Returns what the party used."""
        return self._used.get(party, 0)

    def is_beyond(self, party: Party) -> bool:
        """Returns whether the party, or its group, used up its share."""
        beyond = self.used(party) >= self.own_share(party)
        return beyond or self.group_used(party) >= self.group_share(party)

    def rank(self, party: Party) -> Rank:
        """Returns the sort key of service: parties within their share first, then admins and mapped
        scopes, then the group that used least, then the party that used least."""
        beyond = self.is_beyond(party)
        return (beyond, not party.known, self.group_used(party), self.used(party))


@dataclass(frozen=True, slots=True)
class Allowance:
    """Which of the day's tokens may be used now.

    Attributes:
        daily: Tokens of the whole day.
        spent: All tokens spent today, journals included.
        used: The tokens spent on turns, by party.
        until_now: What rate-limited parties may have used by now.
        overhears: Whether overheard turns may be read: until half of the tokens are spent.
    """

    daily: int
    spent: int
    used: Mapping[Party, int]
    until_now: int
    overhears: bool

    @classmethod
    def at(cls, now: datetime, daily: int, spent: int, used: Mapping[Party, int]) -> Allowance:
        """Returns the allowance of a moment, in the bot's time zone."""
        seconds = now.hour * 3600 + now.minute * 60 + now.second
        until_now = max(daily // 2, daily * seconds // _DAY_SECONDS)
        return cls(daily, spent, used, until_now, overhears=spent * 2 < daily)

    def without_shares(self) -> Allowance:
        """Returns the allowance of a day with enough tokens for all parties."""
        return replace(self, daily=_PLENTY, spent=0, used={}, until_now=_PLENTY)

    @property
    def left_for_strangers(self) -> int:
        """Returns what strangers together may still use now."""
        used = sum(amount for party, amount in self.used.items() if not party.known)
        return max(min(self.until_now - used, self.daily - self.spent), 0)

    def shares(self, wanting: Collection[Party]) -> Shares:
        """Returns the shares of the day's tokens."""
        return Shares(self.daily, self.used, wanting)

    def why_held(self, party: Party, shares: Shares) -> HeldBack:
        """Returns why others are read before the party, NO if they are not."""
        if not party.known and self.left_for_strangers < LEAST_CALL:
            return HeldBack.STRANGERS
        return HeldBack.SHARE if shares.within and shares.is_beyond(party) else HeldBack.NO

    def may_read(self, party: Party, shares: Shares) -> bool:
        """Returns whether turns of the party may be read now, if need be after others."""
        match self.why_held(party, shares):
            case HeldBack.NO:
                return True
            case HeldBack.SHARE:
                return self.spent < self.until_now
            case _:
                return False

    def served(self, line: WaitingLine, shares: Shares) -> tuple[Party, ...]:
        """Returns whose turns of a line are read together: the parties within their shares, or else
        all that may be read now. Empty: the line waits."""
        allowed = tuple(party for party in line.parties if self.may_read(party, shares))
        return tuple(party for party in allowed if not shares.is_beyond(party)) or allowed


def in_order(lines: Sequence[WaitingLine], shares: Shares) -> list[WaitingLine]:
    """Returns the lines in the order in which to read them, a stable sort. A line ranks as its
    first-ranked party."""
    ranks = {party: shares.rank(party) for line in lines for party in line.parties}
    return sorted(lines, key=lambda line: min(ranks[party] for party in line.parties))


def told(
    allowance: Allowance,
    used: Mapping[Party, Use],
    waiting: Mapping[Party, int],
    *,
    rests: bool = False,
) -> tuple[Share, ...]:
    """Returns the parties whose turns wait while others are read, and those with turns evicted
    today, the largest use first. ``rests``: the waiting turns exceed what strangers may use now."""
    shares, reads = allowance.shares(waiting.keys()), allowance.daily >= LEAST_CALL

    def held(party: Party) -> HeldBack:
        if party not in waiting or not reads:
            return HeldBack.NO
        late = HeldBack.STRANGERS if rests and not party.known else HeldBack.NO
        return allowance.why_held(party, shares) or late

    found = [
        Share(party, used.get(party, Use()), waiting.get(party, 0), held(party))
        for party in {**waiting, **used}
    ]
    found = [share for share in found if share.held or share.use.gave_way]
    return tuple(sorted(found, key=lambda one: (-one.use.tokens, -one.waiting, one.party.speaker)))


def choose_evicted(places: int, held: Mapping[Party, int], newcomer: Party) -> Party | None:
    """Returns the party whose oldest turn is evicted from a full queue for the newcomer's. None if
    the newcomer's turn is refused: its party holds its share already, or no party exceeds its own.

    Parties within their share keep all their turns, and a stranger evicts strangers only.
    """
    shares = Shares(places, held, {*held, newcomer})
    if newcomer.known and shares.group_used(newcomer) < shares.group_share(newcomer):
        beyond = [one for one in held if shares.group_used(one) > shares.group_share(one)]
    elif shares.used(newcomer) < shares.own_share(newcomer):
        beyond = [one for one in held if one.group == newcomer.group]
    else:
        return None
    beyond = [one for one in beyond if shares.used(one) > shares.own_share(one)]
    return max(
        beyond,
        key=lambda one: (not one.known, shares.group_used(one), held[one], one.scope, one.speaker),
        default=None,
    )


def split(tokens: int, turns: Sequence[QueuedTurn]) -> dict[Party, int]:
    """Split a call's cost among the speakers of its turns, by length: the bot's words count for the
    person that it answered. The parts add up to ``tokens``."""
    weights: Counter[Party] = Counter()
    for turn in turns:
        weights[party_of(turn)] += _TURN_CHARS + len(turn.user_text) + len(turn.reply_text)
    parts: dict[Party, int] = {}
    whole, said, given = sum(weights.values()), 0, 0
    for party, weight in weights.items():
        said += weight
        parts[party] = tokens * said // whole - given
        given += parts[party]
    return parts


def party_of(turn: QueuedTurn) -> Party:
    """Returns the party whose share a turn uses."""
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
