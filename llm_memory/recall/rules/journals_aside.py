"""When a day's journal answers: what was told of a whole day is no answer to small talk. Pure."""

from __future__ import annotations

import re

from ...text.lazy_pattern import LazyPattern
from .ranking import Sifted, is_journal

_QUESTION = LazyPattern(
    r"[?？]|[吗么呢]\s*[。~～！!…]*$|什么|啥|怎么|怎样|如何|为何|谁|哪|多少|多久|多大|第几|几(?=[点号个次岁天月年])|"
    r"是不是|有没有|是否|记得|说说|讲讲|告诉|回顾|总结|日记|"
    r"\b(?:what|who|whom|whose|which|where|when|why|how|recap|summari[sz]e|summary|journal|diary|"
    r"remember|remind|tell\sme)\b|"
    r"^\W*(?:do|does|did|is|are|was|were|has|have|had|will|would|can|could|should)\b",
    re.IGNORECASE,
)
_OF_DAYS = LazyPattern(
    r"发生|(?:做|干|忙|聊|说|讲|玩)了(?:些)?(?:什么|啥)|过得|经历|回顾|总结|日记|那天|那几天|"
    r"\b(?:happened|recap|summari[sz]e|summary|journal|diary|that\sday|those\sdays|how\swas)\b|"
    r"\bwhat\s(?:did|have)\s(?:we|i|you|they|he|she)\s(?:do|done|talk|talked|say|said)\b",
    re.IGNORECASE,
)


def journals_aside(sifted: Sifted, message: str, *, names_days: bool) -> Sifted:
    """Journals in their places for a question about days or what happened; behind all else for any
    other question; not relevant to what is no question."""
    journals = [one for one in sifted.best if is_journal(one.passage)]
    if not journals:
        return sifted
    others = [one for one in sifted.best if not is_journal(one.passage)]
    if not _QUESTION.search(message):
        return Sifted(others, [*journals, *sifted.below])
    if names_days or _OF_DAYS.search(message):
        return sifted
    return Sifted([*others, *journals], sifted.below)
