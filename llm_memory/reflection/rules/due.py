"""Which turns are read next, and when. Pure.

A call costs about the same for one turn as for ten, and waiting turns are not missing in answers:
AstrBot has them in the conversation's context, and recall finds their words. So turns are read when
that pays: enough was said that is worth reading, and the conversation is idle. What a turn is worth
is told by its words alone, and rather too high than too low.

The group (a mapped scope, or all unmapped conversations together) that used the fewest tokens today
is read first. Strangers may use half of the day, and the night a fifth: a flood of theirs leaves
some for those who speak later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ...models.loop import UNMAPPED, WaitingLine
from ...models.turns import QueuedTurn
from ...remember.rules.gate import says_nothing
from ...text.scripts import WIDE, simplified
from ...text.stated import asks
from .prompt import LEAST_TOKENS, REPLY_TOKENS

MIN_TURNS: Final = 7
"""So many turns pay for a call: the rest of its prompt costs as much as they do."""
MIN_WORTH: Final = 6
"""The least worth of turns that pay for a call."""
ENDED: Final = timedelta(days=7)
"""A conversation idle for so long counts as ended."""
LONGEST_WAIT: Final = timedelta(days=14)
"""No turn waits longer."""
MOST_CHARS: Final = 6_000
"""Characters of messages and replies: about what fits into a prompt without being cut."""
LEAST_CALL: Final = LEAST_TOKENS + REPLY_TOKENS
"""Tokens of the smallest prompt with its answer."""
_OF_NIGHT: Final = 5
_LITTLE: Final = 0.2
_LEAST_HAN, _LEAST_WORDS = 4, 3
"""The least length of a clause that states something: to miss one costs more than to read it."""
_TOLD_HAN, _TOLD_WORDS = 6, 5
"""The least length of clauses that are recalled verbatim: remarks on the weather are shorter."""
_CLAUSE_ENDS = re.compile(r"(?<=[?？])|[，,。!！;；…~～\n]|\.(?!\w)")
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+|\d+")
_ORDERS = re.compile(
    r"^\s*(?:请|帮我|给我|讲个|来个|查一下|翻译|(?:please|give me|translate)\b)", re.IGNORECASE
)
_INSIDE = re.compile(r"(?<=\w )(?:wh(?:at|en|ere|ich|o|ose|y)|how)\b", re.IGNORECASE)
"""Inside an English clause such a word joins two parts of a statement."""


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

    def left(self, group: str | None, *, night: bool = False) -> int:
        """Returns the tokens that may be used now: by a group, by nobody's (None) calls, or by
        those of the night."""
        least = self.daily - self.spent
        if night:
            least = min(least, self.daily // _OF_NIGHT - (self.spent - sum(self.used.values())))
        if group == UNMAPPED:
            least = min(least, self.daily // 2 - self.used.get(UNMAPPED, 0))
        return max(least, 0)


def is_due(
    line: WaitingLine,
    worth: Callable[[WaitingLine], float],
    now: datetime,
    *,
    after_turns: int,
    idle: timedelta,
) -> bool:
    """Returns whether a line is read now. So many turns, or so much text, are due while the talk
    goes on. A clock that was set back by long makes turns no younger.

    Args:
        worth: Returns the sum of ``worth_of`` over the line's turns, which have to be looked up.
    """
    if line.count >= after_turns or line.chars >= MOST_CHARS:
        return True
    quiet, oldest = abs(now - line.newest), abs(now - line.oldest)
    is_old = quiet >= ENDED or oldest >= LONGEST_WAIT
    pays = is_old or (line.count >= MIN_TURNS and worth(line) >= MIN_WORTH)
    return quiet >= idle and pays


def worth_of(turn: QueuedTurn) -> float:
    """Returns 1 for a turn of which some clause states something, a fifth for any other."""
    return (
        1.0 if any(map(_is_statement, _CLAUSE_ENDS.split(simplified(turn.user_text)))) else _LITTLE
    )


def tells_something(text: str) -> bool:
    """Returns whether a text states enough to be recalled verbatim before reflection read it."""
    stated = " ".join(filter(_is_statement, _CLAUSE_ENDS.split(simplified(text))))
    return len(WIDE.findall(stated)) >= _TOLD_HAN or len(_WORD.findall(stated)) >= _TOLD_WORDS


def _is_statement(clause: str) -> bool:
    han, words = len(WIDE.findall(clause)), len(_WORD.findall(clause))
    wants = asks(_INSIDE.sub("", clause)) or _ORDERS.search(clause) is not None
    return (han >= _LEAST_HAN or words >= _LEAST_WORDS) and not wants and not says_nothing(clause)
