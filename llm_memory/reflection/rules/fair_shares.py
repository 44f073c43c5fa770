"""Fair shares of the day's tokens, and of the places in the queue. Pure.

A total is shared equally at two levels among those who want some of it: first by group (each mapped
scope is one, all strangers together are one), then by party inside the group. A share is no quota:
who is beyond it is served after those within theirs, and what nobody else wants is free. But tokens
come once a day, and a flood in the morning would spend them before the family has said a word. So
strangers, and parties beyond their share while others wait, are held to a pace: half of the day's
tokens at any time, and the rest as the day passes.
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
"""Tokens of the smallest question with its answer."""
_DAY_SECONDS: Final = 86_400
_TURN_CHARS: Final = 100
"""What a turn costs besides its words, in characters."""

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
        """Those who want more and are within their share."""

    def group_share(self, party: Party) -> int:
        """The equal part of the party's group, 0 for a party that wants nothing."""
        return self._group_share.get(party.group, 0)

    def own_share(self, party: Party) -> int:
        """The party's equal part of its group's."""
        return self._own_share.get(party.group, 0)

    def group_used(self, party: Party) -> int:
        """What all parties of its group used, those that want nothing more included."""
        return self._group_used[party.group]

    def used(self, party: Party) -> int:
        """What the party used."""
        return self._used.get(party, 0)

    def is_beyond(self, party: Party) -> bool:
        """Whether the party, or its group, used up its share."""
        beyond = self.used(party) >= self.own_share(party)
        return beyond or self.group_used(party) >= self.group_share(party)

    def rank(self, party: Party) -> Rank:
        """The smallest is served first: who is within its share, then admins and mapped scopes,
        then the group that used least, then the party that did."""
        beyond = self.is_beyond(party)
        return (beyond, not party.known, self.group_used(party), self.used(party))


@dataclass(frozen=True, slots=True)
class Allowance:
    """What of the day's tokens may be used now.

    Attributes:
        daily: Tokens of the whole day.
        spent: All that was spent today, journals included.
        used: By whom, as far as it was for somebody's turns.
        until_now: What those who are held to a pace may have used by now.
        overhears: Whether what was not said to the bot may be read: until half of the tokens are
            spent.
    """

    daily: int
    spent: int
    used: Mapping[Party, int]
    until_now: int
    overhears: bool

    @classmethod
    def at(cls, now: datetime, daily: int, spent: int, used: Mapping[Party, int]) -> Allowance:
        """The allowance of a moment, in the bot's time zone."""
        seconds = now.hour * 3600 + now.minute * 60 + now.second
        until_now = max(daily // 2, daily * seconds // _DAY_SECONDS)
        return cls(daily, spent, used, until_now, overhears=spent * 2 < daily)

    def without_shares(self) -> Allowance:
        """The same for a day on which there is enough for everybody."""
        return replace(self, daily=_PLENTY, spent=0, used={}, until_now=_PLENTY)

    @property
    def left_for_strangers(self) -> int:
        """What strangers together may still use now."""
        used = sum(amount for party, amount in self.used.items() if not party.known)
        return max(min(self.until_now - used, self.daily - self.spent), 0)

    def shares(self, wanting: Collection[Party]) -> Shares:
        """Of the day's tokens."""
        return Shares(self.daily, self.used, wanting)

    def why_held(self, party: Party, shares: Shares) -> HeldBack:
        """Why others are read before the party, NO where they are not."""
        if not party.known and self.left_for_strangers < LEAST_CALL:
            return HeldBack.STRANGERS
        return HeldBack.SHARE if shares.within and shares.is_beyond(party) else HeldBack.NO

    def may_read(self, party: Party, shares: Shares) -> bool:
        """Whether turns of the party may be read now, after those of others if need be."""
        match self.why_held(party, shares):
            case HeldBack.NO:
                return True
            case HeldBack.SHARE:
                return self.spent < self.until_now
            case _:
                return False

    def served(self, line: WaitingLine, shares: Shares) -> tuple[Party, ...]:
        """Whose turns of a line are read together: of those within their shares, or else of all
        that may be read now. Empty: the line waits."""
        allowed = tuple(party for party in line.parties if self.may_read(party, shares))
        return tuple(party for party in allowed if not shares.is_beyond(party)) or allowed


def in_order(lines: Sequence[WaitingLine], shares: Shares) -> list[WaitingLine]:
    """Lines as they are to be read; those of equal rank stay in the order in which they came. A
    line ranks as the party in it that ranks first."""
    ranks = {party: shares.rank(party) for line in lines for party in line.parties}
    return sorted(lines, key=lambda line: min(ranks[party] for party in line.parties))


def told(
    allowance: Allowance,
    used: Mapping[Party, Use],
    waiting: Mapping[Party, int],
    *,
    rests: bool = False,
) -> tuple[Share, ...]:
    """Parties whose turns wait while others are read, and those whose turns gave way today: who
    used most first. ``rests``: what waits did not fit into what strangers may use now."""
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
    """Whose oldest turn leaves a full queue for one of the newcomer's. None where the newcomer's is
    refused: its party holds its share already, or nobody holds more than theirs.

    Parties within their share keep all that they hold, and a stranger displaces strangers alone.
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
    """What a call costs each of those who spoke in its turns, by how much was said: the words of
    the bot count for the person that it answered. The parts add up to ``tokens``."""
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
    """Whose share a turn uses."""
    return Party.of(turn.scope, turn.person, turn.conversation, admin=turn.admin)


def taking_turns(turns: Sequence[QueuedTurn]) -> list[QueuedTurn]:
    """The first turn of each speaker, then the second of each, and so on."""
    so_far: Counter[Party] = Counter()
    order = []
    for place, turn in enumerate(turns):
        party = party_of(turn)
        order.append((so_far[party], place, turn))
        so_far[party] += 1
    return [turn for _, _, turn in sorted(order, key=lambda one: one[:2])]
