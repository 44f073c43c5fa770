"""A topic file: a person's own text with our entries between it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ...models.data_models import Memory
from ...text.normalising import without_controls
from .entry import ID_PATTERN, heading_id, metadata_lines, parse_entry, render
from .escaping import escape_body, escape_inline, escape_opening

BOM = "\ufeff"
HEADING = "## "
_DIGEST_BYTES = 8
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_ID = re.compile(rf"(?<=[ \t])\^({ID_PATTERN})[ \t]*$")
_NO_WORDS = re.compile(
    r"[ \t]*+(?:[-*+]|\d{1,9}[.)])?[ \t]*$|\t| {4}| {0,3}(?:[#>|<]|```|~~~|[-=*_]{3,}[ \t]*$)"
)
"""Matches lines that do not belong to a paragraph."""
_QUOTE = re.compile(r"[ \t]*>")
_BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory and its lines ``[start, end)`` in the file.

    Its words end before line ``rows``, its metadata before ``body``. ``lead`` is the prefix of the
    words: two number signs, a list's dash, or nothing for a paragraph. ``timeless``: the entry has
    no time, so the file's time counts.
    """

    memory: Memory
    start: int
    end: int
    rows: int = 0
    body: int = 0
    lead: str = HEADING
    timeless: bool = False


@dataclass(frozen=True, slots=True)
class TopicFile:
    """The lines of a file as they stand, without their line ends, and the entries among them.

    ``line_ends`` has one for each line, mostly empty for the last: a line that we do not change
    keeps its own. ``newline`` is the file's, for our lines; ``bom`` its byte order mark or empty.
    """

    lines: tuple[str, ...]
    entries: tuple[Entry, ...]
    line_ends: tuple[str, ...]
    newline: str = "\n"
    bom: str = ""

    def find(self, memory_id: str) -> Entry | None:
        """Returns the first entry with this id."""
        return next((e for e in self.entries if e.memory.memory_id == memory_id), None)

    def without(self, *entries: Entry) -> str:
        """Returns the file's text without these entries; every other line is kept."""
        return self._with((entry, "") for entry in entries)

    def with_replaced(self, entry: Entry, memory: Memory) -> str:
        """Returns the file's text with ``memory`` in the entry's place."""
        return self.with_all_replaced([(entry, memory)])

    def with_all_replaced(self, pairs: Iterable[tuple[Entry, Memory]]) -> str:
        """Returns the file's text with a memory in the place of each of these entries.

        Unchanged words and reasoning are kept byte by byte. A paragraph has no place for a
        reasoning: it becomes a heading.
        """
        return self._with((entry, self._replaced(entry, memory)) for entry, memory in pairs)

    def _with(self, texts: Iterable[tuple[Entry, str]]) -> str:
        parts, kept_from = [self.bom], 0
        for entry, text in sorted(texts, key=lambda one: one[0].start):
            parts += [self._text(kept_from, entry.start), text]
            kept_from = entry.end
        return "".join([*parts, self._text(kept_from, None)])

    def _replaced(self, entry: Entry, memory: Memory) -> str:
        lead = entry.lead
        if memory.reasoning and not lead:
            lead = HEADING
        same_words = lead == entry.lead and memory.judgment == entry.memory.judgment
        words = self._text(entry.start, entry.rows) if same_words else self._words(lead, memory)
        indent = "" if lead in (HEADING, "") else " " * len(lead.expandtabs(4))
        rows = "".join(f"{indent}{row}{self.newline}" for row in metadata_lines(memory))
        if memory.reasoning == entry.memory.reasoning:
            body = self._text(entry.body, entry.end)
        else:
            body = self._body(indent, memory, more=entry.end < len(self.lines) and lead == HEADING)
        return self._ended(words) + rows + body

    def with_other_ids(self, ids: Mapping[Entry, str]) -> str:
        """Returns the file's text with other ids in these entries."""
        changed = {}
        for entry, memory_id in ids.items():
            last = entry.start if entry.lead else entry.rows - 1
            words = _without_id(self.lines[last])
            changed[last] = f"{words.rstrip(_BLANKS)} ^{memory_id}"
        return self.with_lines(changed)

    def with_lines(self, changed: Mapping[int, str]) -> str:
        """Returns the file's text with some lines replaced, their line ends kept."""
        pairs = enumerate(zip(self.lines, self.line_ends, strict=True))
        return self.bom + "".join(changed.get(number, line) + end for number, (line, end) in pairs)

    def digest(self, entry: Entry) -> str:
        """Returns the digest of the entry's lines without blank ones at the end."""
        return digest("\n".join(self.lines[entry.start : entry.end]).rstrip())

    def plain_digest(self) -> str:
        """Returns the digest of the words outside the entries."""
        outside: list[str] = []
        place = 0
        for entry in self.entries:
            outside += self.lines[place : entry.start]
            place = entry.end
        outside += self.lines[place:]
        return digest("\n".join(line for line in outside if line.strip()))

    def _words(self, lead: str, memory: Memory) -> str:
        words = escape_inline(memory.judgment)
        if lead != HEADING:
            words = escape_opening(words)
        return f"{lead}{words} ^{memory.memory_id}{self.newline}"

    def _body(self, indent: str, memory: Memory, *, more: bool) -> str:
        gap = self.newline if more else ""
        if not memory.reasoning:
            return gap
        lines = escape_body(memory.reasoning).split("\n")
        text = "".join(f"{indent}{line}".rstrip(" ") + self.newline for line in ["", *lines])
        return text + gap

    def _ended(self, text: str) -> str:
        return text if text.endswith("\n") else text + self.newline

    def _text(self, start: int, end: int | None) -> str:
        pieces = zip(self.lines[start:end], self.line_ends[start:end], strict=True)
        return "".join(line + line_end for line, line_end in pieces)


