"""The form of SOUL.md: four headings, and a rule on each list line below them.

What stands before the first heading is the owner's, and is told to nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...models.soul import Both
from ...text.normalising import estimate_tokens
from ...texts import Spoken

MOST_TOKENS: Final = 600
"""What the rules may cost in a prompt."""
TONE: Final = Both("语气", "Tone")
LENGTH: Final = Both("长短", "Length")
HABITS: Final = Both("习惯", "Habits")
HEADINGS: Final = (TONE, LENGTH, HABITS, Both("边界", "Boundaries"))
_BY_LINE: Final = {f"## {name}": said for said in HEADINGS for name in (said.zh, said.en)}
_RULE: Final = re.compile(r"[-*] +(\S.*)")
_INJECTED: Final = Both("# 学到的说话习惯", "# Learned manner")
_SEED: Final = Both(
    "这里只记说话的方式：语气、长短、习惯、边界。\n"
    "不记秘密，不记任何人的事，也不改变谁能看什么、谁能做什么。",
    "This file holds the manner of speaking alone: tone, length, habits, boundaries.\n"
    "It holds no secrets and nothing about people, and changes nobody's rights.",
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line, from 1. ``heading``: the one that it stands below, or is, None before the first.
    ``rule``: what it says without its mark, empty for no rule. ``is_odd``: below a heading, and
    nothing that SOUL.md may hold there: it is not injected, and refused."""

    number: int
    heading: Both | None
    rule: str
    is_odd: bool


def seed(language: Spoken) -> str:
    """Returns the text of the first version. It has no rules, and injects nothing."""
    headings = "\n\n".join(f"## {said.text(language)}" for said in HEADINGS)
    return f"# SOUL\n\n{_SEED.text(language)}\n\n{headings}\n"


def lines_of(text: str) -> Iterator[Line]:
    """Yields the lines of any text."""
    heading: Both | None = None
    for number, written in enumerate(text.split("\n"), 1):
        line = written.rstrip(" ")
        heading = _BY_LINE.get(line, heading)
        found = _RULE.fullmatch(line) if heading else None
        is_odd = bool(heading and line and not found and line not in _BY_LINE)
        yield Line(number, heading, found[1] if found else "", is_odd)


def rules_of(text: str) -> tuple[str, ...]:
    """Returns the rules of any text, without their marks."""
    return tuple(line.rule for line in lines_of(text) if line.rule)


def language_of(text: str) -> Spoken:
    """Returns the language of the first heading; Chinese without one."""
    first = next((line for line in text.split("\n") if line.rstrip(" ") in _BY_LINE), "")
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


def with_rule(text: str, heading: Both, rule: str, replaced: str = "") -> str:
    """Returns the text with one more rule at the end of what stands below a heading, and without
    the rule ``replaced``. A heading that is not there is added at the end."""
    if heading not in (line.heading for line in lines_of(text)):
        body = text.rstrip("\n")
        text = f"{body}\n\n## {heading.text(language_of(text))}\n"
    pairs = list(zip(lines_of(text), text.split("\n"), strict=True))
    last = max(
        line.number for line, written in pairs if line.heading == heading and written.strip()
    )
    kept = [
        (line.number, written) for line, written in pairs if not replaced or line.rule != replaced
    ]
    behind = [written for number, written in kept if number > last]
    return "\n".join([*(one for number, one in kept if number <= last), f"- {rule}", *behind])
