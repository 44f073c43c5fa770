"""What people wrote, as a part of our own texts: it forges nothing there."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LONGEST_TITLE = 80
_MARKS = str.maketrans("〔〕", "()")
"""What stands round the mark of a speaker is ours alone."""
_BRACKETS = _MARKS | str.maketrans("<>", "‹›")
"""So is what closes the fence."""
_SEVERAL = str.maketrans("、,，;；&＆", "///////")
_POINTER = re.compile("[#^][mn]-")
_WIDE = {"#": "＃", "^": "＾"}


def safe_pointer(pointer: str) -> str:
    """A pointer whose file name, which a person may have chosen, forges nothing."""
    path, mark, memory_id = pointer.rpartition("#")
    return f"{safe(path)}{mark}{memory_id}"


def note_title(headings: Sequence[str]) -> str:
    """Headings, the widest first; of many words those at the end, which say most."""
    title = safe(" › ".join(headings))
    return title if len(title) <= _LONGEST_TITLE else f"…{title[1 - _LONGEST_TITLE :]}"


def safe_line(line: str) -> str:
    """``safe`` for a line whose blanks at the beginning mean something: code, a list."""
    bare = line.lstrip(" \t")
    return line[: len(line) - len(bare)].expandtabs(4) + safe(bare)


def as_one_name(name: str) -> str:
    """The name without separators that would make it read as several names."""
    return name.translate(_SEVERAL)


def unmarked(line: str) -> str:
    """A line of a file as it stands, unable to look like the mark of a speaker."""
    return line.translate(_MARKS)


def safe(text: str) -> str:
    """``text`` on one line, unable to close the fence or to look like a pointer.

    Character for character, so that it is as long, and costs as much, as it was counted.
    """
    line = " ".join(text.split()).translate(_BRACKETS)
    return _POINTER.sub(lambda match: f"{_WIDE[match[0][0]]}{match[0][1:]}", line)
