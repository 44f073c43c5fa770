"""A block that is appended to a file which people edit too: a record, a role's daily note. Pure.

Its text is escaped as the body of an entry is, and so is what would hide the blocks below it or cut
it in two: an open fence, comment or raw HTML, the line below a heading, the end of front matter.
"""

from __future__ import annotations

import re

from ...text.normalising import clean, one_line
from .blocks import Kind, blocks_of, lines_of
from .escaping import escape_body, escape_inline

_HIDES = re.compile(r"([ \t]*)(<|[-=]+[ \t]*$|\.{3}[ \t]*$)")


def inline(text: str) -> str:
    """Returns ``text`` as a part of a heading or of a line of fields."""
    return escape_inline(one_line(clean(text)), also="·<")


def body_lines(text: str) -> list[str]:
    """Returns ``text`` as lines below a heading; none for a text that says nothing."""
    body = clean(text)
    return [_shown(line) for line in escape_body(body).split("\n")] if body else []


def _shown(line: str) -> str:
    line = line.replace("<!--", "\\<!--")
    return _HIDES.sub(r"\1\\\2", line, count=1) if _HIDES.match(line) else line


def open_fence(text: str) -> int | None:
    """Returns the line, from 1, of a fence, comment or raw HTML block that is not closed: what is
    appended would be a part of it. None if there is none."""
    last = blocks_of(lines_of(f"{text}\n\n## D"))[-1]
    return None if last.kind is Kind.HEADING else last.start + 1
