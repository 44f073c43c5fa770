"""Estimates how much a waiting turn is worth reading. Pure.

The estimate makes no model call, and errs towards reading: a turn that states something besides
greetings, questions and requests counts in full, and all others for a fraction, so that they are
read in the end.
"""

from __future__ import annotations

import re
from typing import Final

from ...models.turns import QueuedTurn
from ...remember.rules.quality import flaw
from ...text.lazy_pattern import lazy_pattern
from ...text.scripts import WIDE

_LITTLE: Final = 0.2
_LEAST_HAN, _LEAST_WORDS = 4, 3
"""The least length of a clause that states something: to miss one costs more than to read it."""
_TOLD_HAN, _TOLD_WORDS = 6, 5
"""The least length of clauses that are recalled verbatim: remarks on the weather are shorter."""
_CLAUSE_ENDS = re.compile(r"(?<=[?？])|[，,。!！;；…~～\n]|\.(?!\w)")
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+|\d+")
_ASKS = lazy_pattern(
    r"[?？]\s*$|(?:吗|呢|么|嘛|呗)\s*$|什么|啥|谁|哪|几[点号天个次]|多少|多久|怎么|怎样|咋|为何|"
    r"是不是|有没有|要不要|能不能|会不会|好不好|是否|^\s*(?:请|帮我|给我|讲个|来个|查一下|翻译)|"
    r"^\s*(?:what|who|whom|whose|where|when|why|how|which|is|are|am|was|were|do|does|did|can|could|"
    r"will|would|should|shall|may|have|has|please|tell me|give me|translate)\b",
    re.IGNORECASE,
)


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
    return long_enough and not _ASKS.search(clause) and flaw(clause) is None


def _is_as_long(text: str, han: int, words: int) -> bool:
    return len(WIDE.findall(text)) >= han or len(_WORD.findall(text)) >= words
