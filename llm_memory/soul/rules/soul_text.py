"""The form of SOUL.md: a title, four headings with list lines, and protected blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ...models.soul import Both
from ...text.normalising import estimate_tokens
from ...texts import Spoken

PROTECTED: Final = "<!-- soul:protected -->"
END: Final = "<!-- /soul:protected -->"
MOST_TOKENS: Final = 600
"""What the rules may cost in a prompt."""
_TITLE: Final = "# SOUL"
_RULE: Final = re.compile(r"[-*] +(\S.*)")
_INJECTED: Final = Both("# 学到的说话习惯", "# Learned manner")
_SEED: Final = Both(
    "这里只记说话的方式：语气、长短、习惯、边界。\n"
    "不记秘密，不记任何人的事，也不改变谁能看什么、谁能做什么。",
    "This file holds the manner of speaking alone: tone, length, habits, boundaries.\n"
    "It holds no secrets and nothing about people, and changes nobody's rights.",
)


class Section(StrEnum):
    """What stands under a heading."""

    TONE = "tone"
    LENGTH = "length"
    HABITS = "habits"
    BOUNDARIES = "boundaries"


HEADINGS: Final = {
    Section.TONE: Both("语气", "Tone"),
    Section.LENGTH: Both("长短", "Length"),
    Section.HABITS: Both("习惯", "Habits"),
    Section.BOUNDARIES: Both("边界", "Boundaries"),
}
_BY_HEADING: Final = {
    f"## {name}": section for section, said in HEADINGS.items() for name in (said.zh, said.en)
}


class LineKind(StrEnum):
    """What a line of SOUL.md is."""

    TITLE = "title"
    BLANK = "blank"
    HEADING = "heading"
    RULE = "rule"
    PROTECTED = "protected"
    OTHER = "other"
    """Nothing that SOUL.md may hold: it is not injected, and refused."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number from 1, and the section that it is in, None before the first heading.
    ``text`` is a rule without its mark, and any other line as it stands."""

    number: int
    kind: LineKind
    text: str
    section: Section | None


def seed(language: Spoken) -> str:
    """Returns the text of the first version. It has no rules, and injects nothing."""
    headings = "\n\n".join(f"## {said.text(language)}" for said in HEADINGS.values())
    block = f"{PROTECTED}\n{_SEED.text(language)}\n{END}"
    return f"{_TITLE}\n\n{block}\n\n{headings}\n"


def lines_of(text: str) -> Iterator[Line]:
    """Yields the lines of any text."""
    section: Section | None = None
    written_lines = text.split("\n")
    blocks = {place for block in _blocks(written_lines) for place in block}
    for number, written in enumerate(written_lines, 1):
        line = written.rstrip(" ")
        if number - 1 in blocks:
            yield Line(number, LineKind.PROTECTED, written, section)
        elif not line:
            yield Line(number, LineKind.BLANK, written, section)
        elif line == _TITLE and section is None:
            yield Line(number, LineKind.TITLE, written, section)
        elif line in _BY_HEADING:
            section = _BY_HEADING[line]
            yield Line(number, LineKind.HEADING, written, section)
        elif section is not None and (rule := _RULE.fullmatch(line)):
            yield Line(number, LineKind.RULE, rule[1], section)
        else:
            yield Line(number, LineKind.OTHER, written, section)


def rules_of(text: str) -> tuple[str, ...]:
    """Returns the rules of any text, without their marks."""
    return tuple(line.text for line in lines_of(text) if line.kind is LineKind.RULE)


def protected_blocks(text: str) -> tuple[str, ...]:
    """Returns the protected blocks, with their marks."""
    lines = text.split("\n")
    return tuple("\n".join(lines[block.start : block.stop]) for block in _blocks(lines))


def _blocks(lines: Sequence[str]) -> Iterator[range]:
    """Yields the places of each protected block. A mark without its end begins none."""
    begun: int | None = None
    for place, line in enumerate(lines):
        if begun is None and line == PROTECTED:
            begun = place
        elif begun is not None and line == END:
            yield range(begun, place + 1)
            begun = None


def language_of(text: str) -> Spoken:
    """Returns the language of the first heading; Chinese without one."""
    first = next((line.text for line in lines_of(text) if line.kind is LineKind.HEADING), "")
    return "en" if first.isascii() and first else "zh"


def injected(text: str) -> str:
    """Returns what is added to the system prompt: the rules below a heading, as many as
    ``MOST_TOKENS`` hold; empty without rules."""
    block = head = f"\n{_INJECTED.text(language_of(text))}\n"
    for rule in rules_of(text):
        longer = f"{block}- {rule}\n"
        if estimate_tokens(longer) > MOST_TOKENS:
            break
        block = longer
    return "" if block == head else block


def with_rule(text: str, section: Section, rule: str, replaced: str = "") -> str:
    """Returns the text with one more rule at the end of its section, and without the rule
    ``replaced``. A section that is not there is added at the end."""
    parts = (LineKind.HEADING, LineKind.RULE)
    found = [one.number for one in lines_of(text) if one.section is section and one.kind in parts]
    if not found:
        heading = HEADINGS[section].text(language_of(text))
        body = text.rstrip("\n")
        return with_rule(f"{body}\n\n## {heading}\n", section, rule, replaced)
    written: list[str] = []
    for line, as_it_stands in zip(lines_of(text), text.split("\n"), strict=True):
        if not (replaced and line.kind is LineKind.RULE and line.text == replaced):
            written.append(as_it_stands)
        if line.number == found[-1]:
            written.append(f"- {rule}")
    return "\n".join(written)
