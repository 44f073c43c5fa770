"""Reads what a chat model answered, as far as that leaves no doubt. Pure.

Around the answer there may be thoughts, words, a fence, or another object; commas may stand where
JSON has none. ``{}`` says that nothing was learned. What is wrong in one item costs that item
alone. An answer without memories that says something in fields we do not know is none: its turns
are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, get_args

from ...models.data_models import MemoryKind
from ...models.soul import Axis, Direction
from ...remember.rules.gate import MAX_ASK, order_like
from ...text.normalising import clean, normalise, one_line

MOST_CHARS: Final = 65_536
"""The longest answer."""
KINDS: Final = {word: kind for kind in MemoryKind for word in (kind.name.lower(), kind.value)}
_THOUGHT: Final = re.compile(r"<(/?)(?:think(?:ing)?|thought|reasoning)>", re.IGNORECASE)
_BEGINS, _ENDS = "\ufdd0", "\ufdd1"
"""Marks of a thought: no characters of any text."""
_START: Final = re.compile(r"\{\s*[\"'}]|\[\s*[{\]]")
"""The beginning of an object, or of a list of them; in {words} a brace means something else."""
_LAPSE: Final = re.compile(
    r'"(?:[^"\\]|\\.)*(?:"|\Z)|'
    r"'([^'\\\n]*)'(?=\s*[:,}\]])|"
    r"None\b|True\b|False\b|,(?=\s*[}\]])",
    re.DOTALL,
)
"""A text, and what stands in Python where JSON has something else, or nothing."""
_PYTHON: Final = {"None": "null", "True": "true", "False": "false"}
_ESCAPE: Final = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_NOTHING: Final[tuple[object, ...]] = (None, "", False, {}, "none", "None", "null", "无", "没有")
_MOST_BROKEN: Final = 10
"""So many objects may begin and not end before the rest is not looked at."""
_MOST_ITEMS: Final = 120
"""The most items of each list of memories that are read: three for each turn."""
_FIELDS: Final = {
    **dict.fromkeys(("usefulid", "useful"), "useful"),
    **dict.fromkeys(("uselessid", "useles"), "useless"),
    **dict.fromkeys(("newmemory", "memory", "新记忆", "新的记忆", "记忆"), "memories"),
    **dict.fromkeys(("contradiction", "correction"), "corrections"),
    "style": "style",
}
"""Fields of an answer, by what models call them (see ``_object``)."""
_ITEM_FIELDS: Final = {
    **dict.fromkeys(("judgement", "memory", "content", "text", "fact", "statement"), "judgment"),
    **dict.fromkeys(("判断", "记忆", "内容"), "judgment"),
    **dict.fromkeys(("id", "memoryid"), "oldid"),
    "newmemory": "new",
    "question": "ask",
}
"""Other names of an item's fields, in the same way."""
_WISHES: Final[Mapping[tuple[str, str], tuple[Axis, Direction]]] = {
    (axis, way): (axis, way) for axis in get_args(Axis) for way in get_args(Direction)
}
_POINTER: Final = re.compile("[#^][mn]-")
"""Matches the beginning of a pointer or an entry's id."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why an answer cannot be used: a stable code and names of fields, nobody's words. ``shown``:
    the model is shown its answer when it is asked again."""

    reason: str
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Doubtful[T]:
    """What can be used of an answer whose rest the model may put right. ``reason``: what is wrong
    with that; it quotes people, and belongs into a prompt alone. ``joined``: returns it with what
    can be used of the next answer."""

    value: T
    reason: str
    joined: Callable[[T], T]


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
    fields: dict[str, list[object]] = {field: [] for field in (*_FIELDS.values(), "")}
    for key, value in given.items():
        fields[_FIELDS.get(key) or _field_of_shape(value)] += as_list(value)
    readers: tuple[tuple[str, str, Callable[[object], NewMemory | Correction | None]], ...] = (
        ("new_memories", "memories", _memory),
        ("contradictions", "corrections", _correction),
    )
    items = {
        f"{name}.{place}": read(one)
        for name, field, read in readers
        for place, one in enumerate(fields[field][:_MOST_ITEMS])
    }
    if not items and any(isinstance(one, str | list | dict) for one in fields[""]):
        return Unreadable("no_field: something stands in an unknown field alone")
    dropped = tuple(place for place, one in items.items() if one is None)
    if dropped and len(dropped) == len(items):
        return Unreadable(f"wrong_type: {', '.join(dropped[:5])}")
    return ReflectionReply(
        useful_ids=as_texts(fields["useful"]),
        useless_ids=as_texts(fields["useless"]),
        new_memories=tuple(one for one in items.values() if isinstance(one, NewMemory)),
        contradictions=tuple(one for one in items.values() if isinstance(one, Correction)),
        manner=_manner(fields["style"]),
        dropped=dropped,
    )


