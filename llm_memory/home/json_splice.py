"""Sets one value in the text of a JSON file; every other byte stays as it is. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

BOM: Final = "\ufeff"
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()

type Path = Sequence[str | int]
"""Where a value stands: names of members, and places in lists."""


class NotMergeable(ValueError):
    """The text is no JSON, or has something else where a value is to be put. The message says it
    in two languages."""


def parse(text: str) -> Any:
    """Returns what a JSON text holds; an empty text is an empty object. Raises NotMergeable."""
    try:
        body = text.removeprefix(BOM).strip(" \t\r\n") and text.removeprefix(BOM)
        return json.loads(body or "{}", parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise NotMergeable(
            f"第 {error.lineno} 行第 {error.colno} 列不是合法的 JSON / not valid JSON at line "
            f"{error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except RecursionError as error:
        raise NotMergeable("嵌套太深 / nested too deeply") from error


def _refuse_constant(name: str) -> None:
    raise NotMergeable(f"{name} 不是合法的 JSON / is not valid JSON")


def put(text: str, path: Path, value: object) -> str:
    """Returns the text with ``value`` at ``path``.

    What is missing on the way is made, at the end of the object or list it belongs to. A place in
    a list is one that is there, or the first behind it. The text's own indentation and line ends
    are used for what is new.

    Raises:
        NotMergeable: the text is no JSON, or a value on the way is of another type, or a name on
            the way is there twice, so that it is unclear which one counts.
    """
    whole = _with_value(parse(text), path, value)
    if parse(text) == whole:
        return text
    head, body = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    spliced = head + _spliced(body if body.strip() else "{}\n", path, value)
    # A second reading is the proof that nothing else has changed.
    if parse(spliced) != whole:
        raise NotMergeable("不能安全地改 / cannot be changed safely")
    return spliced


def _with_value(content: Any, path: Path, value: object) -> Any:
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(key, str):
        if not isinstance(content, dict):
            raise NotMergeable(f"{key!r} 的位置不是对象 / is not inside an object")
        below = content.get(key, _empty(rest))
        return {**content, key: _with_value(below, rest, value)}
    if not isinstance(content, list) or key > len(content):
        raise NotMergeable(f"第 {key + 1} 项的位置不是列表 / item {key + 1} is not inside a list")
    below = content[key] if key < len(content) else _empty(rest)
    return [*content[:key], _with_value(below, rest, value), *content[key + 1 :]]


def _empty(path: Path) -> Any:
    return [] if path and isinstance(path[0], int) else {}


@dataclass(frozen=True, slots=True)
class _Child:
    """A member of an object, or an item of a list.

    Attributes:
        key: Its name or its place.
        lead: The blanks before it.
        start: Where its value begins.
        end: Where its value ends.
    """

    key: str | int
    lead: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Style:
    newline: str
    unit: str


def _spliced(text: str, path: Path, value: object) -> str:
    """The text has been parsed, and the path fits it."""
    start = _skip(text, 0)
    children, _ = _children(text, start)
    lead = children[0].lead if children else ""
    unit = lead.rpartition("\n")[2] if "\n" in lead else ""
    style = _Style("\r\n" if "\r\n" in text else "\n", unit or "  ")
    end = len(text)
    for depth, key in enumerate(path):
        children, close = _children(text, start)
        found = [child for child in children if child.key == key]
        if len(found) > 1:
            raise NotMergeable(f"有两个 / there are two of {key!r}")
        if not found:
            new = _nested(path[depth + 1 :], value)
            return _inserted(text, start, close, children, key, new, style)
        start, end = found[0].start, found[0].end
    dumped = _dumped(value, _indent_at(text, start), style, pretty="\n" in text)
    return text[:start] + dumped + text[end:]


def _inserted(
    text: str,
    start: int,
    close: int,
    children: Sequence[_Child],
    key: str | int,
    value: object,
    style: _Style,
) -> str:
    name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    if children:
        last = children[-1]
        inner = last.lead.rpartition("\n")[2]
        entry = name + _dumped(value, inner, style, pretty="\n" in last.lead)
        return f"{text[: last.end]},{last.lead}{entry}{text[last.end :]}"
    outer = _indent_at(text, start)
    inner = outer + style.unit
    entry = name + _dumped(value, inner, style, pretty=True)
    return f"{text[: start + 1]}{style.newline}{inner}{entry}{style.newline}{outer}{text[close:]}"


def _nested(path: Path, value: object) -> object:
    for key in reversed(path):
        value = {key: value} if isinstance(key, str) else [value]
    return value


def _dumped(value: object, indent: str, style: _Style, *, pretty: bool) -> str:
    dumped = json.dumps(value, ensure_ascii=False, indent=style.unit if pretty else None)
    return dumped.replace("\n", style.newline + indent)


def _indent_at(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _children(text: str, start: int) -> tuple[list[_Child], int]:
    """The children of the object or list at ``start``, and where it is closed."""
    named = text[start] == "{"
    children: list[_Child] = []
    place = start + 1
    while True:
        begin = _skip(text, place)
        if text[begin] in "}]":
            return children, begin
        lead = text[place:begin]
        key: str | int = len(children)
        if named:
            key, after = _DECODER.raw_decode(text, begin)
            begin = _skip(text, _skip(text, after) + 1)  # behind the colon
        end = _end_of(text, begin)
        children.append(_Child(key, lead, begin, end))
        place = _skip(text, end)
        if text[place] == ",":
            place += 1


def _end_of(text: str, start: int) -> int:
    _, end = _DECODER.raw_decode(text, start)
    return end


def _skip(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place
