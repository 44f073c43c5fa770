"""Cuts Markdown by heading into pieces small enough for retrieval."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .blocks import Block, Kind, blocks_of, lines_of, starts_item

SIZE = 1200
"""The target size of a piece, in bytes of UTF-8: 400 Han characters, or 1200 letters. Both are
about 300 to 400 tokens, what small embedding models read at once."""
_LONGEST_HEADING = 120
_COMMENT = re.compile("<!--.*?(?:-->|\\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines ``first`` to ``last`` of a text, from 1.

    Attributes:
        headings: The headings above it, outermost first, and its section's own.
        level: Of its section's heading, 0 above the first heading.
        text: The lines, joined by ``\\n``.
        heading_lines: How many of its lines are its section's own heading.
    """

    headings: tuple[str, ...]
    level: int
    text: str
    first: int
    last: int
    heading_lines: int = 0

    @property
    def body(self) -> str:
        """Returns the text without the heading."""
        return "\n".join(self.text.split("\n")[self.heading_lines :]).strip()


def chunk_markdown(text: str, *, size: int = SIZE) -> tuple[Chunk, ...]:
    """Returns every line of a text once, in order, in pieces of one section each.

    A section is the text under one heading, to the next heading of any level. If it is longer than
    ``size`` it is cut between paragraphs; a longer paragraph or list between lines. A code fence, a
    table or a line is never cut, so a piece may be longer than ``size``. Metadata at the beginning
    (front matter) is a piece of its own.
    """
    lines = lines_of(text)
    sizes = [len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines]
    chunks: list[Chunk] = []
    trail: list[tuple[int, str]] = []
    for section in _sections(blocks_of(lines)):
        head = section[0]
        own = head.end - head.start if head.kind is Kind.HEADING else 0
        if own:
            trail = [above for above in trail if above[0] < head.level]
            trail.append((head.level, head.title[:_LONGEST_HEADING]))
        headings = tuple(title for _, title in trail if title)
        level = trail[-1][0] if trail else 0
        for number, (start, end) in enumerate(_packed(lines, section, sizes, size)):
            piece = "\n".join(lines[start:end])
            heading_lines = own if number == 0 else 0
            chunks.append(Chunk(headings, level, piece, start + 1, end, heading_lines))
    return tuple(chunks)


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yields front matter, then the text above the first heading, then heading by heading."""
    section: list[Block] = []
    for block in blocks:
        if section and (block.kind is Kind.HEADING or section[0].kind is Kind.FRONT_MATTER):
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _packed(
    lines: Sequence[str], section: Sequence[Block], sizes: Sequence[int], size: int
) -> Iterator[tuple[int, int]]:
    """Yields ranges of lines, as large as ``size`` permits. Blank lines stay with the text above, a
    heading with the text below."""
    start = place = section[0].start
    used = 0
    said = False
    for block in section:
        for end in _ends(lines, block, sizes, size):
            more = sum(sizes[place:end])
            if said and block.kind is not Kind.BLANK and used + more > size:
                yield start, place
                start, used = place, 0
            used += more
            place = end
            said = said or block.kind not in (Kind.HEADING, Kind.BLANK)
    yield start, place


def _ends(lines: Sequence[str], block: Block, sizes: Sequence[int], size: int) -> Iterator[int]:
    """Yields the ends of a block's uncut parts: the whole block if it fits, or is a fence or table,
    else a list's items, else lines."""
    start = block.start
    if block.kind is Kind.PLAIN and sum(sizes[start : block.end]) > size:
        for place in range(start + 1, block.end):
            if starts_item(lines[place]):
                yield from _by_lines(start, place, sizes, size)
                start = place
    if block.kind is Kind.PLAIN:
        yield from _by_lines(start, block.end, sizes, size)
    else:
        yield block.end


def _by_lines(start: int, end: int, sizes: Sequence[int], size: int) -> Iterator[int]:
    if sum(sizes[start:end]) > size:
        yield from range(start + 1, end)
    yield end


def worth_indexing(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Returns the chunks worth indexing: with words, or a heading with nothing below it. (A heading
    over other headings is in their ``headings``.) A comment says nothing, and a heading over one
    alone is a form that nobody has filled in."""
    found = []
    for number, chunk in enumerate(chunks):
        below = chunks[number + 1] if number + 1 < len(chunks) else None
        leaf = below is None or below.level <= chunk.level
        bare = leaf and chunk.heading_lines and "<!--" not in chunk.body
        own_heading = chunk.headings[-1:] if bare else ()
        if _says_something(chunk.body) or any(map(_says_something, own_heading)):
            found.append(chunk)
    return found


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in _COMMENT.sub("", text))
