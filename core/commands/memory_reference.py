"""Which memory a person means by what stands behind a command: a number of the list that this
person was shown last in this conversation, an id, or a pointer that ends with one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from ...llm_memory import Hit, StoredMemory
from ...llm_memory.catalogue.rules.pointers import pointed_id
from ...llm_memory.text.numerals import number
from ..replies.memory_line import memory_line
from ..replies.outcome_text import Enough
from .call import Call

_ITEM = re.compile(
    r"(?P<mark>第|#|no\.?|number)?[(\[【]?(?P<number>[0-9]{1,4}|[一二三四五六七八九十两]{1,3})"
    r"(?P<unit>[条條号號项項])?[.)\]】]?"
)
_RANGE = re.compile(
    r"(?<=[0-9一二三四五六七八九十条條号號])\s*(?:-|–|—|~|到|至|\bto\b)\s*(?=[#第0-9])"
)
_BETWEEN = re.compile(r"\s*(?:[,、。;/+&]|以及|还有|和|与|跟|及|\band\b)\s*|\s+")
_LOOSE = re.compile(r"(?<=第)\s+|(?<=#)\s+|(?<=no\.)\s+|\s+(?=[条條号號项項])")
_AROUND = " \u3000\"'“”‘’「」『』《》。．.!！?？,，;；:：、"
_A_NUMBER = 2
"""A bare number of more digits names something only if the list has it: 2026 is a word."""
_PREVIEW = 80
_MOST = 10
"""Items of one command: as many as a page of the list."""


def item_numbers(words: str, shown: Collection[int]) -> tuple[int, ...] | None:
    """Returns the numbers that the words name, each once; None for words that are not numbers.

    Args:
        shown: The numbers of the list.
    """
    plain = unicodedata.normalize("NFKC", words).casefold().strip()
    found: list[int] = []
    for part in parts(_RANGE.sub("~", _LOOSE.sub("", plain))):
        first, *more = (_number(one, shown) for one in part.split("~"))
        last = more[0] if more else first
        if first is None or last is None or len(more) > 1:
            return None
        found += range(min(first, last), max(first, last) + 1)
    return tuple(dict.fromkeys(found)) or None


def _number(item: str, shown: Collection[int]) -> int | None:
    found = _ITEM.fullmatch(item)
    named = number(found["number"]) if found else None
    if found is None or found["mark"] or found["unit"]:
        return named
    digits = found["number"]
    told = digits.isascii() and (named in shown or len(digits) <= _A_NUMBER)
    return named if told else None


def bare(words: str) -> str:
    """Returns the words without quotes around them and signs behind them."""
    return words.strip(_AROUND)


def parts(words: str) -> list[str]:
    """Returns what a list of items consists of, without what joins it."""
    return [part for part in _BETWEEN.split(words) if part]


def named_one(call: Call, first: str, words: Sequence[str] = ()) -> str | None:
    """Returns the one id that is named; None for what is neither a number nor an id. Where no one
    memory is meant, the command is answered so.

    Args:
        words: The first one and what follows it: together they may name several.
    """
    named = named_several(call, first)
    beginnings = (" ".join(words[:end]) for end in range(2, _MOST))
    several = (item_numbers(one, call.listed) or () for one in beginnings)
    together = any(len(one) > 1 and call.listed.keys() >= set(one) for one in several)
    if together or len(named or ()) > 1:
        raise Enough(call.say("pointed.one_at_a_time"))
    return named[0] if named else None


def named_several(call: Call, words: str) -> tuple[str, ...] | None:
    """Returns the ids that are named, each once; None for words that are neither numbers nor
    ids. Of a number that no list has, the command is answered so."""
    listed = call.listed
    named: list[str] = []
    for part in [words] if item_numbers(words, listed) else parts(words):
        numbers = item_numbers(part, listed) or ()
        if not numbers and (pointed := pointed_id(part)) is not None:
            named.append(pointed)
        elif not numbers:  # words; or a whole line that ends with its pointer
            whole = pointed_id(words)
            return None if whole is None else (whole,)
        elif not listed:
            raise Enough(call.say("pointed.no_list"))
        elif absent := [one for one in numbers if one not in listed]:
            first, last = min(listed), max(listed)
            said = call.say("pointed.no_number", number=absent[0], first=first, last=last)
            raise Enough(said)
        named += [listed[one] for one in numbers]
    named = list(dict.fromkeys(named))
    if len(named) > _MOST:
        raise Enough(call.say("pointed.too_many", most=_MOST))
    return tuple(named)


async def numbered(
    call: Call, found: Sequence[StoredMemory], first: int = 1, *, details: bool = False
) -> list[str]:
    """Returns the memories as lines, and notes their numbers for the person who asked."""
    hits = await call.service.told(found, **call.by, chars=_PREVIEW)
    return await numbered_hits(call, hits, first, details=details)


async def numbered_hits(
    call: Call, hits: Sequence[Hit], first: int = 1, *, details: bool = False
) -> list[str]:
    """Does the same with what recall has found."""
    call.list_of([hit.memory_id for hit in hits], first)
    lines = await shown_lines(call, hits, details=details)
    return [f"{number}. {line}" for number, line in enumerate(lines, start=first)]


async def shown_lines(call: Call, hits: Sequence[Hit], *, details: bool = False) -> list[str]:
    """Returns what people read of each, without a number."""
    here, today = await call.here(), call.plugin.clock().date()
    return [memory_line(call.texts, hit, here, today, details=details) for hit in hits]
