"""Estimates how much a waiting turn is worth reading. Pure.

The estimate makes no model call, and errs towards reading: a turn that states something besides
greetings, questions and requests counts in full, and all others for a fraction, so that they are
read in the end.
"""

from __future__ import annotations

import re
from typing import Final

from ...models.turns import QueuedTurn
from ...remember.rules.gate import says_nothing
from ...text.scripts import WIDE
from ...text.stated import asks

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


def worth_of(turn: QueuedTurn) -> float:
    """Returns 1 for a turn that states something, a fifth for any other."""
    return 1.0 if says_something(turn.user_text) else _LITTLE


def says_something(text: str) -> bool:
    """Returns whether some clause of a text states something that may be worth a memory."""
    return any(map(_is_statement, _CLAUSE_ENDS.split(text)))


def tells_something(text: str) -> bool:
    """Returns whether a text states enough to be recalled verbatim before reflection read it."""
    stated = " ".join(filter(_is_statement, _CLAUSE_ENDS.split(text)))
    return _is_as_long(stated, _TOLD_HAN, _TOLD_WORDS)


def _is_statement(clause: str) -> bool:
    long_enough = _is_as_long(clause, _LEAST_HAN, _LEAST_WORDS)
    wants = asks(_INSIDE.sub("", clause)) or _ORDERS.search(clause) is not None
    return long_enough and not wants and not says_nothing(clause)


def _is_as_long(text: str, han: int, words: int) -> bool:
    return len(WIDE.findall(text)) >= han or len(_WORD.findall(text)) >= words