def digest(text: str | bytes) -> str:
    """Returns sixteen hexadecimal digits: enough to distinguish versions of one file or entry."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.blake2b(raw, digest_size=_DIGEST_BYTES).hexdigest()


class RunningDigest:
    """The ``digest`` of growing bytes, computed incrementally."""

    def __init__(self, start: bytes) -> None:
        self._hash = hashlib.blake2b(start, digest_size=_DIGEST_BYTES)

    def add(self, more: bytes) -> None:
        """Add bytes at the end."""
        self._hash.update(more)

    @property
    def value(self) -> str:
        """Returns the digest of all bytes so far."""
        return self._hash.hexdigest()


def behind(text: str, *memories: Memory) -> str:
    """Returns what to append to a file's text to add ``memories``, a blank line before each."""
    newline = newline_of(text)
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    if text.endswith("\r"):  # half of a line end: the other half was lost
        gap = "\n" + newline
    return gap + "\n".join(map(render, memories)).replace("\n", newline)


def newline_of(text: str) -> str:
    """Returns the text's line end: that of its first line."""
    first, found, _ = text.partition("\n")
    return "\r\n" if found and first.endswith("\r") else "\n"


def parse_file(text: str, *, fallback_time: datetime) -> TopicFile:
    """Find the entries of a file. Text outside of them is kept as it is.

    An entry is a heading of level 2, an item of a list or a paragraph that ends with an id. Under
    its heading it reaches to the next entry, or to the next heading of level 1 or 2 that a person
    wrote (not inside a code fence: there ``#`` is code), and not into a list that begins right
    below it. An item has its indented lines, a paragraph the quoted lines right below it.
    """
    raw = text.removeprefix(BOM).split("\n")
    lines = tuple(line.removesuffix("\r") for line in raw)
    ended = (*(line + "\n" for line in raw[:-1]), raw[-1])
    line_ends = tuple(whole[len(line) :] for whole, line in zip(ended, lines, strict=True))
    entries = []
    read = tuple(map(without_controls, lines))
    starts = _starts(read)
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    for (start, lead), end in zip(starts, ends, strict=False):
        if lead is not None:
            entries.append(_entry(read, start, end, lead, fallback_time))
    bom = BOM if text.startswith(BOM) else ""
    return TopicFile(lines, tuple(entries), line_ends, newline_of(text), bom)


def _starts(lines: tuple[str, ...]) -> list[tuple[int, str | None]]:
    """Returns where entries begin, with their lead; None for a person's heading."""
    starts: list[tuple[int, str | None]] = []
    fence = ""
    for number, line in enumerate(lines):
        if line.startswith(HEADING) and heading_id(line) is not None:
            starts.append((number, HEADING))
            fence = ""
        elif match := _FENCE.match(line):
            fence = _fence_after(fence, match[1])
        elif fence:
            continue
        elif line.startswith(("# ", HEADING)):
            starts.append((number, None))
        elif "^m-" in line and (mark := _ID.search(line)) and _has_words(line[: mark.start()]):
            starts.append(_list_or_paragraph(lines, number, starts[-1][0] + 1 if starts else 0))
    return starts


