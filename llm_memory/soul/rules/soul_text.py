"""The form of SOUL.md: four headings, and a rule on each list line below them; what a wish, and
each direction that is counted, becomes there.

What stands before the first heading is the owner's, and is told to nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, get_args

from ...models.soul import OPPOSITE, Axis, Direction
from ...text.normalising import clean, estimate_tokens, one_line
from ...texts import Said, Spoken

MOST_TOKENS: Final = 600
"""What the rules may cost in a prompt."""
HABITS: Final = Said("soul_text.habits")
"""What new rules stand below."""
HEADINGS: Final = (
    Said("soul_text.tone"),
    Said("soul_text.length"),
    HABITS,
    Said("soul_text.boundaries"),
)
_RULE: Final = re.compile(r"[-*] +(\S.*)")
_MARK: Final = re.compile(r"^(?:[-*•·]|\d{1,2}[.)、])\s+")

type Manner = tuple[Axis, Direction]


@dataclass(frozen=True, slots=True)
class Line:
    """A line, from 1. ``heading``: the one that it stands below, or is, None before the first.
    ``rule``: what it says without its mark, empty for no rule. ``is_odd``: below a heading, and
    nothing that SOUL.md may hold there: it is not injected, and refused."""

    number: int
    written: str
    heading: Said | None
    rule: str
    is_odd: bool


@cache
def _headings() -> Mapping[str, Said]:
    return {f"## {name}": said for said in HEADINGS for name in said.both().values()}


@cache
def manners() -> Mapping[str, Manner]:
    """Returns every rule that counting can propose, in both languages, with what it stands for."""
    every = [(axis, way) for axis in get_args(Axis) for way in get_args(Direction)]
    languages: tuple[Spoken, ...] = ("zh", "en")
    return {line_of(*manner, language): manner for manner in every for language in languages}


def line_of(axis: Axis, direction: Direction, language: Spoken) -> str:
    """Returns the rule for a direction. Counting has words of these alone."""
    return Said(f"soul_manner.{axis}_{direction}").text(language)


def seed(language: Spoken) -> str:
    """Returns the text of the first version. It has no rules, and injects nothing."""
    headings = "\n\n".join(f"## {said.text(language)}" for said in HEADINGS)
    return f"# SOUL\n\n{Said('soul_text.seed').text(language)}\n\n{headings}\n"


def lines_of(text: str) -> Iterator[Line]:
    """Yields the lines of any text."""
    heading: Said | None = None
    for number, written in enumerate(text.split("\n"), 1):
        line = written.rstrip(" ")
        heading = _headings().get(line, heading)
        found = _RULE.fullmatch(line) if heading else None
        is_odd = bool(heading and line and not found and line not in _headings())
        yield Line(number, written, heading, found[1] if found else "", is_odd)


def rules_of(text: str) -> tuple[str, ...]:
    """Returns the rules of any text, without their marks."""
    return tuple(line.rule for line in lines_of(text) if line.rule)


def language_of(text: str) -> Spoken:
    """Returns the language of the first heading; Chinese without one."""
    first = next((line.written for line in lines_of(text) if line.heading), "")
    return "en" if first.isascii() and first else "zh"


def injected(text: str) -> str:
    """Returns what is added to the system prompt: the rules below a heading, as many as
    ``MOST_TOKENS`` hold; empty without rules."""
    block = head = f"\n# {Said('soul_text.injected').text(language_of(text))}\n"
    for rule in rules_of(text):
        longer = f"{block}- {rule}\n"
        if estimate_tokens(longer) > MOST_TOKENS:
            break
        block = longer
    return "" if block == head else block


def with_rule(text: str, rule: str) -> str:
    """Returns the text with one more rule at the end of the habits, whose heading is added at the
    end where it is not there."""
    if HABITS not in (line.heading for line in lines_of(text)):
        body = text.rstrip("\n")
        text = f"{body}\n\n## {HABITS.text(language_of(text))}\n"
    lines = list(lines_of(text))
    last = max(line.number for line in lines if line.heading == HABITS and line.written.strip())
    written = [line.written for line in lines]
    return "\n".join([*written[:last], f"- {rule}", *written[last:]])


def worded(text: str, wish: str) -> str:
    """Returns the text of SOUL.md with a wish as one more rule, as it was typed; unchanged for an
    empty wish. A rule that counting has takes the place of the opposite one. Whether the rule is
    allowed is for ``checks``."""
    rule = _MARK.sub("", one_line(clean(wish)))
    if manner := manners().get(rule):
        opposite = (manner[0], OPPOSITE[manner[1]])
        lines = [one.written for one in lines_of(text) if manners().get(one.rule) != opposite]
        text = "\n".join(lines)
    return with_rule(text, rule) if rule else text
