"""Finds entries that a person wrote into a topic file without an id, and writes the ids.

Three things are entries: a heading of level 2, an item of a list, a paragraph. A heading is one
with all text below it, unless a list begins right below: then it is the list's title. The rest is
not touched: other headings, quotations, tables, code, comments, rules, front matter.
"""

from __future__ import annotations

from collections.abc import Mapping

from .blocks import Block, Kind, blocks_of
from .topic_file import HEADING, TopicFile, is_item, is_words, item_end, joins


def plain_lines(file: TopicFile) -> tuple[int, ...]:
    """Returns the lines, from 0, that get an id at their end and so make an entry."""
    taken = [False] * len(file.lines)
    for entry in file.entries:
        taken[entry.start : entry.end] = [True] * (entry.end - entry.start)
    blocks = [block for block in blocks_of(file.lines) if block.kind is not Kind.BLANK]
    found: list[int] = []
    under, free = False, 0
    for place, block in enumerate(blocks):
        if taken[block.start]:
            under = False
        elif block.kind is Kind.HEADING:
            if block.level <= len(HEADING.strip()):
                below = blocks[place + 1] if place + 1 < len(blocks) else None
                under = _heads(file, block, below)
                found += [block.start] if under else []
        elif not under and block.kind is Kind.PLAIN and block.start >= free:
            lines, free = _in_block(file.lines, block, taken)
            found += lines
    return tuple(found)


def _heads(file: TopicFile, block: Block, below: Block | None) -> bool:
    """True if a heading is an entry with the text below, and not a list's title."""
    line = file.lines[block.start]
    if not line.startswith(HEADING) or block.end - block.start > 1 or not block.title:
        return False
    return below is None or not is_item(file.lines[below.start])


def _in_block(lines: tuple[str, ...], block: Block, taken: list[bool]) -> tuple[list[int], int]:
    """Returns the last lines of paragraphs and the first lines of items, and where the last of them
    ends: an item may continue in later blocks."""
    found: list[int] = []
    place = block.start
    if lines[place].lstrip()[:1] in ("<", ">"):  # all of it, to the next blank line
        place = block.end
    while place < block.end:
        end = place + 1
        if taken[place]:
            pass
        elif is_item(lines[place]):
            end = item_end(lines, place, len(lines))
            found.append(place)
        elif is_words(lines[place]):
            while end < block.end and joins(lines[end - 1], lines[end]) and not taken[end]:
                end += 1
            found.append(end - 1)
        place = end
    return found, place


def with_ids(file: TopicFile, ids: Mapping[int, str]) -> str:
    """Returns the file's text with an id at the end of each line in ``ids``; words are kept."""
    changed = {}
    for number, name in ids.items():
        line = file.lines[number]
        changed[number] = f"{line}{'' if line[-1:].isspace() else ' '}^{name}"
    return file.with_lines(changed)
