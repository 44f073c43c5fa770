"""Which memory a person means by what stands behind a command: a number of the list that this
person was shown last in this conversation, an id, or a pointer that ends with one."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import Hit, Memory, StoredMemory
from ...llm_memory.catalogue.rules.pointers import pointed_id
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts
from ..replies.memory_line import memory_line
from ..replies.outcome_text import Enough
from .call import Call
from .item_numbers import item_numbers, parts

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
