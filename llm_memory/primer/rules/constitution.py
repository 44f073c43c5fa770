"""The rules that people wrote into a ``CONSTITUTION.md``: whole if short, else their
beginning. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ...text.normalising import estimate_tokens
from ..models import PrimerPart, PrimerSection
from .primer import COMMENT

MOST_TOKENS = 600
"""Beside the primer's own budget, which such a text would take from everything else."""


def constitution(text: str) -> PrimerSection | None:
    """Returns the section, its ``words`` being the file's lines without comments; None where nobody
    has written more than a title. ``left_at`` is set where the text is cut, behind a paragraph if
    one fits."""
    lines = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text).split("\n")
    said = [number for number, line in enumerate(lines) if line.strip()]
    if all(lines[number].startswith("# ") for number in said):
        return None
    first, end = said[0], said[-1] + 1
    kept = _that_fit(lines[first:end])
    if kept == end - first:
        return PrimerSection(PrimerPart.CONSTITUTION, words=_once_blank(lines[first:end]))
    words = _once_blank(lines[first : first + kept]) or (_beginning(lines[first]),)
    left_at = 1 + next(number for number in said if number >= first + kept)
    return PrimerSection(PrimerPart.CONSTITUTION, words=words, left_at=left_at)


def _that_fit(lines: Sequence[str]) -> int:
    """Returns how many lines fit, to the end of a paragraph if one does."""
    if estimate_tokens("\n".join(lines)) <= MOST_TOKENS:
        return len(lines)
    costs = accumulate(estimate_tokens(f"{line}\n") for line in lines)
    count = sum(cost <= MOST_TOKENS for cost in costs)
    blank = (number for number in range(count, 0, -1) if not lines[number].strip())
    return next(blank, count)


def _beginning(line: str) -> str:
    while (cost := estimate_tokens(line)) > MOST_TOKENS:
        line = line[: min(len(line) * MOST_TOKENS // cost, len(line) - 1)]
    return line


def _once_blank(lines: Sequence[str]) -> tuple[str, ...]:
    """Returns the lines with one blank line where comments left several, and none at the end."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip())
    return tuple(kept[:-1] if kept and not kept[-1] else kept)
