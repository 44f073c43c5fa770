"""Reads what the reflection model says it learned, item by item. Pure.

``{}`` says that nothing was learned. What is wrong in one item costs that item alone. An answer
without memories that says something in fields we do not know is none: its turns are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from ...models.data_models import MemoryKind
from ...models.soul import Axis, Direction
from .forgiving_json import Unreadable, find_answer, name_of

KINDS: Final = {word: kind for kind in MemoryKind for word in (kind.name.lower(), kind.value)}
_MOST_ITEMS: Final = 120
"""The most items of each list of memories that are read: three for each turn."""
_FIELDS: Final = {
    **dict.fromkeys(("usefulid", "useful"), "useful"),
    **dict.fromkeys(("uselessid", "useles"), "useless"),
    **dict.fromkeys(("newmemory", "memory"), "memories"),
    **dict.fromkeys(("contradiction", "correction"), "corrections"),
    "style": "style",
}
"""Fields of an answer, by ``name_of`` what models call them."""
_JUDGMENT: Final = frozenset({"judgment", "judgement"})
_ITEM_FIELDS: Final = {
    **dict.fromkeys((*_JUDGMENT, "memory", "content", "text", "fact"), "judgment"),
    **dict.fromkeys(("id", "memoryid"), "oldid"),
    "newmemory": "new",
    "question": "ask",
}
"""Other names of an item's fields, in the same way."""
_AXES: Final[Mapping[str, Axis]] = {axis: axis for axis in get_args(Axis)}
_WAYS: Final[Mapping[str, Direction]] = {way: way for way in get_args(Direction)}


@dataclass(frozen=True, slots=True)
class NewMemory:
    """One memory in the model's words. ``turn`` counts from 1, ``who`` is a speaker's label or
    name. ``decision`` counts if it is true; a model that was not asked may put anything there."""

    judgment: str
    reasoning: str = ""
    tags: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    kind: str = ""
    strength: int | None = None
    turn: int | None = None
    who: str = ""
    when: str = ""
    decision: object = None


@dataclass(frozen=True, slots=True)
class Correction:
    """The memory with this id is no longer true."""

    old_id: str
    new: NewMemory


@dataclass(frozen=True, slots=True)
class ReflectionReply:
    """A whole answer. ``manner``: axis, direction and a speaker's label, empty where none is named.
    ``dropped`` names the items that could not be read, as in ``new_memories.2``."""

    useful_ids: tuple[str, ...] = ()
    useless_ids: tuple[str, ...] = ()
    new_memories: tuple[NewMemory, ...] = ()
    contradictions: tuple[Correction, ...] = ()
    manner: tuple[tuple[Axis, Direction, str], ...] = ()
    dropped: tuple[str, ...] = ()


def parse_reply(text: str) -> ReflectionReply | Unreadable:
    """Returns what an answer says, or why it is to be asked for again."""
    given = find_answer(text, _FIELDS, _answer_of_items)
    if isinstance(given, Unreadable):
        return given
    fields: dict[str, list[object]] = {field: [] for field in _FIELDS.values()}
    unknown: list[object] = []
    for key, value in given.items():
        field = _FIELDS.get(name_of(key)) or _field_of_shape(value)
        (fields[field] if field else unknown).extend(as_list(value))
    is_told = any(isinstance(one, str | list | dict) for one in unknown)
    if is_told and not (fields["memories"] or fields["corrections"]):
        return Unreadable("no_field: something stands in an unknown field alone")
    memories = [_memory(one) for one in fields["memories"][:_MOST_ITEMS]]
    corrections = [_correction(one) for one in fields["corrections"][:_MOST_ITEMS]]
    dropped = [f"new_memories.{place}" for place, one in enumerate(memories) if one is None]
    dropped += [f"contradictions.{place}" for place, one in enumerate(corrections) if one is None]
    if dropped and not any((*memories, *corrections)):
        return Unreadable(f"wrong_type: {', '.join(dropped[:5])}")
    return ReflectionReply(
        useful_ids=as_texts(fields["useful"]),
        useless_ids=as_texts(fields["useless"]),
        new_memories=tuple(filter(None, memories)),
        contradictions=tuple(filter(None, corrections)),
        manner=_manner(fields["style"]),
        dropped=tuple(dropped),
    )


def as_list(value: object) -> list[object]:
    """Returns a list as it is, numbered values as one, nothing as an empty one, and a value alone
    as a list of it."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and all(key.isdecimal() for key in value):
        return list(value.values())
    return [] if value in (None, "", False) else [value]


def as_text(value: object) -> str:
    """Returns a text, or a number, alone or in a list of one, without half characters and blanks
    around it; empty for anything else."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).encode("utf-8", "replace").decode().strip()


def as_texts(value: object) -> tuple[str, ...]:
    """Returns the texts of a list, or of one text alone."""
    texts = (as_text(one) for one in as_list(value) if isinstance(one, str))
    return tuple(filter(None, texts))


def as_number(value: object) -> int | None:
    """Returns the whole number that a value says: 80 for 80.0, ``80`` and ``80%``; else None."""
    found = re.fullmatch(r"[^\d-]{0,3}(-?\d{1,9})(?:\.0+)?\D{0,3}", as_text(value), re.ASCII)
    return int(found[1]) if found else None


def _field_of_shape(value: object) -> str:
    """Returns the field whose items a value holds, empty for no items."""
    names = [{name_of(key) for key in one} for one in as_list(value) if isinstance(one, dict)]
    if any("oldid" in one for one in names):
        return "corrections"
    return "memories" if any(one & _JUDGMENT for one in names) else ""


def _answer_of_items(value: object) -> dict[str, object] | None:
    """Returns the answer that items without an object around them stand for."""
    if value == []:
        return {}
    field = _field_of_shape(value)
    return {field: value} if field else None


def _item(given: object) -> dict[str, object]:
    if isinstance(given, str) and not given.lstrip().startswith(("{", "[")):
        return {"judgment": given}
    items = given.items() if isinstance(given, dict) else ()
    named = ((name_of(key), value) for key, value in items)
    return {_ITEM_FIELDS.get(name, name): value for name, value in named}


def _memory(given: object) -> NewMemory | None:
    item = _item(given)
    judgment, who = as_text(item.get("judgment")), as_text(item.get("who"))
    if not judgment:
        return None
    return NewMemory(
        judgment,
        reasoning=as_text(item.get("reasoning")),
        tags=as_texts(item.get("tag")),
        asks=as_texts(item.get("ask")),
        kind=as_text(item.get("kind")).lower(),
        strength=as_number(item.get("strength")),
        turn=as_number(item.get("turn")),
        who=f"s{who}" if who.isdecimal() else who,
        when=as_text(item.get("when")),
        decision=item.get("decision"),
    )


def _correction(given: object) -> Correction | None:
    item = _item(given)
    old_id, new = as_text(item.get("oldid")), _memory(item.get("new", given))
    return Correction(old_id, new) if old_id and new else None


def _manner(style: list[object]) -> tuple[tuple[Axis, Direction, str], ...]:
    """Leaves out what is no wish in known words."""
    found = []
    for item in [style] if style and isinstance(style[0], str) else style:
        match item:
            case [str(axis), str(way), *who] if axis in _AXES and way in _WAYS and len(who) < 2:
                found.append((_AXES[axis], _WAYS[way], as_text(who)))
    return tuple(dict.fromkeys(found))
