"""Reads what the reflection model says it learned, item by item. Pure.

``{}`` says that nothing was learned. What is wrong in one item costs that item alone. An answer
that says nothing in fields we know, and something in others, is none: its turns are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from ...models.data_models import MemoryKind
from ...models.soul import Axis, Direction
from .forgiving_json import Unreadable, find_answer, name_of

MOST_ITEMS: Final = 120
"""The most items of each list of memories: three for each turn."""
KINDS: Final = {
    "knowledge": MemoryKind.KNOWLEDGE,
    "event": MemoryKind.EVENT,
    "skill": MemoryKind.SKILL,
    "task": MemoryKind.TASK,
    "emotional": MemoryKind.EMOTIONAL,
    **{kind.value: kind for kind in MemoryKind},
}
_FIELDS: Final = {
    **{name_of(one): one for one in ("useful_ids", "useless_ids", "new_memories", "style")},
    "contradiction": "contradictions",
    "useful": "useful_ids",
    name_of("useless"): "useless_ids",
    "memory": "new_memories",
    "correction": "contradictions",
}
"""Fields of an answer by what models call them."""
_JUDGMENTS: Final = ("judgment", "judgement")
_ITEM_FIELDS: Final[Mapping[str, str]] = {
    **{name_of(one): one for one in ("reasoning", "tags", "kind", "strength", "turn", "who")},
    **{name_of(one): one for one in ("asks", "when", "decision", "old_id", "new")},
    **dict.fromkeys((*_JUDGMENTS, "memory", "content", "text", "fact"), "judgment"),
    "question": "asks",
    "newmemory": "new",
    **dict.fromkeys(("id", "memoryid"), "old_id"),
}
"""Fields of an item by what models call them."""
_AXES: Final[Mapping[str, Axis]] = {axis: axis for axis in get_args(Axis)}
_DIRECTIONS: Final[Mapping[str, Direction]] = {way: way for way in get_args(Direction)}
_LABEL: Final = re.compile(r"s[1-9][0-9]?", re.ASCII)


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
    """A whole answer. ``style`` is as it came, for ``manner`` alone to read; ``dropped`` names the
    items that could not be read: ``new_memories.2``."""

    useful_ids: tuple[str, ...] = ()
    useless_ids: tuple[str, ...] = ()
    new_memories: tuple[NewMemory, ...] = ()
    contradictions: tuple[Correction, ...] = ()
    style: tuple[object, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def manner(self) -> tuple[tuple[Axis, Direction, str], ...]:
        """Returns axis, direction and a speaker's label, empty where none is named, of each item
        that has these and nothing else. The rest is dropped."""
        is_one = all(isinstance(part, str) for part in self.style)
        found = map(_wish, (self.style,) if is_one else self.style[:MOST_ITEMS])
        return tuple(dict.fromkeys(wish for wish in found if wish is not None))


def parse_reply(text: str) -> ReflectionReply | Unreadable:
    """Returns what an answer says, or why it is to be asked for again."""
    given = find_answer(text, _FIELDS, _answer_of_items)
    if isinstance(given, Unreadable):
        return given
    fields: dict[str, list[object]] = {}
    unknown = False
    for key, value in given.items():
        field = _FIELDS.get(name_of(key)) or _field_of_shape(value)
        if field is None:
            unknown |= bool(value) and not isinstance(value, int | float)
        else:
            fields.setdefault(field, []).extend(as_list(value))
    if unknown and not any(fields.values()):
        return Unreadable("no_field: something stands in an unknown field alone")
    return _checked(fields)


def as_list(value: object) -> list[object]:
    """Returns a list as it is, nothing as an empty one, and a value alone as a list of it."""
    if isinstance(value, list):
        return value
    return [] if value in (None, "", {}, False) else [value]


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
    found = re.fullmatch(r"\D{0,3}(-?\d{1,9})(?:\.0+)?\D{0,3}", as_text(value), re.ASCII)
    return int(found[1]) if found else None


def _checked(fields: Mapping[str, list[object]]) -> ReflectionReply | Unreadable:
    given, olds = fields.get("new_memories", []), fields.get("contradictions", [])
    if max(len(given), len(olds)) > MOST_ITEMS:
        return Unreadable(f"too_many: more than {MOST_ITEMS} in one list")
    memories, corrections = list(map(_memory, given)), list(map(_correction, olds))
    dropped = [
        *(f"new_memories.{place}" for place, one in enumerate(memories) if one is None),
        *(f"contradictions.{place}" for place, one in enumerate(corrections) if one is None),
    ]
    if dropped and not any((*memories, *corrections)):
        return Unreadable(f"wrong_type: {', '.join(dropped[:5])}")
    return ReflectionReply(
        useful_ids=as_texts(fields.get("useful_ids")),
        useless_ids=as_texts(fields.get("useless_ids")),
        new_memories=tuple(filter(None, memories)),
        contradictions=tuple(filter(None, corrections)),
        style=tuple(fields.get("style", ())),
        dropped=tuple(dropped),
    )


def _field_of_shape(value: object) -> str | None:
    """Returns the field whose items a value holds, None for no items."""
    names = [{name_of(key) for key in one} for one in as_list(value) if isinstance(one, dict)]
    if any("oldid" in one for one in names):
        return "contradictions"
    return "new_memories" if any(one & {*_JUDGMENTS} for one in names) else None


def _answer_of_items(value: object) -> dict[str, object] | None:
    """Returns the answer that items without an object around them stand for."""
    if value == []:
        return {}
    field = _field_of_shape(value)
    return {field: value} if field else None


def _item(given: object) -> dict[str, object]:
    if isinstance(given, str):
        return {"judgment": given}
    if not isinstance(given, dict):
        return {}
    return {_ITEM_FIELDS.get(name_of(key), ""): value for key, value in given.items()}


def _memory(given: object) -> NewMemory | None:
    item = _item(given)
    if not (judgment := as_text(item.get("judgment"))):
        return None
    who = as_text(item.get("who"))
    return NewMemory(
        judgment,
        reasoning=as_text(item.get("reasoning")),
        tags=as_texts(item.get("tags")),
        asks=as_texts(item.get("asks")),
        kind=as_text(item.get("kind")),
        strength=as_number(item.get("strength")),
        turn=as_number(item.get("turn")),
        who=f"s{who}" if who.isdecimal() else who,
        when=as_text(item.get("when")),
        decision=item.get("decision"),
    )


def _correction(given: object) -> Correction | None:
    item = _item(given)
    old_id, new = as_text(item.get("old_id")), _memory(item.get("new", given))
    return Correction(old_id, new) if old_id and new else None


def _wish(item: object) -> tuple[Axis, Direction, str] | None:
    match item:
        case [str(axis), str(direction), *label] if axis in _AXES and direction in _DIRECTIONS:
            pass
        case _:
            return None
    match label:
        case []:
            return _AXES[axis], _DIRECTIONS[direction], ""
        case [str(who)] if _LABEL.fullmatch(who):
            return _AXES[axis], _DIRECTIONS[direction], who
    return None