def find_answer(
    text: str,
    names: Collection[str],
    shaped: Callable[[object], dict[str, object] | None],
) -> dict[str, object] | Unreadable:
    """Returns the object that answers, without what is around it. Of several the last one is taken
    if the others are empty, the same, or thoughts.

    Args:
        names: The fields of an answer (see ``_object``). An empty object is an answer, too.
        shaped: Returns the answer that another value stands for, None if it is none.
    """
    if len(text) > MOST_CHARS:
        return Unreadable(f"too_long: more than {MOST_CHARS} characters")
    said, thinks_aloud = without_thoughts(text)
    values = [value for _, value in _values(said)]
    is_whole = None not in values
    # Parts of a broken object are among them: no items, which would be less than was answered.
    shape = shaped if is_whole else lambda _: None
    answers = [one for value in values if (one := _answer(value, names, shape)) is not None]
    if not answers:
        return Unreadable(
            "no_field: no known field" if values and is_whole else "no_json: no complete object"
        )
    *before, last = answers
    if (thinks_aloud and last) or all(one in ({}, last) for one in before):
        return last
    return Unreadable("several: more than one JSON object")


def without_thoughts(text: str) -> tuple[str, bool]:
    """Returns what is said behind all thoughts, and whether one of them never ends: it may hold the
    answer. What stands before the end of a thought is thought, though no mark began it. A mark
    inside of JSON is what people talk of."""
    quoted = [place for place, value in _values(text[:MOST_CHARS]) if value is not None]

    def marked(mark: re.Match[str]) -> str:
        is_quoted = any(mark.start() in place for place in quoted)
        return mark[0] if is_quoted else _ENDS if mark[1] else _BEGINS

    *closed, last = _THOUGHT.sub(marked, text).split(_ENDS)
    unbegun = (place for place, part in enumerate(closed, start=1) if _BEGINS not in part)
    said = [part.partition(_BEGINS)[0] for part in closed[max(unbegun, default=0) :]]
    return "\n".join([*said, last.replace(_BEGINS, "\n")]).strip(), _BEGINS in last


def _values(text: str) -> Iterator[tuple[range, object]]:
    """Yields the objects and lists of a text with their places, None for a broken one: its parts
    follow."""
    broken = end = 0
    while broken < _MOST_BROKEN and (start := _START.search(text, end)):
        try:
            value, end = _decoded(text, start.start())
        except (ValueError, RecursionError):
            value, end, broken = None, start.start() + 1, broken + 1
        yield range(start.start(), end), value


def _decoded(text: str, start: int) -> tuple[object, int]:
    """Returns a value and where it ends. Raises ValueError, RecursionError."""
    try:
        return _DECODER.raw_decode(text, start)
    except ValueError:
        mended = _LAPSE.sub(_as_json, text[start:])  # it is as long as before, or longer
        value, length = _DECODER.raw_decode(mended)
        return value, text.rindex(mended[length - 1], start, start + length) + 1


