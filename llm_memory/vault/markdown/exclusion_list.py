"""The list in a scope's MEMORY.md of what is never learned there. Pure.

    ## 从不记

    - 体重
    - 工资 <!-- aiocqhttp:1002 小明 -->

The first line holds for everybody, the second for what this account says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...text.normalising import SENTENCE_ENDS
from ...text.overlap import holds
from ...text.scripts import normalise
from .topic_file import BOM, newline_of

HEADING: Final = "从不记"
HEADING_ENGLISH: Final = "Never learn"
_HEADING: Final = re.compile(rf"#+\s*(?:{HEADING}|{HEADING_ENGLISH})\s*", re.IGNORECASE)
_END: Final = re.compile(r"#+\s|[ \t]*<!--[ \t]*scoped-memory:")
_LINE: Final = re.compile(
    r"\s*[-*+]\s+(?P<words>.*?)\s*(?:<!--\s*(?P<person>\S+:\S+)\s*(?P<who>.*?)\s*-->)?\s*"
)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Words that are never learned. ``person``: only of what this account says, which is called
    ``who``; empty for everybody."""

    words: str
    person: str = ""
    who: str = ""

    def holds_in(self, text: str) -> bool:
        """True if a text has the words, in either script."""
        return holds(normalise(text), normalise(self.words))


def exclusions_of(text: str) -> tuple[Exclusion, ...]:
    """Returns the list of a page, each line once."""
    lines, (first, last) = text.split("\n"), _section(text)
    return tuple(dict.fromkeys(filter(None, map(_read, lines[first:last]))))


def with_exclusions(text: str, wanted: Sequence[Exclusion], *, english: bool) -> str:
    """Returns the page with this list. Whatever else a person wrote stands as it stood; a page
    without a list gets one at its end."""
    newline, lines, (first, last) = newline_of(text), text.split("\n"), _section(text)
    known = exclusions_of(text)
    new = [f"{_written(one)}{newline}" for one in wanted if one not in known]
    if not first:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        heading = f"## {HEADING_ENGLISH if english else HEADING}{newline}{newline}"
        return f"{text}{gap}{heading}{''.join(new)}"
    section = [one for one in lines[first:last] if _read(one) in (None, *wanted)]
    body = "\n".join(section).rstrip()
    return "".join(
        [
            *(f"{one}\n" for one in lines[:first]),
            f"{body}{newline}" if body else newline,
            *new,
            newline,
            "\n".join(lines[last:]),
        ]
    )


def without_list(text: str) -> str:
    """Returns the page with empty lines in place of the list: it is nothing to recall."""
    lines, (first, last) = text.split("\n"), _section(text)
    if not first:
        return text
    return "\n".join([*lines[: first - 1], *[""] * (last - first + 1), *lines[last:]])


def sentences_without(text: str, excluded: Sequence[Exclusion]) -> str:
    """Returns the sentences of a text that hold none of the words."""

    def is_free(part: str) -> bool:
        return not any(one.holds_in(part) for one in excluded)

    return text if is_free(text) else "".join(filter(is_free, SENTENCE_ENDS.split(text))).strip()


def _section(text: str) -> tuple[int, int]:
    """Returns where the lines below the heading begin and end; zeros for no list."""
    lines = text.removeprefix(BOM).split("\n")
    first = next((n for n, line in enumerate(lines, 1) if _HEADING.fullmatch(line)), 0)
    if not first:
        return 0, 0
    ends = (n for n, line in enumerate(lines[first:], first) if _END.match(line))
    return first, next(ends, len(lines))


def _read(line: str) -> Exclusion | None:
    found = _LINE.fullmatch(line)
    if not found or not found["words"]:
        return None
    return Exclusion(found["words"], found["person"] or "", found["who"] or "")


def _written(one: Exclusion) -> str:
    said_by = f" <!-- {one.person} {one.who}".rstrip() + " -->" if one.person else ""
    return f"- {one.words}{said_by}"
