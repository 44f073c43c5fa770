"""What a session of a role wrote at its end: a block of ``roles/<role>/2026-11-27.md``. Pure.

```
# 2026-11-27

## 14:05 · backend · cursor
接好了连接池；跑了 300 个用例。
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice

from ...text.normalising import one_line
from .appended_block import body_lines, inline
from .blocks import Kind, blocks_of, lines_of
from .escaping import unescape

MOST_LINES = 20
"""Lines of a role's MEMORY.md that are kept between its marks."""
_LONGEST_LINE = 120
NOTE_FILE = re.compile(r"\d{4}-\d\d-\d\d\.md")
_TITLE = re.compile(r"(\d\d:\d\d) · .*")
_HEADING = re.compile(f"## {_TITLE.pattern}")
_SENTENCE = re.compile(r".*?(?:[。！？!?](?=.)|[.](?=\s))", re.DOTALL)


def note_name(at: datetime) -> str:
    """Returns the name of the day's file."""
    return f"{at:%Y-%m-%d}.md"


def note_block(note: str, at: datetime, role: str, client: str, *, newline: str = "\n") -> str:
    """Returns the block, its last line end included."""
    heading = " · ".join(filter(None, (f"## {at:%H:%M}", inline(role), inline(client))))
    return newline.join((heading, *body_lines(note), ""))


def day_title(at: datetime, *, newline: str = "\n") -> str:
    """Returns what a new file begins with."""
    return f"# {at:%Y-%m-%d}{newline}"


def holds(file: str, note: str) -> bool:
    """True if a block of the file says just this: a session's end that is repeated is one block."""
    return body_lines(note) in [body for _, body in _blocks(file)]


def is_session_note(name: str, headings: Sequence[str]) -> bool:
    """True if a piece below these headings, of a role's file of this name, is a session's."""
    is_daily = NOTE_FILE.fullmatch(name) is not None
    return is_daily and any(_TITLE.fullmatch(title) for title in headings)


def memory_lines(files: Mapping[str, str]) -> str:
    """Returns a line for each of the newest blocks, the newest first: its day and time, its first
    sentence and its file. ``files``: the texts of daily notes by name."""
    found = (
        f"- {name.removesuffix('.md')} {time} {_first_sentence(body)} ({name})\n"
        for name in sorted(filter(NOTE_FILE.fullmatch, files), reverse=True)
        for time, body in reversed(_blocks(files[name]))
        if body
    )
    return "".join(islice(found, MOST_LINES))


def _blocks(file: str) -> list[tuple[str, list[str]]]:
    """Returns the time and the lines of each block."""
    lines = lines_of(file)
    headings = [block for block in blocks_of(lines) if block.kind is Kind.HEADING]
    ends = [block.start for block in headings[1:]] + [len(lines)]
    found = []
    for block, end in zip(headings, ends, strict=False):  # a file may have no heading
        if (heading := _HEADING.fullmatch(lines[block.start])) is not None:
            body = list(lines[block.end : end])
            while body and not body[-1].strip():
                body.pop()
            found.append((heading[1], body))
    return found


def _first_sentence(body: list[str]) -> str:
    said = one_line(unescape("\n".join(body)))
    sentence = _SENTENCE.match(said)
    first = sentence[0] if sentence else said
    return first if len(first) <= _LONGEST_LINE else first[: _LONGEST_LINE - 1] + "…"
