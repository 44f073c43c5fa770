"""English patterns for times; their groups are those of ``meanings``. Pure.

``may``, ``march`` and the names of people (April, June, August) are months only where something
beside them says so: a day, a year, a preposition, ``last``.
"""

from __future__ import annotations

import re

from ..lazy_pattern import lazy_pattern
from ..numerals import ENGLISH_NUMBERS
from .words import (
    DAY_WORDS,
    FEASTS,
    MONTHS,
    ORDINALS,
    SEASONS,
    UNIT_DAYS,
    UNIT_HOURS,
    VAGUE,
    WEEKDAYS,
    english,
)

_GAP = "\\s{1,3}"
_FULL = ("may", "june", "july")
_PLAIN = ("January", "February", "July", "September", "October", "November", "December")
_COUNT = (
    "(?:(?:a )?(?:few|couple(?: of)?)|several|some|[0-9]{1,4}|an?|half an?|"
    f"(?:{english(ENGLISH_NUMBERS)})(?:-(?:{english(ENGLISH_NUMBERS)}))?)"
)
_START, _END = "(?<![A-Za-z0-9_'\u2019-])", "(?:['\u2019]s)?(?![A-Za-z0-9_-])"

_NOT_TOLD = "(?<!the )"
"""``the next Friday`` counts from what was told before, not from now."""

_NOT_ANCHORED = (
    r"(?!\s(?:before|after|of|following)\s(?:the\s)?"
    r"(?:[0-9]|(?-i:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)))"
)
"""``last weekend before May`` counts from there."""

_WHOLE = english(word for word in WEEKDAYS if word.endswith("day"))
_SHORT_NAMES = ("tues", "mon", "tue", "wed", "thurs", "thur", "thu", "fri", "sat", "sun")
_SHORT = f"(?-i:{'|'.join(word.title() for word in _SHORT_NAMES)})"
_UNITS = f"week|weekend|month|year|{english(SEASONS)}"
_COUNTED_UNIT = f"(?P<count>{_COUNT}){_GAP}(?P<unit>{english([*UNIT_DAYS, *UNIT_HOURS])})s?"
_WHICH = f"(?P<which>last|this{_GAP}past|past|this{_GAP}coming|coming|this|next){_GAP}"

_LEFT, _RIGHT = "(?<![A-Za-z0-9_'\u2019/.-])", "(?:['\u2019]s)?(?![A-Za-z0-9_])"
_MONTH = (
    f"(?P<month>{english(name for name in MONTHS if len(name) > 4 or name in _FULL)}"
    f"|(?P<short>{english(name for name in MONTHS if len(name) <= 4 and name not in _FULL)}))"
    "(?(short)\\.?)"
)
_NUMBER = "(?:3[01]|[12][0-9]|0?[1-9])"
_DAY = f"(?P<day>{_NUMBER}(?P<nth>st|nd|rd|th)?)"
_TO = "(?:\\s?[-–—~]\\s?|\\s(?:to|until|till|through)\\s(?:the\\s)?)"
_YEAR = "(?P<year>(?:1[89]|2[01])[0-9]{2})"
_NO_VERB = "(?-i:(?!may|march|mar))"
_COUNTED = (
    "(?!\\s{0,2}(?:%|percent|people|persons|men|women|of|times|miles?|km|kilomet|meters?|steps|"
    "hours?|minutes?|days?|weeks?|months?|years?|blocks?|more|dollars|pounds|kg|or|and\\s[0-9]))"
)

_PART = (
    f"(?:the{_GAP})?(?P<part>early|mid|late|(?:beginning|start|middle|end)(?= of))(?: of)?"
    "[\\s-]{1,3}"
)
_IN = "(?:in|since|until|till|by|during|before|after|of|from|through|around|to)"

