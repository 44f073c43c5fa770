"""Reads a copy of another plugin's store; run as a program of its own, which can be ended.

    python legacy_reader_program.py OPTIONS

OPTIONS is JSON: ``way``, one of ``chroma``, ``simple``, ``living``; ``source``, the copy;
``records``, a file to make; ``seconds``, after which the program ends itself.

Into ``records`` goes one line of JSON for each record: ``id``, ``document`` (a text or null),
``fields`` (an object or null). Bytes that are no UTF-8 stand in texts as lone surrogates. One line
of JSON on standard output at the end: ``count``, and ``fault``, empty if all was read.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

COLLECTION = "personal_memory_v1"
DOCUMENT = "chroma:document"
SQLITE_HEADER = b"SQLite format 3\x00"
TAGS = ("global_tags", "memory_tags")
"""Where Angel Memory keeps the names of tags: since its second release, and in the first."""

type Record = tuple[str, str | None, Mapping[str, object] | None]


def main(options: Mapping[str, Any]) -> dict[str, object]:
    """What is printed at the end."""
    count, fault = 0, ""
    source = Path(options["source"])
    with Path(options["records"]).open("w", encoding="utf-8", newline="\n") as file:
        try:
            for record_id, document, fields in WAYS[options["way"]](source):
                line = {"id": record_id, "document": document, "fields": fields}
                file.write(json.dumps(line, default=_told) + "\n")
                count += 1
        except Exception as error:  # noqa: BLE001  (whatever it is, what was read so far counts)
            fault = f"{type(error).__name__}: {error}"[:300]
    return {"count": count, "fault": fault}


def _told(value: object) -> object:
    """What JSON has no word for."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return repr(value)


def chroma(path: Path) -> Iterator[Record]:
    """Without Chroma, which a broken index may kill: its SQLite file holds all but the vectors."""
    with closing(connected(path)) as database:
        columns = _columns(database, "embedding_metadata")
        arrays = _columns(database, "embedding_metadata_array")
        for collection, segment in _segments(database):
            fresh = _queued(database, collection, _seen(database, segment))
            rows = database.execute(
                "SELECT id, embedding_id FROM embeddings WHERE segment_id = ? ORDER BY id",
                (segment,),
            )
            for number, record_id in rows:
                fields = _metadata(database, "embedding_metadata", columns, number)
                if arrays:
                    fields |= _arrays(database, arrays, number)
                if (now := _after(fields, fresh.pop(record_id, []))) is not None:
                    yield _record(record_id, now)
            for record_id, steps in fresh.items():
                if (now := _after(None, steps)) is not None:
                    yield _record(record_id, now)


def _segments(database: sqlite3.Connection) -> list[tuple[str, str]]:
    if not _columns(database, "collections"):
        return []
    found = database.execute(
        "SELECT c.id, s.id FROM collections c JOIN segments s ON s.collection = c.id"
        " WHERE c.name = ? AND s.scope = 'METADATA'",
        (COLLECTION,),
    )
    return [(str(collection), str(segment)) for collection, segment in found.fetchall()]


def _seen(database: sqlite3.Connection, segment: str) -> int:
    """Up to where the queue was worked off."""
    rows = database.execute("SELECT seq_id FROM max_seq_id WHERE segment_id = ?", (segment,))
    (value,) = rows.fetchone() or (0,)
    return int.from_bytes(value) if isinstance(value, bytes) else int(value or 0)


def _queued(
    database: sqlite3.Connection, collection: str, seen: int
) -> dict[str, list[tuple[int, object]]]:
    """What was written and not worked off, by record: number of the operation, and metadata."""
    found: dict[str, list[tuple[int, object]]] = {}
    if not _columns(database, "embeddings_queue"):
        return found
    rows = database.execute(
        "SELECT operation, topic, id, metadata FROM embeddings_queue WHERE seq_id > ?"
        " ORDER BY seq_id",
        (seen,),
    )
    for operation, topic, record_id, metadata in rows.fetchall():
        if str(topic).endswith(f"/{collection}"):
            found.setdefault(record_id, []).append((int(operation), _parsed(metadata)))
    return found


ADD, UPDATE, UPSERT, DELETE = range(4)


def _after(
    fields: dict[str, object] | None, steps: Sequence[tuple[int, object]]
) -> dict[str, object] | None:
    """A record's fields after what was done to it; None if it is gone."""
    for operation, change in steps:
        more = change if isinstance(change, dict) else {}
        if operation == DELETE:
            fields = None
        elif fields is not None and operation in (UPDATE, UPSERT):
            merged = {**fields, **more}
            fields = {key: value for key, value in merged.items() if value is not None}
        elif fields is None and operation in (ADD, UPSERT):
            fields = dict(more)
    return fields


def _metadata(
    database: sqlite3.Connection, table: str, columns: Sequence[str], number: int
) -> dict[str, object]:
    rows = database.execute(f"SELECT * FROM {table} WHERE id = ?", (number,))  # noqa: S608
    found: dict[str, object] = {}
    for row in rows.fetchall():
        value = dict(zip(columns, row, strict=True))
        found[str(value["key"])] = _value(value)
    return found