def _as_json(lapse: re.Match[str]) -> str:
    if lapse[0].startswith('"'):
        return _ESCAPE.sub(lambda found: found[1] or "\\\\", lapse[0])
    told = json.dumps(lapse[1], ensure_ascii=False) if lapse[1] is not None else ""
    return _PYTHON.get(lapse[0], told).ljust(len(lapse[0]))


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Returns an object. ``newMemory`` and ``new_memories`` have one name in it, ``newmemory``, and
    of two lists under one name it has both."""
    found: dict[str, object] = {}
    for key, value in pairs:
        name = re.sub("ies$", "y", re.sub(r"[\W_]", "", key.casefold())).removesuffix("s")
        before = found.get(name, [])
        are_lists = isinstance(before, list) and isinstance(value, list)
        found[name] = [*as_list(before), *as_list(value)] if are_lists else value
    return found


_DECODER: Final = json.JSONDecoder(strict=False, object_pairs_hook=_object)
"""A line may end inside a text."""


def _answer(
    value: object,
    names: Collection[str],
    shaped: Callable[[object], dict[str, object] | None],
) -> dict[str, object] | None:
    if isinstance(value, dict) and (not value or value.keys() & names):
        return value
    if (found := shaped(value)) is not None or not isinstance(value, dict):
        return found
    inside = [one for one in (_answer(one, names, shaped) for one in value.values()) if one]
    return inside[0] if len(inside) == 1 else None


def as_list(value: object) -> list[object]:
    """Returns a list as it is, nothing as an empty one, and a value alone as a list of it."""
    if isinstance(value, list):
        return value
    return [] if value in _NOTHING else [value]


def as_text(value: object) -> str:
    """Returns a text, or a number, without half characters and blanks around it; empty for
    anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).encode("utf-8", "replace").decode().strip()


def as_texts(value: object) -> tuple[str, ...]:
    """Returns the texts of a list, or of one text alone."""
    return tuple(as_text(one) for one in as_list(value) if isinstance(one, str) and one.strip())


def as_number(value: object) -> int | None:
    """Returns the whole number that a value says: 80 for 80.0, ``80`` and ``80%``; else None."""
    found = re.fullmatch(r"[^\d-]{0,3}(-?\d{1,9})(?:\.0+)?\D{0,3}", as_text(value), re.ASCII)
    return int(found[1]) if found else None


def day_of(when: str) -> date | None:
    """Returns the day that an item names, None for none."""
    try:
        return date.fromisoformat(when[:10])
    except ValueError:
        return None


def _field_of_shape(value: object) -> str:
    """Returns the field whose items a value holds, empty for no items."""
    items = [one for one in as_list(value) if isinstance(one, dict)]
    if any("oldid" in one for one in items):
        return "corrections"
    return "memories" if any(one.keys() & {"judgment", "judgement"} for one in items) else ""


def _answer_of_items(value: object) -> dict[str, object] | None:
    """Returns the answer that items without an object around them stand for."""
    field = _field_of_shape(value)
    return {field: value} if field else {} if value == [] else None


def _item(given: object) -> dict[str, object]:
    fields = given if isinstance(given, dict) else {"judgment": given}
    return {_ITEM_FIELDS.get(name, name): value for name, value in fields.items()}


def _memory(given: object) -> NewMemory | None:
    item = _item(given)
    judgment, who = item.get("judgment"), as_text(item.get("who"))
    if not isinstance(judgment, str) or not as_text(judgment):
        return None
    return NewMemory(
        as_text(judgment),
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
    items = [style] if style and isinstance(style[0], str) else style
    told = (
        list(map(as_text, one)) for one in items if isinstance(one, list) and len(one) in (2, 3)
    )
    found = ((_WISHES.get((axis, way)), "".join(who)) for axis, way, *who in told)
    return tuple(dict.fromkeys((*wish, who) for wish, who in found if wish))


def usable(given: Iterable[str], judgment: str) -> tuple[str, ...]:
    """Returns the tags, or the questions, that add words to a memory's own. Left out is what
    misrepresents it: an order, a pointer, or a whole text."""
    said = normalise(judgment)
    texts = {normalise(text): text for text in map(one_line, map(clean, given))}
    return tuple(
        text
        for words, text in texts.items()
        if words and words not in said and len(text) <= MAX_ASK
        if order_like(text) is None and not _POINTER.search(text)
    )
