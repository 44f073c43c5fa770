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

    ``newline`` is the file's own line end, ``bom`` its byte order mark or nothing: both are kept.
    """

    lines: tuple[str, ...]
    entries: tuple[Entry, ...]
    newline: str = "\n"
    bom: str = ""

    def find(self, memory_id: str) -> Entry | None:
        """The first entry with this id."""
        return next((e for e in self.entries if e.memory.memory_id == memory_id), None)

    def without(self, entry: Entry) -> str:
        """The file's text with the entry cut out; every other line stays as it is."""
        return self._join(self.lines[: entry.start] + self.lines[entry.end :])

    def with_replaced(self, entry: Entry, memory: Memory) -> str:
        """The file's text with the entry rendered anew from ``memory``."""
        rendered = tuple(render(memory).removesuffix("\n").split("\n"))
        rest = self.lines[entry.end :]
        gap = ("",) if rest and rest != ("",) else ()
        return self._join(self.lines[: entry.start] + rendered + gap + rest)

    def _join(self, lines: tuple[str, ...]) -> str:
        ended = lines if not lines or lines[-1] == "" else (*lines, "")
        return self.bom + self.newline.join(ended)


def parse_file(text: str, *, fallback_time: datetime) -> TopicFile:
    """Find the entries of a file. Text that belongs to none of them is left alone.

    An entry reaches to the next entry, or to the next heading of level 1 or 2 that a person wrote
    (not inside a code fence: there ``#`` is code).
    """
    lines = tuple(line.removesuffix("\r") for line in text.removeprefix(BOM).split("\n"))
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
    newline = "\r\n" if "\r\n" in text else "\n"
    return TopicFile(lines, tuple(entries), newline, BOM if text.startswith(BOM) else "")
