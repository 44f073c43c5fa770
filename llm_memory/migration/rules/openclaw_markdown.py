"""Reads the Markdown of a former six-tool memory (``.openclaw_memory``). Pure.

Its files hold one memory a list item: ``user/`` preferences, instructions and entities, ``agent/``
decisions and patterns, ``journal/<day>.md`` sessions with headings for what was asked, learned,
done and next, ``TASKS.md`` checkboxes. People write there by hand as well, so paragraphs count too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

from ...models.data_models import NO_TIME, Memory, MemoryKind, Provenance, Source
from ...vault.markdown.blocks import Block, Kind, blocks_of, lines_of

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_STATED: Final = re.compile(r"(updated|created|date)\s*:\s*['\"]?(\d{4}-\d{2}-\d{2})", re.ASCII)
_SESSION: Final = re.compile(r"(?:Session\s+)?(\d{1,2}):(\d{2})\b", re.IGNORECASE | re.ASCII)
_TURN: Final = re.compile(r"\d{2}:\d{2} \| .+", re.ASCII)
_ITEM: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)", re.ASCII)
_RULE: Final = re.compile(r"[ \t]*[-*_](?:[ \t]*[-*_]){2,}[ \t]*")
_NESTED: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]", re.ASCII)
_SENTENCE: Final = re.compile(r"[。！？]|[.!?;；](?=\s)|\s")
_LONGEST: Final = 1500
"""Characters of a text. The rest of a longer one is told below it."""
_LEARNED: Final = ("学到", "learned")
_BEFORE: Final = (
    (("请求", "request"), "请求："),
    (("下一步", "next"), "下一步："),
)
"""Words without which an item of such a section would read like a fact."""


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """What a file holds. ``turns`` are whole conversations, which are no memories. Where only the
    day of a memory is known, later ones of a file have later times. The time of the file tells
    nothing: a copied or checked-out one is of that day."""

    memories: tuple[Memory, ...] = ()
    turns: int = 0


@dataclass(slots=True)
class _ParserState:
    """Where the reading stands."""

    kind: MemoryKind
    at: datetime
    section: str = ""
    in_turn: bool = False
    turns: int = 0
    found: list[Memory] = field(default_factory=list)


def read_file(path: str, text: str, modified: datetime) -> ForeignFile:
    """Returns the memories of a file.

    Args:
        path: Relative to the memory's folder, with ``/``.
        text: The file's text.
        modified: When it was written, aware; its zone is that of the days in the file.
    """
    lines = lines_of(text)
    blocks = blocks_of(lines)
    head = blocks[0].end if blocks and blocks[0].kind is Kind.FRONT_MATTER else 0
    place = _ParserState(_kind_of(path), _day_of(path, lines[:head], modified))
    for block in blocks:
        if block.kind is Kind.HEADING:
            _enter(place, block)
        elif block.kind not in (Kind.FRONT_MATTER, Kind.BLANK) and not place.in_turn:
            _take(place, block, lines[block.start : block.end])
    return ForeignFile(tuple(place.found), place.turns)


def _kind_of(path: str) -> MemoryKind:
    folder, _, name = path.rpartition("/")
    if name == "TASKS.md":
        return MemoryKind.TASK
    if folder == "journal" or folder.endswith("/journal"):
        return MemoryKind.EVENT
    return MemoryKind.SKILL if name == "patterns.md" else MemoryKind.KNOWLEDGE


def _day_of(path: str, head: Sequence[str], modified: datetime) -> datetime:
    stated = {found[1]: found[2] for line in head if (found := _STATED.match(line))}
    name = _DAY.search(path.rpartition("/")[2])
    days = [name[0] if name else "", *(stated.get(key, "") for key in ("updated", "created"))]
    for day in filter(None, days):
        try:
            return datetime.fromisoformat(day).replace(tzinfo=modified.tzinfo)
        except ValueError:
            continue
    return NO_TIME


def _enter(place: _ParserState, block: Block) -> None:
    if _TURN.fullmatch(block.title):
        place.in_turn = True
        place.turns += 1
        return
    if block.level <= 2:
        place.in_turn = False
        place.section = ""
        session = _SESSION.match(block.title)
        if session and place.kind is MemoryKind.EVENT:
            hour, minute = int(session[1]), int(session[2])
            if hour < 24 and minute < 60 and place.at != NO_TIME:
                place.at = place.at.replace(hour=hour, minute=minute, second=0)
        return
    place.section = block.title.lower()


def _take(place: _ParserState, block: Block, lines: Sequence[str]) -> None:
    if block.kind is not Kind.PLAIN:
        # A table or code explains what stands above it.
        if place.found:
            above, more = place.found[-1], "\n".join(lines)
            place.found[-1] = replace(above, reasoning=f"{above.reasoning}\n{more}".strip())
        return
    for item in _items(lines):
        place.found.append(_memory(place, item))
        if place.at != NO_TIME:
            place.at += timedelta(seconds=1)


def _items(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yields the lines of each item, and of what stands before the first."""
    item: list[str] = []
    for line in lines:
        if _RULE.fullmatch(line):
            continue
        if item and _ITEM.match(line) and not _is_deeper(line, item[0]):
            yield item
            item = []
        item.append(line)
    if item:
        yield item


def _is_deeper(line: str, first: str) -> bool:
    def indent(text: str) -> int:
        return len(text) - len(text.lstrip(" \t"))

    return _ITEM.match(first) is not None and indent(line) > indent(first) + 1


def _memory(place: _ParserState, lines: Sequence[str]) -> Memory:
    first, more = _parts(lines)
    kind = place.kind
    if kind is MemoryKind.TASK:
        more = "；".join(_without(_NESTED, line).strip() for line in more.splitlines())
    elif kind is MemoryKind.EVENT:
        if any(word in place.section for word in _LEARNED):
            kind = MemoryKind.KNOWLEDGE
        for words, prefix in _BEFORE:
            if any(word in place.section for word in words):
                first = prefix + first
    origin = Provenance(source=Source.IMPORT)
    return Memory("", first, place.at, reasoning=more, kind=kind, provenance=origin)


def _parts(lines: Sequence[str]) -> tuple[str, str]:
    """The words of an item, on one line, and the list below it."""
    own = [lines[0], *takewhile(lambda line: not _NESTED.match(line), lines[1:])]
    more = "\n".join(lines[len(own) :])
    first = " ".join(line.strip() for line in own)
    first = _without(_ITEM, first)
    if len(first) > _LONGEST:
        ends = [found.end() for found in _SENTENCE.finditer(first, 0, _LONGEST)]
        cut = ends[-1] if ends else _LONGEST
        first, more = first[:cut], f"{first[cut:]}\n{more}"
    return first.strip(), more.strip()


def _without(mark: re.Pattern[str], line: str) -> str:
    """The line without the mark that it begins with."""
    found = mark.match(line)
    return line[found.end() :] if found else line
