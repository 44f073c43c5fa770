"""What a file holds: its bytes as they stand, and what is packed in it, whatever its name is."""

from __future__ import annotations

import base64
import gzip
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, Final, cast

_PIECE: Final = 1 << 18
"""Bytes that are looked at at a time."""
_OVERLAP: Final = 1 << 16
"""Bytes that are given twice, so that what lies across the border of two pieces is found."""
_LINE: Final = 32 << 20
"""Bytes of the longest line that is read as JSON: a whole file of memories in base64 fits."""
_PLAIN_LINE: Final = 1 << 18
"""The same of a line without base64. A longer one is no memory, and takes long to parse."""
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK"
_LINES: Final = (b"{", b"\xef\xbb")
"""How lines of JSON begin; Notepad puts a mark before the first."""
_DEEPEST: Final = 4
"""Archives in archives that are unpacked."""


class NotUnpacked(OSError):
    """An archive is damaged, or wants a password: what is in it is unknown."""


def contents(file: IO[bytes], depth: int = 0) -> Iterator[Iterable[bytes]]:
    """Yields the contents of a seekable file one after the other, each in pieces that overlap: the
    bytes as they stand, the strings of each line of JSON, the members of an archive. Each is to be
    read before the next one is asked for.

    Blocks. Raises OSError; NotUnpacked for an archive that cannot be read.
    """
    yield _pieces(file)
    file.seek(0)
    begin = file.read(2)
    file.seek(0)
    if depth > _DEEPEST:
        raise NotUnpacked("archives in archives")
    try:
        if begin == _GZIP:
            with gzip.open(file) as member:
                yield from contents(cast("IO[bytes]", member), depth + 1)
        elif begin == _ZIP and zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                for name in archive.namelist():
                    with archive.open(name) as member:
                        yield from contents(member, depth + 1)
        elif begin.startswith(_LINES):
            while line := file.readline(_LINE):
                yield from _strings(line)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise NotUnpacked(str(error)) from error


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    before = b""
    while piece := file.read(_PIECE):
        yield before + piece
        before = piece[-_OVERLAP:]


def _strings(line: bytes) -> Iterator[Iterable[bytes]]:
    """Yields the strings of a line, and what is in base64. A line that is no JSON has none."""
    if len(line) > _PLAIN_LINE and b'"base64"' not in line:
        return
    try:
        found = list(_leaves(json.loads(line)))
    except (ValueError, RecursionError):
        return
    yield (b"\n".join(found),)


def _leaves(value: object, name: str = "") -> Iterator[bytes]:
    match value:
        case str() if name == "base64":
            yield base64.b64decode(value)
        case str():
            yield value.encode(errors="replace")
        case dict():
            for key, one in value.items():
                yield from _leaves(one, key)
        case list():
            for one in value:
                yield from _leaves(one)
