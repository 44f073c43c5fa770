"""A topic file: a person's own text with our entries between it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from ..models.data_models import Memory
from .entry import heading_id, parse, render

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory and the lines ``[start, end)`` that it takes in its file."""

    memory: Memory
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TopicFile:
    """The lines of a file, without their line ends, and the entries among them.

    ``line_ends`` has one a line, mostly nothing for the last: a line that we leave alone keeps its
    own. ``newline`` is the file's, for lines of ours; ``bom`` its byte order mark or nothing.
    """

    lines: tuple[str, ...]
    entries: tuple[Entry, ...]
    line_ends: tuple[str, ...]
    newline: str = "\n"
    bom: str = ""

    def find(self, memory_id: str) -> Entry | None:
        """The first entry with this id."""
        return next((e for e in self.entries if e.memory.memory_id == memory_id), None)

    def without(self, entry: Entry) -> str:
        """The file's text with the entry cut out; every other line stays as it is."""
        return self.bom + self._text(0, entry.start) + self._text(entry.end, len(self.lines))

    def with_replaced(self, entry: Entry, memory: Memory) -> str:
        """The file's text with the entry rendered anew from ``memory``."""
        rest = self._text(entry.end, len(self.lines))
        gap = "\n" if rest else ""
        rendered = (render(memory) + gap).replace("\n", self.newline)
        return self.bom + self._text(0, entry.start) + rendered + rest

    def _text(self, start: int, end: int) -> str:
        pieces = zip(self.lines[start:end], self.line_ends[start:end], strict=True)
        return "".join(line + line_end for line, line_end in pieces)


def behind(text: str, memory: Memory) -> str:
    """What to put behind a file's text to have ``memory`` in it, with a blank line between."""
    newline = _newline_of(text)
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    if text.endswith("\r"):  # half of a line end: the other half was lost
        gap = "\n" + newline
    return gap + render(memory).replace("\n", newline)


def _newline_of(text: str) -> str:
    """A text's own line end: that of its first line."""
    first, found, _ = text.partition("\n")
    return "\r\n" if found and first.endswith("\r") else "\n"


def parse_file(text: str, *, fallback_time: datetime) -> TopicFile:
    """Find the entries of a file. Text that belongs to none of them is left alone.

    An entry reaches to the next entry, or to the next heading of level 1 or 2 that a person wrote
    (not inside a code fence: there ``#`` is code).
    """
    raw = text.removeprefix(BOM).split("\n")
    lines = tuple(line.removesuffix("\r") for line in raw)
    ended = (*(line + "\n" for line in raw[:-1]), raw[-1])
    line_ends = tuple(whole[len(line) :] for whole, line in zip(ended, lines, strict=True))
    starts: list[tuple[int, bool]] = []
    fence = ""
    for number, line in enumerate(lines):
        if line.startswith("## ") and heading_id(line) is not None:
            starts.append((number, True))
            fence = ""
        elif match := _FENCE.match(line):
            mark = match[1]
            if not fence:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence):
                fence = ""
        elif not fence and line.startswith(("# ", "## ")):
            starts.append((number, False))
    entries = []
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    for (start, ours), end in zip(starts, ends, strict=False):
        if ours:
            memory = parse("\n".join(lines[start:end]), fallback_time=fallback_time)
            entries.append(Entry(memory, start, end))
    bom = BOM if text.startswith(BOM) else ""
    return TopicFile(lines, tuple(entries), line_ends, _newline_of(text), bom)
