"""Which topic file a memory goes to, by its kind and its words."""

from __future__ import annotations

import re
from datetime import datetime

from ...models.data_models import Memory, MemoryKind, Topic
from ...text.dates.expressions import Precision, find_times
from . import GATE
from .gate import OrderLike, order_like

_YEAR = re.compile("[0-9]{4}")
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001  (asked is only whether there is a day)
_LONGEST_ORDER, _LONGEST = 400, 160
"""Characters. A longer text is a forwarded page, which has a 必须 somewhere."""
_BY_KIND = {
    MemoryKind.EMOTIONAL: Topic.PREFERENCES,
    MemoryKind.TASK: Topic.TASKS,
    MemoryKind.SKILL: Topic.PATTERNS,
}
_BY_WORDS = {
    "decision": Topic.DECISIONS,
    "preference": Topic.PREFERENCES,
    "lesson": Topic.PATTERNS,
}


def route(kind: MemoryKind, text: str, *, trusted: bool) -> Topic:
    """Returns the topic for a memory. Only a trusted speaker reaches the instructions.

    Tasks, skills and feelings are routed by kind. Events are routed to the journal unless they
    state a decision or a recurring time. Knowledge is routed by its words; without a more specific
    word it describes a lasting state of a person or a thing and is routed to the entities, unless
    it has a day. A text that would override existing rules is no rule, with any speaker.
    """
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if kind is MemoryKind.EVENT:
        if GATE["decision"].search(text):
            return Topic.DECISIONS
        return Topic.ENTITIES if GATE["schedule"].search(text) else Topic.JOURNAL
    like = order_like(text)
    plain = len(text) <= _LONGEST and like is not OrderLike.TAKEOVER
    asks = "?" in text or "？" in text
    orders = like is OrderLike.STANDING and len(text) <= _LONGEST_ORDER
    rules = plain and not asks and GATE["instruction"].search(text)
    if trusted and (orders or rules):
        return Topic.INSTRUCTIONS
    for words, topic in _BY_WORDS.items():
        if GATE[words].search(text):
            return topic
    lasts = plain and GATE["nobody"].match(text) is None and not _is_dated(text)
    return Topic.ENTITIES if lasts else Topic.JOURNAL


def _is_dated(text: str) -> bool:
    days = (one for one in find_times(text, _ANY_TIME) if one.precision is Precision.DAY)
    return any(day.relative or _YEAR.search(day.words) for day in days)


def topic_for(memory: Memory, wanted: Topic | None = None) -> Topic:
    """Returns the topic for an entry, whose quotations no speaker vouches for. ``wanted`` decides
    in place of the words, but leads only a trusted speaker to the instructions."""
    obeyed = memory.provenance.trusted and not memory.quoted
    if wanted is not None and (obeyed or wanted is not Topic.INSTRUCTIONS):
        return wanted
    return route(memory.kind, memory.judgment, trusted=obeyed)
