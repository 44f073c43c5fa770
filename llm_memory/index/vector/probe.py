"""Looks into an index folder; run as a program of its own, because a broken one may kill it.

    python probe.py OPTIONS

OPTIONS is JSON: ``folder``; ``settings``, Chroma's; ``prefix`` of the names of our collections;
``where``, a filter that most records match; ``seconds``, after which the program ends itself;
``path``, where packages are found, for a Python that does not look at PYTHONPATH.

One line of JSON on standard output: ``verdict``, ``detail`` in Chroma's words, and ``orphans``, the
folders that no collection knows. Verdicts: ``sound``; ``garbage``, something cannot be read;
``partial``, something cannot be found; ``busy`` and ``unreadable``, nothing can be told now;
``full``, the disk is; ``missing``, Chroma cannot be imported; ``unknown``, it is not the Chroma
that we know. A folder that ends the program leaves no such line.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import re
import sqlite3
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

PAGE = 1000
SAMPLES = 64
"""Records of a collection that must find themselves."""
MISSES = 0.1
"""The part of them that may fail to: the graph is approximate."""
SAME = 1e-3
"""The largest distance of a vector from itself."""
BUSY_SECONDS = 2.0

HEADER = struct.Struct("<I6Qii3QdQ")
"""Version, offset, room, count, bytes an element, offsets of label and vector, top level, entry
point, most neighbours above, below, and wished for, level factor, width of construction."""
HEADER_VERSION = 1
LARGEST_LINKS = 1 << 12
"""Bytes of upper levels that an element may take."""
LARGEST_WIDTH = 10_000
"""Of a search for neighbours while the graph is built. Ours is 40."""
SEGMENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)

KNOWN_FAULTS = (
    ("busy", re.compile(r"database is locked|database table is locked|code: 5\)")),
    ("full", re.compile(r"disk is full|code: 13\)|[Nn]o space left")),
    (
        "unreadable",
        re.compile(r"readonly database|unable to open database|[Pp]ermission denied|code: 14\)"),
    ),
    ("partial", re.compile(r"Error finding id|Error getting embedding")),
)


class Unsound(Exception):
    """``verdict`` and detail."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(detail)
        self.verdict = verdict


def main(options: dict[str, Any]) -> dict[str, object]:
    """The verdict."""
    orphans: list[str] = []
    try:
        orphans = look_into_database(Path(options["folder"]))
        look_with_chroma(options)
    except Unsound as unsound:
        return {"verdict": unsound.verdict, "detail": str(unsound), "orphans": orphans}
    except (AttributeError, TypeError, NameError) as error:
        # Ours to answer for, or a Chroma that we do not know yet: no reason to give up a folder.
        return {"verdict": "unknown", "detail": repr(error)[:500], "orphans": []}
    except BaseException as error:  # noqa: BLE001 - a panic of Chroma's is no Exception
        detail = f"{type(error).__name__}: {error}"[:500]
        return {"verdict": verdict_on(detail), "detail": detail, "orphans": orphans}
    return {"verdict": "sound", "detail": "", "orphans": orphans}


def verdict_on(detail: str) -> str:
    """What an error's text means."""
    return next((verdict for verdict, text in KNOWN_FAULTS if text.search(detail)), "garbage")


