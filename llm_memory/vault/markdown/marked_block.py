"""The lines between two marks, which the bot may rewrite in a person's file. Pure.

Every other byte is kept: the byte order mark, line ends, and all text before, after and on the
lines of the marks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .topic_file import BOM, newline_of

BEGIN: Final = "<!-- scoped-memory:begin 以下由机器人改写；自己的话请写在这两行之外 -->"
BEGIN_ENGLISH: Final = (
    "<!-- scoped-memory:begin rewritten by a program; write your own words outside these lines -->"
)
END: Final = "<!-- scoped-memory:end -->"
_MARK: Final = re.compile(r"[ \t]*<!--[ \t]*scoped-memory:(begin|end)\b[^>]*-->[ \t]*\r?")


@dataclass(frozen=True, slots=True)
class Marked:
    """A file cut in three: to the end of the first mark's line, between, from the second mark."""

    before: str
    content: str
    after: str


@dataclass(frozen=True, slots=True)
class Unmarked:
    """The file has no marks."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """One mark without the other, more than two, or in the wrong order: the bot's lines cannot be
    told from the person's."""


def read(text: str) -> Marked | Unmarked | Damaged:
    """Find the marks."""
    lines = text.split("\n")
    marks = [
        (number, found[1])
        for number, line in enumerate(lines)
        if (found := _MARK.fullmatch(line.removeprefix(BOM) if number == 0 else line))
    ]
    if not marks:
        return Unmarked()
    if [kind for _, kind in marks] != ["begin", "end"]:
        return Damaged()
    (first, _), (last, _) = marks
    before = "\n".join(lines[: first + 1]) + "\n"
    content = "".join(line + "\n" for line in lines[first + 1 : last])
    return Marked(before, content, "\n".join(lines[last:]))


def put(text: str, content: str, *, title: str = "", begin: str = BEGIN) -> str | None:
    """Returns the file with ``content`` between its marks, which are appended if it has none; None
    if they are damaged.

    ``title`` is written above the marks of an empty file; ``begin`` is a new first mark. Comment
    openings in ``content`` are defused, so that no line of it can be taken for a mark.
    """
    found = read(text)
    if isinstance(found, Damaged):
        return None
    newline = newline_of(text)
    lines = _lines(content)
    body = "".join(line + newline for line in lines)
    if isinstance(found, Marked):
        return found.before + body + found.after
    bare = text.removeprefix(BOM)
    gap = "" if not bare else newline if bare.endswith("\n") else newline * 2
    head = f"# {title}{newline}{newline}" if title and not bare.strip() else ""
    return f"{text}{gap}{head}{begin}{newline}{body}{END}{newline}"


def content_of(text: str) -> str:
    """Returns the text between the marks, with plain line ends; empty if there are none."""
    found = read(text)
    return found.content.replace("\r\n", "\n") if isinstance(found, Marked) else ""


def outside(text: str) -> str | None:
    """Returns the text before and after the marks, with plain line ends; None if the marks are
    damaged."""
    own = text.removeprefix(BOM)
    found = read(own)
    if isinstance(found, Damaged):
        return None
    if isinstance(found, Marked):
        above = found.before.removesuffix("\n").rpartition("\n")[0]
        own = f"{above}\n{found.after.partition('\n')[2]}"
    return own.replace("\r\n", "\n")


def persons_text(text: str) -> str | None:
    """Returns the file with its marks and all between them as empty lines, so that each other line
    keeps its number; empty if only a title is left. None if the marks are damaged."""
    found = read(text)
    if isinstance(found, Damaged):
        return None
    if isinstance(found, Unmarked):
        return text
    above = found.before.split("\n")[:-2]
    below = found.after.split("\n")[1:]
    hidden = [""] * (2 + found.content.count("\n"))
    own = [*above, *hidden, *below]
    said = [line for line in own if line.removeprefix(BOM).strip()]
    title_alone = len(said) == 1 and said[0].removeprefix(BOM).startswith("# ")
    return "" if title_alone else "\n".join(own)


def harmless(content: str) -> str:
    """Returns ``content`` as ``put`` writes it, with plain line ends."""
    return "".join(line + "\n" for line in _lines(content))


def _lines(content: str) -> list[str]:
    text = content.replace("\r\n", "\n").replace("\r", "\n").replace("<!--", "&lt;!--")
    text = text.removesuffix("\n")
    return text.split("\n") if text else []
