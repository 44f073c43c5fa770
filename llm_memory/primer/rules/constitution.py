"""The rules that people wrote into a ``CONSTITUTION.md``: whole if short, else their
beginning. Pure."""

from __future__ import annotations

from itertools import accumulate

from ...text.normalising import estimate_tokens
from ..models import PrimerPart, PrimerSection
from .choose import COMMENT

MOST_TOKENS = 600
"""Beside the primer's own budget, which such a text would take from everything else."""


def constitution(text: str) -> PrimerSection | None:
    """Returns the section, its ``words`` being the file's lines without comments; None where nobody
    has written more than a title. ``left_at`` is set where the text is cut, behind a paragraph if
    one fits."""
    lines = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text).rstrip().split("\n")
    said = [number for number, line in enumerate(lines) if line.strip()]
    if all(lines[number].startswith("# ") for number in said):
        return None
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(lines):  # of several blank lines one
        if line.strip() or (kept and kept[-1][1]):
            kept.append((number, line.rstrip()))
    words, left_at = tuple(line for _, line in kept), 0
    if estimate_tokens("\n".join(words)) > MOST_TOKENS:
        costs = accumulate(estimate_tokens(f"{line}\n") for line in words)
        count = sum(cost <= MOST_TOKENS for cost in costs)
        whole = next((end for end in range(count, 0, -1) if not words[end]), count)
        left_at = 1 + next(number for number, line in kept[whole:] if line)
        words = words[:whole] or (words[0][:MOST_TOKENS],)
    return PrimerSection(PrimerPart.CONSTITUTION, words=words, left_at=left_at)
