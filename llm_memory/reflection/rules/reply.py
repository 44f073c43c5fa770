"""Parses the model's answer strictly: one JSON object with exact types.

``{}`` says that nothing was learned. Unknown fields are ignored, a scope among them; a wrong type
invalidates the whole answer, for half an answer is a wrong one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, get_args

from ...models.data_models import MemoryKind
from ...models.soul import Axis, Direction

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_CHARS: Final = 65_536
"""The longest answer."""
MOST_ITEMS: Final = 120
"""The most items of each list of memories: three for each turn. Ids are bounded by the answer's
length."""
KINDS: Final = {
    "knowledge": MemoryKind.KNOWLEDGE,
    "event": MemoryKind.EVENT,
    "skill": MemoryKind.SKILL,
    "task": MemoryKind.TASK,
    "emotional": MemoryKind.EMOTIONAL,
    **{kind.value: kind for kind in MemoryKind},
}
_START = re.compile(r'\{\s*["}]')
"""The beginning of an object; in {words} a brace means something else."""
_FIELDS = ("useful_ids", "useless_ids", "new_memories", "contradictions", "merges", "style")
_AXES: Final[Mapping[str, Axis]] = {axis: axis for axis in get_args(Axis)}
_DIRECTIONS: Final[Mapping[str, Direction]] = {way: way for way in get_args(Direction)}
_LABEL: Final = re.compile(r"s[1-9][0-9]?", re.ASCII)
_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[A-Za-z]*\s*\n(.*?)\n\s*```", re.DOTALL)
_STRICT: Final[dict[str, Any]] = {"strict": True, "extra": "ignore"}


@dataclass(frozen=True, slots=True)
class NewMemory:
    """One memory in the model's words. ``turn`` counts from 1, ``who`` is a speaker's label.
    ``decision`` counts if it is true; a model that was not asked may put anything there."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    judgment: str
    reasoning: str | None = None
    tags: tuple[str, ...] | None = None
    asks: tuple[str, ...] | None = None
    kind: str | None = None
    strength: int | None = None
    turn: int | None = None
    who: str | None = None
    when: str | None = None
    decision: Any = None


@dataclass(frozen=True, slots=True)
class Correction:
    """The memory with this id is no longer true."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    old_id: str
    new: NewMemory


@dataclass(frozen=True, slots=True)
class ReflectionReply:
    """A whole answer."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    useful_ids: tuple[str, ...] = ()
    useless_ids: tuple[str, ...] = ()
    new_memories: tuple[NewMemory, ...] = ()
    contradictions: tuple[Correction, ...] = ()
    style: object = ()
    """As it came, for ``manner`` alone to read."""

    @property
    def manner(self) -> tuple[tuple[Axis, Direction, str], ...]:
        """Returns axis, direction and a speaker's label, empty where none is named, of each item
        that has these and nothing else. The rest is dropped."""
        given = self.style if isinstance(self.style, list | tuple) else ()
        found = (_wish(item) for item in given[:MOST_ITEMS])
        return tuple(dict.fromkeys(wish for wish in found if wish is not None))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why an answer is invalid. ``reason`` quotes only names of fields."""

    reason: str


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


def parse_reply(text: str) -> ReflectionReply | Unreadable:
    """Parse the one JSON object of an answer, ignoring a Markdown fence and text around it."""
    found = _only_object(text)
    return found if isinstance(found, Unreadable) else _checked(found)


def only_object(text: str) -> dict[str, object] | Unreadable:
    """Returns the one JSON object of an answer, with the types of its fields unchecked."""
    found = _only_object(text)
    if isinstance(found, Unreadable):
        return found
    given: dict[str, object] = json.loads(found)
    return given


def _only_object(text: str) -> str | Unreadable:
    if len(text) > MOST_CHARS:
        return Unreadable(f"too_long: more than {MOST_CHARS} characters")
    found = _objects(_THOUGHTS.sub(" ", text))
    if not found:
        return Unreadable("no_json: no complete JSON object")
    if len(set(found)) > 1:
        return Unreadable("several: more than one JSON object")
    return found[0]


def _objects(text: str) -> list[str] | None:
    """Returns the top-level JSON objects of a text, verbatim; None if one begins and does not end:
    objects inside it are no answer."""
    whole = text.strip()
    if _is_object(whole):
        return [whole]
    fenced = [block.strip() for block in _FENCE.findall(text)]
    if inside := [block for block in fenced if _is_object(block)]:
        return inside
    decoder = json.JSONDecoder()
    found: list[str] = []
    start = _START.search(text)
    while start is not None and len(found) <= 1:
        try:
            _, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return None
        found.append(text[start.start() : end])
        start = _START.search(text, end)
    return found


def _is_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _checked(text: str) -> ReflectionReply | Unreadable:
    from pydantic import ValidationError

    given = json.loads(text)
    if given and given.keys().isdisjoint(_FIELDS):
        return Unreadable(f"no_field: none of {', '.join(_FIELDS)}")
    try:
        reply = _adapter().validate_json(text.encode("utf-8", "replace"))
    except ValidationError as error:
        # Values are left out: speakers' words do not belong in a log.
        told = [
            f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['type']}"
            for one in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        return Unreadable(f"wrong_type: {'; '.join(told[:5])}"[:500])
    return _bounded(reply)


def _bounded(reply: ReflectionReply) -> ReflectionReply | Unreadable:
    if max(len(reply.new_memories), len(reply.contradictions)) > MOST_ITEMS:
        return Unreadable(f"too_many: more than {MOST_ITEMS} in one list")
    return reply


@cache
def _adapter() -> TypeAdapter[ReflectionReply]:
    # Imported here, so that the engine can be imported with the standard library alone.
    from pydantic import TypeAdapter

    return TypeAdapter(ReflectionReply)
