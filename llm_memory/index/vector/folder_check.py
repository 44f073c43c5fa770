"""What a folder is asked before it is used: some tenths of a second, at each opening.

Only what neither the process's death nor the comparison with the vault would tell: an index that
answers with a part of what it holds, and numbers that fill the disk at the next write.
"""

from __future__ import annotations

import math
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...errors import IndexFull, IndexUnavailable

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

DATABASE: Final = "chroma.sqlite3"
GARBAGE: Final = "garbage"
PARTIAL: Final = "partial"

_HEADER: Final = struct.Struct("<I6Qii3QdQ")
"""Of a graph: version, offset, room, count, bytes an element, offsets of label and vector, top
level, entry point, most neighbours above, below, and wished for, level factor, width of
construction."""
_HEADER_VERSION: Final = 1
_LARGEST_LINKS: Final = 1 << 12
"""Bytes of upper levels that an element may take."""
_LARGEST_WIDTH: Final = 10_000
"""Of a search for neighbours while the graph is built. Ours is 40."""
_BUSY_SECONDS: Final = 1.0
_PAGES: Final = 8
_PAGE: Final = 8
"""Records that must find themselves, from so many places of a collection."""
_MISSES: Final = 0.1
"""The part of them that may fail to: the graph is approximate."""
_SAME: Final = 1e-3
"""The largest distance of a vector from itself."""
_REFUSALS: Final = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_READONLY: "unreadable",
    sqlite3.SQLITE_PERM: "unreadable",
    sqlite3.SQLITE_AUTH: "unreadable",
    sqlite3.SQLITE_CANTOPEN: "unreadable",
}


def look_into_database(folder: Path) -> set[str]:
    """Ask SQLite, while Chroma does not have the file: Chroma would wait for its lock for minutes,
    in a thread that cannot be ended. Ends a transaction that a crash cut off.

    Returns the segments of all collections.

    Raises:
        IndexUnavailable: ``garbage``, it is broken; another code, it may not be opened now.
    """
    try:
        with closing(
            sqlite3.connect(folder / DATABASE, timeout=_BUSY_SECONDS, isolation_level=None)
        ) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
            if (answer := database.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise IndexUnavailable(f"{DATABASE}: {answer}"[:500], code=GARBAGE)
            return {name for (name,) in database.execute("SELECT id FROM segments")}
    except sqlite3.Error as error:
        # Text that is none has no code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise IndexFull(f"{DATABASE}: {error}") from error
        raise IndexUnavailable(f"{DATABASE}: {error}", code=_REFUSALS.get(code, GARBAGE)) from error


def look_into_segment(folder: Path) -> None:
    """Ask the files of a segment, without the library that reads them: it believes every number.
    One false length in the links, and its next write takes gigabytes of memory and disk.

    Files of another format than hnswlib's first are left to the questions that follow.

    Raises:
        IndexUnavailable: ``garbage``; ``partial``, a file is gone.
    """
    try:
        _look_into_graph(
            folder / "header.bin", folder / "data_level0.bin", folder / "link_lists.bin"
        )
    except FileNotFoundError as error:
        raise IndexUnavailable(str(error), code=PARTIAL) from error


def _look_into_graph(header: Path, data: Path, links: Path) -> None:
    if not header.exists() or header.stat().st_size != _HEADER.size:
        return
    version, _, _, count, stride, *_, most, _, wished, factor, width = _HEADER.unpack(
        header.read_bytes()
    )
    if version != _HEADER_VERSION or not count:  # files are made before anything is in them
        return
    grows = most > 1 and wished == most and abs(factor * math.log(most) - 1) < 1e-6  # 1 / ln M
    fits = 0 < count * stride <= data.stat().st_size
    if not (grows and fits and 0 < width <= _LARGEST_WIDTH):
        raise IndexUnavailable("the graph's header makes no sense", code=GARBAGE)
    content = links.read_bytes() if links.stat().st_size <= count * _LARGEST_LINKS else b""
    at = 0
    for _ in range(count):  # the length of an element's upper levels, and so many bytes
        length = int.from_bytes(content[at : at + 4], "little")
        if at + 4 + length > len(content) or length % (4 + 4 * most):
            raise IndexUnavailable("the graph's links make no sense", code=GARBAGE)
        at += 4 + length


def ask(collection: Collection) -> None:
    """Whether records find themselves, and the graph holds as many as the database.

    Raises:
        IndexUnavailable: ``partial``; and whatever Chroma does.
    """
    count = collection.count()
    samples = _samples(collection, count)
    if samples:
        answer = collection.query(query_embeddings=samples, n_results=1, include=["distances"])
        found = answer["distances"] or ()
        missed = sum(not (near and abs(near[0]) <= _SAME) for near in found)
        if missed > _MISSES * len(samples):
            message = f"{missed} of {len(samples)} records do not find themselves"
            raise IndexUnavailable(message, code=PARTIAL)
    elif not count and (dim := (collection.metadata or {}).get("dim")):
        samples = [[1.0] * int(dim)]
    if samples:
        # One more than there are: what the graph has and the database has not shows.
        reached = collection.query(query_embeddings=samples[:1], n_results=count + 1, include=[])
        if not (1 - _MISSES) * count <= len(reached["ids"][0]) <= count:
            message = f"{len(reached['ids'][0])} of {count} records are reached"
            raise IndexUnavailable(message, code=PARTIAL)


def _samples(collection: Collection, count: int) -> list[Any]:
    """Vectors from all over the collection, in the order of storage."""
    offsets = sorted({number * count // _PAGES for number in range(_PAGES)})
    pages = [collection.get(limit=_PAGE, offset=at, include=["embeddings"]) for at in offsets]
    vectors = [vector for page in pages for vector in page["embeddings"]]
    return [vector for vector in vectors if (vector != 0).any()]
