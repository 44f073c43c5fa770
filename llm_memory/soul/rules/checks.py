"""What refuses a new text of SOUL.md before any model is asked: each rule says why, and where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from ...models.soul import Finding
from ...remember.rules.gate import order_like
from ...remember.rules.private import find as find_private
from ...text.normalising import estimate_tokens, normalise
from ...text.scripts import fold
from ...texts import Said
from .manner import objection
from .manner_orders import ORDERS
from .soul_text import (
    HEADINGS,
    MOST_TOKENS,
    Line,
    LineKind,
    Section,
    lines_of,
    protected_blocks,
    rules_of,
)

SAME: Final = "same"
SIZE: Final = "size"
FORM: Final = "form"
PRIVATE: Final = "private"
MANNER: Final = "manner"
LONG: Final = "long"
DRIFT: Final = "drift"
MOST_CHARACTERS: Final = 2_000
MOST_LINES: Final = 40
MOST_CHANGED: Final = 300
LONGEST_RULE: Final = 120
_LEAST_KEPT: Final = 0.6
_WORD: Final = re.compile(r"[\u4e00-\u9fff]|[^\W_]+")
# Accounts, pointers, addresses, paths and names of tools.
_IDS: Final = re.compile(
    r"@|\d{5,}|[#^][mn]-|\b[a-z]+://|\bwww\.|\b[\w-]+\.(?:com|cn|net|org|io|md|py|json|ya?ml)\b"
    r"|[\\/]\w|\w+:\w+:\w+|\b[a-z]+_[a-z_]+\b",
    re.IGNORECASE,
)


def check(old: str, new: str, *, wish: bool, recent: Collection[str] = ()) -> tuple[Finding, ...]:
    """Returns what refuses a new text, empty for nothing. A line has at most one finding.

    Args:
        old: The text in force, whose rules are not judged again.
        new: Any text.
        wish: An admin has asked for it.
        recent: Rules that came into force within the last seven days.
    """
    if len(new) > MOST_CHARACTERS:
        return tuple(size(old, new))
    found: list[Finding] = []
    named: set[int] = set()
    for finding in (
        *size(old, new),
        *form(old, new, wish=wish),
        *private(old, new),
        *manner(old, new),
        *length(new),
        *drift(old, new, recent),
    ):
        if not finding.lines or not named.issuperset(finding.lines):
            found.append(finding)
            named.update(finding.lines)
    return tuple(found)


def size(old: str, new: str) -> Iterator[Finding]:
    """A text that is too long, that changes too much at once, or that changes nothing."""
    if len(new) > MOST_CHARACTERS:
        yield Finding(
            SIZE,
            Said("soul_rule.text_characters", most=MOST_CHARACTERS, count=len(new)),
        )
        return
    if _plain(old) == _plain(new):
        yield Finding(SAME, Said("soul_rule.same"))
    lines = new.count("\n") + (not new.endswith("\n"))
    if lines > MOST_LINES:
        yield Finding(
            SIZE,
            Said("soul_rule.text_lines", most=MOST_LINES, count=lines),
        )
    before, after = Counter(old.split("\n")), Counter(new.split("\n"))
    changed = sum(map(len, ((before - after) + (after - before)).elements()))
    if changed > MOST_CHANGED:
        yield Finding(
            SIZE,
            Said("soul_rule.changed_characters", most=MOST_CHANGED, count=changed),
        )
    if estimate_tokens("\n".join(f"- {rule}" for rule in rules_of(new))) > MOST_TOKENS - 20:
        yield Finding(
            SIZE,
            Said("soul_rule.prompt_tokens", most=MOST_TOKENS),
        )
    rules = [line for line in lines_of(new) if line.kind is LineKind.RULE]
    seen = [normalise(line.text) for line in rules]
    twice = tuple(line.number for place, line in enumerate(rules) if seen[place] in seen[:place])
    if twice:
        yield Finding(SAME, Said("soul_rule.rule_twice"), twice)


def form(old: str, new: str, *, wish: bool) -> Iterator[Finding]:
    """Lines that are no title, heading or rule; protected bytes that are not as they were; a
    boundary that nobody has asked to give up."""
    lines = list(lines_of(new))
    if protected_blocks(old) != protected_blocks(new):
        yield Finding(
            FORM,
            Said("soul_rule.protected"),
            tuple(line.number for line in lines if line.kind is LineKind.PROTECTED),
        )
    if other := _numbers(line for line in lines if line.kind is LineKind.OTHER):
        yield Finding(
            FORM,
            Said("soul_rule.headings", headings=tuple(HEADINGS.values())),
            other,
        )
    headings = [line for line in lines if line.kind is LineKind.HEADING]
    first = {line.section: line.number for line in reversed(headings)}
    if again := _numbers(line for line in headings if first[line.section] != line.number):
        yield Finding(FORM, Said("soul_rule.heading_twice"), again)
    if not wish and _boundaries(old) - _boundaries(new):
        yield Finding(
            FORM,
            Said("soul_rule.boundary"),
        )


def private(old: str, new: str) -> Iterator[Finding]:
    """Secrets, numbers, accounts, addresses, paths."""
    if lines := _numbers(
        line for line in _new_rules(old, new) if find_private(line.text) or _IDS.search(line.text)
    ):
        yield Finding(
            PRIVATE,
            Said("soul_rule.private"),
            lines,
        )


def manner(old: str, new: str) -> Iterator[Finding]:
    """What is about anything but manner."""
    found: dict[Said, list[int]] = {}
    for line in _new_rules(old, new):
        takeover = order_like(line.text) == "takeover"
        why = ORDERS if takeover else objection(line.text)
        if why is not None:
            found.setdefault(why, []).append(line.number)
    for why, numbers in found.items():
        yield Finding(MANNER, why, tuple(numbers))


def length(new: str) -> Iterator[Finding]:
    """A rule that is too long. What else is wrong with it is said before."""
    rules = (line for line in lines_of(new) if line.kind is LineKind.RULE)
    if long := _numbers(line for line in rules if len(line.text) > LONGEST_RULE):
        yield Finding(
            LONG,
            Said("soul_rule.rule_characters", most=LONGEST_RULE),
            long,
        )


def drift(old: str, new: str, recent: Collection[str]) -> Iterator[Finding]:
    """A text that keeps too little of the one in force, or takes back what has just been learned.

    Of the words in force six tenths stay. What is added is bounded by ``size``: counted against
    the sum of both, the first rule of a new text would be too much.
    """
    before, after = set(_WORD.findall(fold(old))), set(_WORD.findall(fold(new)))
    if len(before & after) < _LEAST_KEPT * len(before):
        yield Finding(
            DRIFT,
            Said("soul_rule.drops"),
        )
    if set(recent) & set(rules_of(old)) - set(rules_of(new)):
        yield Finding(
            DRIFT,
            Said("soul_rule.young"),
        )


def _numbers(lines: Iterable[Line]) -> tuple[int, ...]:
    return tuple(line.number for line in lines)


def _plain(text: str) -> str:
    return " ".join(fold(text).split())


def _new_rules(old: str, new: str) -> Iterator[Line]:
    known = set(rules_of(old))
    return (line for line in lines_of(new) if line.kind is LineKind.RULE and line.text not in known)


def _boundaries(text: str) -> set[str]:
    return {
        line.text
        for line in lines_of(text)
        if line.kind is LineKind.RULE and line.section is Section.BOUNDARIES
    }