def _without_id(line: str) -> str:
    mark = _ID.search(line)
    return line[: mark.start()] if mark else line


def _has_words(text: str) -> bool:
    return not _NO_WORDS.match(text)


def _fence_after(fence: str, mark: str) -> str:
    """Returns the fence that is open below a line with ``mark``."""
    if not fence:
        return mark
    return "" if mark[0] == fence[0] and len(mark) >= len(fence) else fence


def _list_or_paragraph(lines: tuple[str, ...], number: int, first: int) -> tuple[int, str]:
    if item := _ITEM.match(lines[number]):
        return number, item[0]
    return _paragraph_start(lines, number, first), ""


def _paragraph_start(lines: tuple[str, ...], number: int, first: int) -> int:
    while number > first and joins(lines[number - 1], lines[number]):
        number -= 1
    return number


def joins(above: str, below: str) -> bool:
    """True if a paragraph continues from one line to the next. An indented line above an unindented
    one belongs to an item."""
    if not is_words(above) or not is_words(below) or _ID.search(above):
        return False
    return _indent(above) <= _indent(below)


def is_words(line: str) -> bool:
    """True for a line of a paragraph."""
    return not (_NO_WORDS.match(line) or _ITEM.match(line))


def is_item(line: str) -> bool:
    """True for the first line of a list's item."""
    return _ITEM.match(line) is not None and not _NO_WORDS.match(line)


def _entry(
    lines: tuple[str, ...], start: int, end: int, lead: str, fallback_time: datetime
) -> Entry:
    if lead == HEADING:
        rows = start + 1
        body = _after_quotes(lines, rows, end)
        end = _before_list(lines, body, end)
        text = "\n".join(lines[start:end])
    elif lead:
        rows = start + 1
        end = item_end(lines, start, end)
        while rows < end and _is_wrapped(lines[rows]):
            rows += 1
        body = _after_quotes(lines, rows, end)
        text = _as_heading(lines[start:rows], lead, lines[rows:end])
    else:
        rows = start
        while not _ID.search(lines[rows]):
            rows += 1
        rows += 1
        body = end = _after_quotes(lines, rows, end)
        text = _as_heading(lines[start:rows], lead, lines[rows:end])
    memory, timeless = parse_entry(text, fallback_time=fallback_time)
    return Entry(memory, start, end, rows, body, lead, timeless)


def _after_quotes(lines: tuple[str, ...], place: int, end: int) -> int:
    while place < end and _QUOTE.match(lines[place]):
        place += 1
    return place


def _before_list(lines: tuple[str, ...], body: int, end: int) -> int:
    """Returns where the body ends: at once if it begins with a list, whose items are entries."""
    place = body
    while place < end and not lines[place].strip():
        place += 1
    return place if place < end and is_item(lines[place]) else end


def item_end(lines: tuple[str, ...], start: int, end: int) -> int:
    """Returns the line after an item's last line: its lines are indented more than the item."""
    last = place = start + 1
    while place < end and (
        not lines[place].strip() or _indent(lines[place]) > _indent(lines[start])
    ):
        place += 1
        if lines[place - 1].strip():
            last = place
    return last


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.lstrip(" \t").expandtabs(4))


def _is_wrapped(line: str) -> bool:
    """True for a line that continues an item's words."""
    bare = line.strip()
    return bool(bare) and not bare.startswith(">") and not _ITEM.match(bare)


def _as_heading(words: tuple[str, ...], lead: str, rest: tuple[str, ...]) -> str:
    """Returns an entry's text in the form of a heading entry."""
    bare = [words[0].removeprefix(lead), *words[1:]]
    found = next(match for line in bare if (match := _ID.search(line)))
    kept = [_without_id(line).strip() for line in bare]
    rows = 0
    while rows < len(rest) and _QUOTE.match(rest[rows]):
        rows += 1
    quotes = [line.strip() for line in rest[:rows]]
    depth = _common(rest[rows:])
    body = [line.removeprefix("\t")[depth:] for line in rest[rows:]]
    return "\n".join([f"{HEADING}{'\\u{a}'.join(kept)} ^{found[1]}", *quotes, "", *body])


def _common(lines: tuple[str, ...]) -> int:
    depths = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    return min(depths, default=0)
