"""Which memory a person means by what stands behind a command: a number of the list that this
person was shown last in this conversation, an id, or a pointer that ends with one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from ...llm_memory import Hit, Memory, StoredMemory
from ...llm_memory.catalogue.rules.pointers import pointed_id
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts
from ..replies.memory_line import memory_line
from ..replies.outcome_text import Enough
from .call import Call

_HAN = {"两": 2, **{digit: value for value, digit in enumerate("一二三四五六七八九", start=1)}}
_LEADS = r"(?P<mark>第|#|no\.?|number)?[(\[【]?"
_ENDS = r"(?P<unit>条|條|号|號|项|項)?[.)\]】]?"
_ITEM = re.compile(
    rf"{_LEADS}(?:(?P<digits>[0-9]{{1,4}})|(?P<han>[一二三四五六七八九十两]{{1,3}})){_ENDS}"
)
_HAN_NUMBER = re.compile(r"(?P<tens>[二三四五六七八九]?十)?(?P<ones>[一二三四五六七八九两])?")
_RANGE = re.compile(
    r"(?<=[0-9一二三四五六七八九十条條号號])\s*(?:-|–|—|~|到|至|\bto\b)\s*(?=[#第0-9])"
)
_BETWEEN = re.compile(r"\s*(?:[,、。;/+&]|以及|还有|和|与|跟|及|\band\b)\s*|\s+")
_LOOSE = re.compile(r"(?<=第)\s+|(?<=#)\s+|(?<=no\.)\s+|\s+(?=[条條号號项項])")
_AROUND = " \u3000\"'“”‘’「」『』《》。．.!！?？,，;；:：、"
_A_NUMBER = 2
"""A bare number of more digits names something only if the list has it: 2026 is a word."""


def item_numbers(words: str, shown: Collection[int]) -> tuple[int, ...] | None:
    """Returns the numbers that the words name, each once; None for words that are not numbers.

    Args:
        shown: The numbers of the list.
    """
    plain = unicodedata.normalize("NFKC", words).casefold().strip()
    found: list[int] = []
    for part in parts(_RANGE.sub("~", _LOOSE.sub("", plain))):
        ends = [_number(one, shown) for one in part.split("~")]
        first, last = ends[0], ends[-1]
        if first is None or last is None or len(ends) > 2:
            return None
        found += range(min(first, last), max(first, last) + 1)
    return tuple(dict.fromkeys(found)) or None


def bare(words: str) -> str:
    """Returns the words without quotes around them and signs behind them."""
    return words.strip(_AROUND)


def parts(words: str) -> list[str]:
    """Returns what a list of items consists of, without what joins it."""
    return [part for part in _BETWEEN.split(words) if part]


def _number(item: str, shown: Collection[int]) -> int | None:
    found = _ITEM.fullmatch(item)
    if found is None:
        return None
    marked = bool(found["mark"] or found["unit"])
    if found["han"]:
        return _han_number(found["han"]) if marked else None
    number = int(found["digits"])
    return number if marked or len(found["digits"]) <= _A_NUMBER or number in shown else None


def _han_number(text: str) -> int | None:
    found = _HAN_NUMBER.fullmatch(text)
    if found is None:
        return None
    tens, ones = found["tens"] or "", found["ones"] or ""
    return (_HAN.get(tens[:1], 1) if tens else 0) * 10 + _HAN.get(ones, 0)


_PREVIEW = 80
_MOST = 10
"""Items of one command: as many as a page of the list."""


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
    numbers = call.listed
    named: list[str] = []
    for part in [words] if item_numbers(words, numbers) else parts(words):
        asked = item_numbers(part, numbers)
        if asked is None:
            pointed = pointed_id(part)
            if pointed is None:  # words; or a whole line that ends with its pointer
                whole = pointed_id(words)
                return None if whole is None else (whole,)
            named.append(pointed)
            continue
        if not numbers:
            raise Enough(call.say("pointed.no_list"))
        if absent := [number for number in asked if number not in numbers]:
            first, last = min(numbers), max(numbers)
            said = call.say("pointed.no_number", number=absent[0], first=first, last=last)
            raise Enough(said)
        named += [numbers[number] for number in asked]
    named = list(dict.fromkeys(named))
    if len(named) > _MOST:
        raise Enough(call.say("pointed.too_many", most=_MOST))
    return tuple(named)


async def numbered(
    call: Call, found: Sequence[StoredMemory], first: int = 1, *, details: bool = False
) -> list[str]:
    """Returns the memories as lines, and notes their numbers for the person who asked."""
    hits = await call.service.told(
        found, conversation_id=call.where, actor=call.actor, chars=_PREVIEW
    )
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


def shown_words(texts: Texts, memory: Memory) -> str:
    """Returns the beginning of what a memory says, as a quotation where it reads like an order."""
    words = safe(preview(memory.judgment, _PREVIEW))
    return texts.say("inject.quoted", text=words) if memory.quoted else words