def _arrays(database: sqlite3.Connection, columns: Sequence[str], number: int) -> dict[str, object]:
    found: dict[str, list[object]] = {}
    query = "SELECT * FROM embedding_metadata_array WHERE id = ?"
    for row in database.execute(query, (number,)).fetchall():
        value = dict(zip(columns, row, strict=True))
        found.setdefault(str(value["key"]), []).append(_value(value))
    return dict(found)


def _value(row: Mapping[str, object]) -> object:
    if (truth := row.get("bool_value")) is not None:
        return bool(truth)
    return next(
        (row[n] for n in ("string_value", "int_value", "float_value") if row.get(n) is not None),
        None,
    )


def _record(record_id: str, fields: dict[str, object]) -> Record:
    document = fields.pop(DOCUMENT, None)
    return record_id, document if isinstance(document, str) else None, fields or None


def simple(path: Path) -> Iterator[Record]:
    """Angel Memory's own SQLite, of any release."""
    with closing(connected(path)) as database:
        columns = _columns(database, "memory_records")
        if not columns:
            return
        tags: dict[str, list[str]] = {}
        lost: sqlite3.Error | None = None
        try:
            _read_tags(database, tags)
        except sqlite3.Error as error:  # memories without their tags are better than none
            lost = error
        for row in database.execute("SELECT * FROM memory_records ORDER BY rowid"):
            fields = dict(zip(columns, row, strict=True))
            record_id = fields.get("id")
            names = tags.get(str(record_id), [])
            yield str(record_id), None, {**fields, **({"tags": names} if names else {})}
        if lost is not None:
            raise lost


def _read_tags(database: sqlite3.Connection, found: dict[str, list[str]]) -> None:
    """The tags of each memory."""
    if not _columns(database, "memory_tag_rel"):
        return
    # The older table, where it still stands beside the newer one, has other numbers.
    for table in [table for table in TAGS if _columns(database, table)][:1]:
        rows = database.execute(
            f"SELECT r.memory_id, t.name FROM memory_tag_rel r JOIN {table} t"  # noqa: S608
            " ON t.id = r.tag_id ORDER BY r.rowid"
        )
        for memory_id, name in rows:
            names = found.setdefault(str(memory_id), [])
            if name not in names:
                names.append(name)


def living(path: Path) -> Iterator[Record]:
    """LivingMemory's documents, and the table that its first releases kept beside them."""
    with closing(connected(path)) as database:
        if columns := _columns(database, "documents"):
            for row in database.execute("SELECT * FROM documents ORDER BY id"):
                fields = dict(zip(columns, row, strict=True))
                yield _living_document(fields)
        if columns := _columns(database, "memories"):
            for row in database.execute("SELECT * FROM memories ORDER BY id"):
                yield _living_memory(dict(zip(columns, row, strict=True)))


def _living_document(row: Mapping[str, object]) -> Record:
    metadata = _parsed(row.get("metadata"))
    fields = dict(metadata) if isinstance(metadata, dict) else {"metadata": metadata}
    # Other documents of the same release have no name, but a number.
    record_id = str(row.get("doc_id") or row.get("id"))
    extra = {key: row[key] for key in ("text", "created_at") if row.get(key) is not None}
    return record_id, None, {**extra, **fields, **({"text": row["text"]} if "text" in row else {})}


def _living_memory(row: Mapping[str, object]) -> Record:
    whole = _parsed(row.get("memory_data"))
    content = whole if isinstance(whole, dict) else {"memory_data": whole}
    metadata = content.pop("metadata", None)
    about = metadata if isinstance(metadata, dict) else {}
    for heavy in ("embedding", "linked_media"):
        content.pop(heavy, None)
    summary, description = content.pop("summary", ""), content.pop("description", "")
    fields = {
        **content,
        "text": summary or description,
        "reasoning": description if summary and description != summary else "",
        "create_time": content.pop("timestamp", None) or row.get("timestamp"),
        "importance": about.get("importance_score", row.get("importance_score")),
        "status": row.get("status"),
        "session_id": about.get("session_id") or about.get("source_conversation_id"),
        "persona_id": about.get("persona_id"),
        "kind_there": about.get("memory_type"),
    }
    fields.pop("timestamp", None)
    return str(row.get("memory_id")), None, fields


def connected(path: Path) -> sqlite3.Connection:
    """Of a copy: it may be written to, which recovers what a crash left in a journal."""
    with path.open("rb") as file:
        start = file.read(len(SQLITE_HEADER))
    if start and start != SQLITE_HEADER:
        raise sqlite3.DatabaseError("file is not a database")
    database = sqlite3.connect(path)
    database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return database


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    """The names of a table's columns; none if there is no such table."""
    return [str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")]


def _parsed(text: object) -> object:
    """JSON; what is none stays as it is."""
    if not isinstance(text, str | bytes):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


WAYS: dict[str, Callable[[Path], Iterator[Record]]] = {
    "chroma": chroma,
    "simple": simple,
    "living": living,
}


def end_with_parent() -> None:
    """The other end of our standard input closes when our parent process is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    os.umask(0o077)  # people's words stand in what is made here
    faulthandler.dump_traceback_later(given["seconds"], exit=True)
    threading.Thread(target=end_with_parent, daemon=True).start()
    answer = json.dumps(main(given))
    sys.stdout.write("\n" + answer + "\n")
    sys.stdout.flush()
    os._exit(0)  # the thread still reads