def look_into_database(folder: Path) -> list[str]:
    """Folders of segments that no collection has. Ends a transaction that a crash cut off."""
    folders = {p.name for p in folder.iterdir() if SEGMENT.fullmatch(p.name) and p.is_dir()}
    database = folder / "chroma.sqlite3"
    if not database.exists() or not database.stat().st_size:
        # Chroma would begin a new one, and everything that is here would be forgotten unseen.
        raise Unsound("partial", "the database is gone")
    with closing(sqlite3.connect(database, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
        if (answer := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise Unsound("garbage", f"chroma.sqlite3: {answer}"[:500])
        known = db.execute(
            "SELECT segments.id FROM segments JOIN collections"
            " ON collections.id = segments.collection"
        )
        segments = {identifier for (identifier,) in known}
    for name in sorted(folders & segments):
        look_into_segment(folder / name)
    return sorted(folders - segments)


def look_into_segment(folder: Path) -> None:
    """The files of a graph, without the library that reads them: it believes every number in them.
    One false length in the links, and its next write fills the disk.

    Files of another format than hnswlib's first are left to the questions that follow.
    """
    import numpy as np

    header = folder / "header.bin"
    if not header.exists() or header.stat().st_size != HEADER.size:
        return
    version, _, _, count, stride, _, links, _, entry, most, most_below, *growth = HEADER.unpack(
        header.read_bytes()
    )
    if version != HEADER_VERSION or not count:  # files are made before anything is in them
        return
    data = folder / "data_level0.bin"
    if not stride or data.stat().st_size < count * stride or not 0 <= entry < count:
        raise Unsound("garbage", "the graph's header and data do not fit")
    check_growth(most, *growth)
    if most == 16 and most_below == 32 and links == 4 + 4 * most_below < stride:
        rows = np.memmap(data, np.uint8, "r", shape=(count, stride))
        for start in range(0, count, PAGE):
            page = np.ascontiguousarray(rows[start : start + PAGE, :links]).view("<u4")
            check_neighbours(page, most_below, count)
        check_links(folder / "link_lists.bin", most, count)


def check_growth(most: int, wished: int, factor: float, width: int) -> None:
    """What hnswlib believes at the next write: it draws levels with the factor, 1 / ln M."""
    fits = most > 1 and wished == most and abs(factor * math.log(most) - 1) < 1e-6
    if not (fits and 0 < width <= LARGEST_WIDTH):
        raise Unsound("garbage", "the graph's header would have it grow without measure")


def check_links(path: Path, most: int, count: int) -> None:
    """Upper levels: of each element the length, and that many bytes of neighbours."""
    import numpy as np

    content = path.read_bytes() if path.stat().st_size <= count * LARGEST_LINKS else b""
    block = 4 + 4 * most
    at = 0
    for _ in range(count):
        if at + 4 > len(content):
            break
        length = int.from_bytes(content[at : at + 4], "little")
        at += 4
        if length % block or at + length > len(content):
            break
        if length:
            levels = np.frombuffer(content, "<u4", length // 4, at).reshape(-1, most + 1)
            check_neighbours(levels, most, count)
        at += length
    else:
        return
    raise Unsound("garbage", "the graph's links make no sense")


def check_neighbours(rows: Any, most: int, count: int) -> None:
    """Each row: how many, and who they are. The upper half of the first number is marks."""
    import numpy as np

    many = rows[:, 0] & 0xFFFF
    used = np.arange(most) < many[:, None]
    if (many > most).any() or (rows[:, 1:][used] >= count).any():
        raise Unsound("garbage", "the graph's neighbours make no sense")


def look_with_chroma(options: dict[str, Any]) -> None:
    """Open it and ask each collection of ours. Raises Unsound, and whatever Chroma does."""
    try:
        from chromadb.api.client import Client
        from chromadb.config import Settings, System
    except ImportError as error:
        raise Unsound("missing", str(error)) from error
    system = System(Settings(**options["settings"]))
    system.start()
    client = Client.from_system(system)
    for listed in client.list_collections():
        if listed.name.startswith(options["prefix"]):
            # Without an embedding function: the default one fetches a model.
            collection = client.get_collection(listed.name, embedding_function=None)
            look_into_collection(collection, options["where"])


def look_into_collection(collection: Any, where: dict[str, Any]) -> None:
    """Every record has a vector, the graph holds these records and no others, and a record is
    found by its own vector."""
    count = collection.count()
    known: set[str] = set()
    samples: list[Any] = []
    spread = max(1, count // SAMPLES)
    for number, (identifier, vector) in enumerate(records(collection, count)):
        known.add(identifier)
        if number % spread == 0 and (vector != 0).any():
            samples.append(vector)
    if len(known) != count:
        raise Unsound("partial", f"{len(known)} of {count} records")
    if not samples and isinstance(dim := (collection.metadata or {}).get("dim"), int) and dim > 0:
        samples = [[1.0] * dim]
        look_for_excess(collection.query, samples, known)
    elif samples:
        look_into_graph(collection.query, samples, known)
    if samples:
        answer = collection.query(
            query_embeddings=samples[:2], n_results=1, where=where, include=["distances"]
        )
        if any(identifier not in known for ids in answer["ids"] for identifier in ids):
            raise Unsound("partial", "the filtered query finds what is not there")


def records(collection: Any, count: int) -> Iterator[tuple[str, Any]]:
    """Each id with its vector."""
    import numpy as np

    for offset in range(0, count, PAGE):
        page = collection.get(limit=PAGE, offset=offset, include=["embeddings", "metadatas"])
        vectors = np.asarray(page["embeddings"], dtype=np.float32)
        if len(vectors) != len(page["ids"]) or not np.isfinite(vectors).all():
            raise Unsound("garbage", "vectors that are none")
        yield from zip(page["ids"], vectors, strict=True)


def look_into_graph(query: Callable[..., Any], samples: list[Any], known: set[str]) -> None:
    """The part that answers unfiltered queries, and is a file of its own."""
    answer = query(query_embeddings=samples, n_results=1, include=["distances"])
    missed = sum(not (found and abs(found[0]) <= SAME) for found in answer["distances"])
    if missed > MISSES * len(samples):
        raise Unsound("partial", f"{missed} of {len(samples)} records do not find themselves")
    reached = look_for_excess(query, samples, known)
    if reached < (1 - MISSES) * len(known):
        raise Unsound("partial", f"{reached} of {len(known)} records are reached")


def look_for_excess(query: Callable[..., Any], samples: list[Any], known: set[str]) -> int:
    """Ask for one more than there are: what the graph has and the database has not, shows.

    How many were found.
    """
    answer = query(query_embeddings=samples[:1], n_results=len(known) + 1, include=["distances"])
    reached = set(answer["ids"][0])
    if reached - known:
        raise Unsound("partial", f"the graph knows {len(reached - known)} records too many")
    return len(reached)


def end_with_parent() -> None:
    """The other end of our standard input closes when our parent process is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    os.umask(0o077)  # people's words stand in what is made here
    sys.path += [entry for entry in given["path"] if entry not in sys.path]
    # A thread of C's: it ends us even where Chroma hangs and holds the interpreter's lock.
    faulthandler.dump_traceback_later(given["seconds"], exit=True)
    threading.Thread(target=end_with_parent, daemon=True).start()
    verdict = json.dumps(main(given))
    sys.stdout.write("\n" + verdict + "\n")
    sys.stdout.flush()
    os._exit(0)  # what is left of Chroma is not asked to end in order
