"""Whether a message that names days asks for what lies on them: plans, or anything. Pure.

明天有什么安排, 周五忙不忙, "what's on tomorrow" ask for all of it; 1号要交什么 for what holds a
word of the question, too; 明天见 and 今天好累 for nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ....models.data_models import Topic
from ....text.scripts import fold
from ....text.traditional import simplified
from ..talk import is_about_time_alone, is_small_talk
from .heads import OWN, PLANS, is_done, parted

_OF_THE_BOT: Final = re.compile(
    r"[你您](?!们|知道|记得|看|查|帮|说|告诉|能|可)|\byou\b(?!\s(?:know|tell|check|remember|see|show|list))"
    r"|\byour\b"
)
_ASKS: Final = re.compile(
    "什么|啥|哪|谁|有没有|有[^，。]{0,4}[吗么没]|干[嘛吗]|"
    r"\b(?:what|which|who|where|any|anything|(?:am|do|have) (?:i|we)|there)\b"
)
_NOUN: Final = re.compile(
    r"(?!.*(?:[有没]|\b(?:have|has|got|no|not)\b|n't)).*(?:"
    r"(?:安排|[日行]程表?|计划|待办|日记|总结|回顾)(?:[说讲看查发报]?(?:一下|下|给我))?"
    r"|\b(?:schedule|agenda|calendar|itinerary|plans|summary|recap|journal|diary)"
    r"(?:\s(?:for|on|of|the))*)\W*$|.*干[嘛吗](?:来着)?\W*$"
)
"""What asks by a noun alone, 明天的日程, "my schedule for Monday", or without a form: 要干嘛."""
_NO_PLANS: Final = re.compile(
    r"几[号点月]|(?:周|星期|礼拜)几|没(?:什么|啥)|\b(?:date|time|weekday|day is it)\b"
)
_WHOSE: Final = 2
"""Words that may say whose days are asked for."""


@dataclass(frozen=True, slots=True)
class OfDays:
    """What is asked of the days.

    Attributes:
        all: All that lies on them; else what holds a word of ``left``.
        left: The words beside those that ask, folded and simplified: whose days, or what.
        own: The asker asks of his own days: whatever lies on the very day may matter.
    """

    all: bool
    left: tuple[str, ...]
    own: bool = False

    def holds(self, text: str) -> bool:
        """Whether a text, folded and simplified, holds one of the words, or a part of one where
        not all is asked for."""
        parts = self.left if self.all else (part for word in self.left for part in _parts(word))
        return any(
            re.search(rf"(?<![^\W_]){re.escape(part)}", text) if part.isascii() else part in text
            for part in parts
        )


EVERYTHING: Final = OfDays(all=True, left=())


def asked_of_days(
    subject: str, *, asks: bool, ahead: bool = False, past: bool = False
) -> OfDays | None:
    """What a message asks of the days it names, given without them; None where it asks nothing of
    them.

    Args:
        asks: Its form is a question's, or it was looked for.
        ahead: The days are to come, and nobody greets with them.
        past: They are over: who says more than a day asks what was, not for all that was.
    """
    text = simplified(fold(subject)).replace("’", "'").strip()
    found, left = parted(text)
    if not (asks or _NOUN.match(text)) or _NO_PLANS.search(text):
        return None
    if is_small_talk(text) and not (ahead and _ASKS.search(text)):
        return None
    if is_about_time_alone(text):
        return EVERYTHING
    if is_done(found, text) or (_OF_THE_BOT.search(text) and not (OWN.search(text) or left)):
        return None
    # Beside what asks for days to come stands whose they are, and little else.
    few = len(left) <= (0 if past else _WHOSE)
    plans = few and bool(found & {PLANS, Topic.TASKS})
    everything = plans or (not left and _ASKS.search(text) is not None)
    own = few and OWN.search(text) is not None
    return OfDays(everything, tuple(left), own) if everything or left else None


def _parts(word: str) -> tuple[str, ...]:
    return (word[:4],) if word.isascii() else tuple(word)