_WORDS = (
    f"(?P<word>{english([*DAY_WORDS, *VAGUE])})",
    f"{_NOT_TOLD}(?:{_WHICH})?(?P<weekday>{_WHOLE}){_NOT_ANCHORED}",
    f"{_WHICH}(?P<weekday>{_SHORT})\\.?",
    f"(?:on|by|until|till|since|for|and){_GAP}(?P<said>(?P<weekday>{_SHORT})\\.?)",
    f"{_NOT_TOLD}(?P<which>last|this{_GAP}past|this|next){_GAP}(?P<unit>{_UNITS}){_NOT_ANCHORED}",
    f"(?:the{_GAP})?(?P<unit>week|weekend|month|year)\\s(?P<which>before last|after next)",
    (
        f"(?:the{_GAP})?(?P<part>beginning|start|middle|end|early|mid|late)[\\s-]{{1,3}}"
        f"(?:of{_GAP})?(?P<which>last|this|next|the){_GAP}(?P<unit>month|year)"
    ),
    f"(?P<which>last|this|next){_GAP}(?P<feast>{english(FEASTS)})",
    (
        f"(?:(?:on|at|for|over|before|after|by|until|about|spent|celebrated){_GAP}|^)(?P<said>(?P<feast>{english(FEASTS)}))"
        f"(?=\\W{{0,2}}$|[,.;!?):]|{_GAP}(?:and|or|at|in|with|we|i|day|this|yet|plans|morning|eve"
        f"|lunch|dinner|breakfast|afternoon|evening|is|will)\\b)"
    ),
    f"(?P<end>(?:(?:at|on|over|during){_GAP})?the{_GAP}weekend){_NOT_ANCHORED}",
    f"the{_GAP}(?:(?:next|previous|following){_GAP}(?:day|{_UNITS}|{_WHOLE})|last{_GAP}(?:{_WHOLE}))",
    f"(?:black|good){_GAP}friday",
    f"{_COUNTED_UNIT}{_GAP}(?P<side>ago|back|before now|earlier|from now|from today)",
    f"(?P<side>in){_GAP}(?:about{_GAP})?{_COUNTED_UNIT}(?:['\u2019]{_GAP}time)?",
    (
        f"(?:the|these){_GAP}(?P<range>last|past|(?P<ahead>next|coming)){_GAP}"
        f"(?:(?P<count>{_COUNT}){_GAP}|(?(ahead)(?!)))(?P<unit>{english(UNIT_DAYS)})s?"
    ),
)
_DATES = (
    f"{_MONTH}{_GAP}{_DAY}{_TO}(?P<until>{_NUMBER})(?:st|nd|rd|th)?(?!\\s?[ap]m)",
    f"{_DAY}{_TO}(?P<until>{_NUMBER})(?:st|nd|rd|th)?{_GAP}(?:of{_GAP})?{_MONTH}",
    f"{_MONTH}{_GAP}(?:the{_GAP})?{_DAY}(?:,?{_GAP}{_YEAR}|(?(nth)|{_COUNTED}))",
    f"{_DAY}{_GAP}(?:of{_GAP}|{_NO_VERB}){_MONTH}(?:,?{_GAP}(?:of{_GAP})?{_YEAR})?",
    f"(?P<day>{english(ORDINALS)}){_GAP}of{_GAP}{_MONTH}(?:,?{_GAP}{_YEAR})?",
    f"(?:{_PART})?{_MONTH},?{_GAP}(?:of{_GAP})?{_YEAR}",
    f"(?<!the )(?P<which>last|this|next){_GAP}{_NO_VERB}{_MONTH}",
    f"{_PART}{_MONTH}",
    f"{_IN}{_GAP}(?P<said>(?-i:(?=[A-Z])){_MONTH})",
    f"(?-i:(?P<month>{'|'.join(_PLAIN)}))",
    (
        f"(?:on|by|until|till|since|before|after){_GAP}"
        f"(?P<said>the{_GAP}(?P<day>{_NUMBER}(?:st|nd|rd|th)))(?=\\s{{0,2}}(?:[,.;!?)]|$)|{_GAP}(?:and|at|in|we|i|he|she|they|for|but)\\b)"
    ),
    f"(?:in|since|during|of|until|by|before|after|from){_GAP}(?P<said>{_YEAR})",
    f"(?P<season>{english(SEASONS)}){_GAP}(?:of{_GAP}|in{_GAP})?{_YEAR}",
)
PATTERNS = tuple(
    lazy_pattern(f"{left}(?:{pattern}){right}", re.IGNORECASE)
    for left, patterns, right in ((_START, _WORDS, _END), (_LEFT, _DATES, _RIGHT))
    for pattern in patterns
)
