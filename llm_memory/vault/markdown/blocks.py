"""Finds the blocks of a Markdown text by lines: enough of CommonMark and GitHub's tables to know
where a text may be cut, and which lines are headings.

Not a full parser: quotation and list marks are skipped, so that a fence or table inside counts, but
a heading inside does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n|\n|\r")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_MARKS = r"(?P<marks>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,8}){0,9})"
_FENCE = re.compile(_MARKS + r"(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_HTML = re.compile(
    r" {0,3}<(?:(?P<comment>!--)|(?P<raw>pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE
)
_TAG = re.compile(" {0,3}</?[a-z]", re.IGNORECASE)
_LONGEST_PREFIX = 200
"""Characters at the beginning of a line that are examined: a line may be a megabyte."""
_NESTED = 4
_LONGEST_TITLE = 300
_MOST_TITLE_LINES = 3


class Kind(Enum):
    """The kind of a block, which decides whether it may be cut."""

    FRONT_MATTER = "front matter"
    HEADING = "heading"
    FENCE = "fence"
    TABLE = "table"
    PLAIN = "plain"
    """Lines between blank ones: paragraphs, lists, quotations, HTML."""
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines ``[start, end)`` from 0. ``level`` and ``title`` are a heading's."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    title: str = ""


def lines_of(text: str) -> tuple[str, ...]:
    """Returns the lines as editors number them, without byte order mark and line ends."""
    lines = _LINE_END.split(text.removeprefix(BOM))
    return tuple(lines if lines[-1] else lines[:-1])


def blocks_of(lines: Sequence[str]) -> list[Block]:
    """Returns the blocks in order; every line is in exactly one."""
    blocks: list[Block] = []
    place = _front_matter_end(lines)
    if place:
        blocks.append(Block(Kind.FRONT_MATTER, 0, place))
    while place < len(lines):
        block = _block_at(lines, place)
        blocks.append(block)
        place = block.end
    return blocks


def _front_matter_end(lines: Sequence[str]) -> int:
    """Returns the end of metadata between two lines of dashes at the beginning; 0 if none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for place in range(1, len(lines)):
        if lines[place].rstrip() in ("---", "..."):
            return place + 1
    return 0


def _block_at(lines: Sequence[str], start: int) -> Block:
    line = lines[start]
    if not line.strip():
        return Block(Kind.BLANK, start, start + 1)
    if (title := _atx(line)) is not None:
        return Block(Kind.HEADING, start, start + 1, *title)
    if (end := _fence_end(lines, start)) is not None:
        return Block(Kind.FENCE, start, end)
    if _begins_table(lines, start):
        return Block(Kind.TABLE, start, _table_end(lines, start))
    if (end := _html_end(lines, start)) is not None:
        return Block(Kind.PLAIN, start, end)
    return _plain(lines, start)


def _plain(lines: Sequence[str], start: int) -> Block:
    """Returns the block to the next blank line or other block; a heading if a line of = or - is
    below."""
    if _is_rule(lines[start]):
        return Block(Kind.PLAIN, start, start + 1)
    contained = _starts_container(lines[start])
    code = _indent(lines[start]) >= _NESTED
    may_be_title = not (contained or code or _TAG.match(lines[start]))
    end = start + 1
    while end < len(lines) and not _interrupts(lines, end):
        line = lines[end]
        # A rule right below a long paragraph does not make it a heading.
        may_be_title = may_be_title and end - start <= _MOST_TITLE_LINES
        if may_be_title and (underline := _SETEXT.match(line)) is not None:
            title = " ".join(" ".join(lines[start:end]).split())
            if len(title) <= _LONGEST_TITLE:
                level = 1 if underline[1][0] == "=" else 2
                return Block(Kind.HEADING, start, end + 1, level, title)
        if _is_rule(line) or (not contained and _starts_container(line)):
            break
        if code and _indent(line) < _NESTED:
            break
        end += 1
    return Block(Kind.PLAIN, start, end)


def _is_rule(line: str) -> bool:
    return len(line) <= _LONGEST_PREFIX and _RULE.match(line) is not None


def starts_item(line: str) -> bool:
    """True for the first line of a list's item, in a quotation or out of one."""
    return _ITEM.match(line[:_LONGEST_PREFIX]) is not None


def _starts_container(line: str) -> bool:
    return line.lstrip().startswith(">") or starts_item(line)


def _interrupts(lines: Sequence[str], place: int) -> bool:
    line = lines[place]
    return (
        not line.strip()
        or _atx(line) is not None
        or _opening(line) is not None
        or _begins_table(lines, place)
        or _HTML.match(line) is not None
    )


def _atx(line: str) -> tuple[int, str] | None:
    """Returns level and title of ``## title ##``."""
    match = _ATX.match(line)
    if match is None:
        return None
    title = line[match.end() :].strip(" \t")
    bare = title.rstrip("#")
    if bare == "" or bare[-1] in " \t":
        title = bare.rstrip(" \t")
    return len(match[1]), title


@dataclass(frozen=True, slots=True)
class _Opening:
    mark: str
    column: int
    quoted: bool
    item: bool


def _opening(line: str) -> _Opening | None:
    match = _FENCE.match(line[:_LONGEST_PREFIX])
    if match is None or (match["mark"][0] == "`" and "`" in line[match.end("mark") :]):
        return None
    marks = match["marks"]
    item = bool(marks.strip(" \t>"))
    return _Opening(match["mark"], len(marks.expandtabs(4)), ">" in marks, item)


def _fence_end(lines: Sequence[str], start: int) -> int | None:
    """Returns the line after the closing mark, or the end of the fence's container; None if no
    fence begins."""
    opening = _opening(lines[start])
    if opening is None:
        return None
    floor = opening.column if opening.item else _NESTED // 2 if opening.column >= _NESTED else 0
    for place in range(start + 1, len(lines)):
        line = lines[place]
        if opening.quoted and not line.lstrip().startswith(">"):
            return place
        if not opening.quoted and line.strip() and _indent(line) < floor:
            return place  # the list ends, and all inside it
        inner = line.lstrip(" \t>") if opening.quoted else line.lstrip(" \t")
        near = opening.quoted or _indent(line) < opening.column + _NESTED
        rest = inner.rstrip(" \t")
        if near and len(rest) >= len(opening.mark) and not rest.strip(opening.mark[0]):
            return place + 1
    return len(lines)


def _begins_table(lines: Sequence[str], start: int) -> bool:
    """True for a row with a row of dashes below it."""
    if start + 1 >= len(lines) or "|" not in lines[start]:
        return False
    below = lines[start + 1].strip(" \t>")
    return ("|" in below or ":" in below) and _DELIMITERS.fullmatch(below) is not None


def _table_end(lines: Sequence[str], start: int) -> int:
    end = start + 2
    while end < len(lines):
        line = lines[end]
        bare = line.lstrip(" \t>")
        if not bare or _atx(line) is not None or _opening(line) is not None:
            break
        if "|" not in bare and _starts_container(line):
            break
        end += 1
    return end


def _html_end(lines: Sequence[str], start: int) -> int | None:
    """Returns the line after a comment or a raw HTML block; None if none begins."""
    match = _HTML.match(lines[start])
    if match is None:
        return None
    closing = "-->" if match["comment"] else f"</{match['raw'].lower()}>"
    for place in range(start, len(lines)):
        if closing in lines[place].lower():
            return place + 1
    return len(lines)


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))
