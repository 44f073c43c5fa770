"""Finds the answer in what a chat model wrote, as far as that leaves no doubt. Pure.

Around the answer there may be thoughts, words, a fence, or another object; commas may stand where
JSON has none. What is wrong inside the answer is for who reads its fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

MOST_CHARS: Final = 65_536
"""The longest answer."""
_MARK: Final = re.compile(r"<(/?)(?:think(?:ing)?|thought|reasoning)>", re.IGNORECASE)
_START: Final = re.compile(r'\{\s*["}]|\[\s*[{\]]')
"""The beginning of an object, or of a list of them; in {words} a brace means something else."""
_STRAY_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_MOST_BROKEN: Final = 10
"""So many objects may begin and not end before the rest is not looked at."""


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


def name_of(key: str) -> str:
    """Returns the name that keys of one meaning share: ``newMemory`` and ``new_memories`` have
    one."""
    name = re.sub(r"[\W_]", "", key.casefold())
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def without_thoughts(text: str) -> tuple[str, bool]:
    """Returns what is said behind all thoughts, and whether one of them never ends: it may hold the
    answer. What stands before the end of a thought is thought, though no mark began it."""
    said, is_thought, end = list[str](), False, 0
    for mark in _MARK.finditer(text):
        if not is_thought:
            said.append(text[end : mark.start()])
        if mark[1] and not is_thought:
            said.clear()
        is_thought, end = not mark[1], mark.end()
    return "\n".join([*said, text[end:]]).strip(), is_thought


def find_answer(
    text: str,
    names: Collection[str],
    shaped: Callable[[object], dict[str, object] | None] = lambda _: None,
) -> dict[str, object] | Unreadable:
    """Returns the object that answers, without what is around it. Of several the last one is taken
    if it says all that the others do, or if the others were thoughts.

    Args:
        names: ``name_of`` the fields of an answer. An empty object is an answer, too.
        shaped: Returns the answer that another value stands for, None if it is none.
    """
    if len(text) > MOST_CHARS:
        return Unreadable(f"too_long: more than {MOST_CHARS} characters")
    said, thinks_aloud = without_thoughts(text)
    values, is_whole = _values(said)
    if is_whole:
        found = (_answer(value, names, shaped) for value in values)
        answers = [one for one in found if one is not None]
    else:  # parts of a broken object are among them
        answers = [one for one in values if isinstance(one, dict) and _is_answer(one, names)]
    if not answers:
        is_json = values and is_whole
        return Unreadable("no_field: no known field" if is_json else "no_json: no complete object")
    *before, last = answers
    if (thinks_aloud and last) or all(_texts(one) <= _texts(last) for one in before):
        return last
    return Unreadable("several: more than one JSON object")


def _values(text: str) -> tuple[list[object], bool]:
    """Returns the objects and lists of a text, and whether none of them is broken."""
    found: list[object] = []
    broken = 0
    start = _START.search(text)
    while start is not None and broken < _MOST_BROKEN:
        try:
            value, end = _decoded(text, start.start())
            found.append(value)
        except (ValueError, RecursionError):
            broken, end = broken + 1, start.start() + 1
        start = _START.search(text, end)
    return found, not broken


def _decoded(text: str, start: int) -> tuple[object, int]:
    """Returns a value and where it ends. Raises ValueError, RecursionError."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        mended = _STRAY_COMMA.sub(lambda found: found[1] or " ", text[start:])
        value, length = _DECODER.raw_decode(mended)
        end = start + length  # a blank stands for each comma, so the places are the same
    return value, end


def _answer(
    value: object,
    names: Collection[str],
    shaped: Callable[[object], dict[str, object] | None],
) -> dict[str, object] | None:
    if isinstance(value, dict) and (not value or _is_answer(value, names)):
        return value
    if (found := shaped(value)) is not None or not isinstance(value, dict):
        return found
    inside = [_answer(one, names, shaped) for one in value.values()]
    answers = inside if len(inside) == 1 else [one for one in inside if one]
    return answers[0] if len(answers) == 1 else None


def _is_answer(value: Mapping[str, object], names: Collection[str]) -> bool:
    return any(name_of(key) in names for key in value)


def _joined(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Returns an object; of two lists under one name it has both."""
    found: dict[str, object] = {}
    for key, value in pairs:
        before = found.get(key)
        if isinstance(before, list) and isinstance(value, list):
            before += value
        else:
            found[key] = value
    return found


_DECODER: Final = json.JSONDecoder(strict=False, object_pairs_hook=_joined)
"""A line may end inside a text."""


def _texts(value: object) -> set[str]:
    """Returns all texts of a value, at any depth."""
    if isinstance(value, str):
        return {value}
    inside = value.values() if isinstance(value, dict) else value
    return set[str]().union(*map(_texts, inside)) if isinstance(inside, Collection) else set()
