"""Finds what is left of a record that was not written whole, or written over. Pure.

Nothing of a file that people edit is cut, so such a piece stays until a person takes it out.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Final

_BEGINNING: Final = len(b"## D-000")
_LEAST: Final = 8
"""Bytes. A shorter piece of a line may be anybody's."""


def torn_piece(content: bytes, record: bytes, at: int | None = None) -> int | None:
    """Returns the byte at which a piece of a record begins; None if there is none.

    It is the record's beginning with something else behind, which a kill or a full disk leaves; or
    its end, without the first bytes, which an editor wrote over.

    Args:
        content: The file.
        record: Its lines, with the file's line ends: a heading, a line of fields, a body. Empty
            where they were purged.
        at: Where it stands whole, None if it does not.
    """
    if not record:
        return None
    begun = _beginning(content, record, at)
    return begun if begun is not None else _end(content[:at], record.rstrip(b"\r\n"))


def _beginning(content: bytes, record: bytes, whole: int | None) -> int | None:
    found = content.find(record[:_BEGINNING])
    while found >= 0:
        before = content[max(found - len(BOM_UTF8), 0) : found]
        starts_line = before in (b"", BOM_UTF8) or before.endswith(b"\n")
        if found != whole and starts_line and _is_cut(content[found:], record):
            return found
        found = content.find(record[:_BEGINNING], found + 1)
    return None


def _is_cut(text: bytes, record: bytes) -> bool:
    """Whether some lines of the record are followed by others. Another record with its heading has
    other fields; what goes on in the middle of a line counts below those alone."""
    pairs = enumerate(zip(text, record, strict=False))
    same = min(len(text), len(record))
    shared = next((number for number, (one, other) in pairs if one != other), same)
    ends_line = text[shared - 1 : shared] == b"\n" or text[shared : shared + 1] in b"\r\n"
    below_fields = record.count(b"\n", 0, shared) > 1
    return shared < len(record.rstrip(b"\r\n")) and (ends_line or below_fields)


def _end(before: bytes, record: bytes) -> int | None:
    """An end that holds some of the line of fields, which no other record has."""
    before = before.rstrip(b"\r\n")
    body = record.split(b"\n", 2)[2:]
    for start in range(1, len(record) - sum(map(len, body)) - _LEAST):
        if before.endswith(record[start:]):
            return len(before) - len(record) + start
    return None
