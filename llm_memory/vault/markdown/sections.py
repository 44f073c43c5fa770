"""Restores the section that a piece was cut from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .chunks import Chunk

MOST = 12_000
"""Bytes of UTF-8 in a section that is shown at once: 4000 Han characters."""


@dataclass(frozen=True, slots=True)
class Section:
    """Lines ``first`` to ``last`` of the text, from 1; ``cut`` more lines were left out."""

    text: str
    first: int
    last: int
    cut: int = 0


def section_of(chunks: Sequence[Chunk], piece: Chunk, *, most: int = MOST) -> Section:
    """Returns all under the heading of ``piece``, one of ``chunks``, subsections included.

    If that is too long: the heading's own text; if that is too long: as many lines as fit, from the
    piece on.
    """
    place = chunks.index(piece)
    start = place
    while start > 0 and chunks[start].heading_lines == 0 and _same(chunks[start - 1], piece):
        start -= 1
    own = place + 1
    while own < len(chunks) and chunks[own].heading_lines == 0 and _same(chunks[own], piece):
        own += 1
    end = own
    while end < len(chunks) and chunks[end].level > piece.level:
        end += 1
    for first, last in ((start, end), (start, own)):
        if (
            sum(len(c.text.encode("utf-8", "surrogatepass")) + 1 for c in chunks[first:last])
            <= most
        ):
            return _joined(chunks[first:last])
    return _beginning(_joined(chunks[place:own]), most)


def _same(one: Chunk, other: Chunk) -> bool:
    return one.headings == other.headings and one.level == other.level


def _joined(chunks: Sequence[Chunk]) -> Section:
    return Section("\n".join(c.text for c in chunks), chunks[0].first, chunks[-1].last)


def _beginning(section: Section, most: int) -> Section:
    lines = section.text.split("\n")
    used = kept = 0
    while kept < len(lines):
        used += len(lines[kept].encode("utf-8", "surrogatepass")) + 1
        if used > most and kept:
            break
        kept += 1
    text = "\n".join(lines[:kept])
    if len(lines) > 0 and kept == 1 and used > most:  # one line that is longer than all allowed
        text = lines[0].encode("utf-8", "surrogatepass")[:most].decode("utf-8", "ignore") + "…"
    return Section(text, section.first, section.first + kept - 1, len(lines) - kept)
