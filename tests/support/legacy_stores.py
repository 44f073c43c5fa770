"""Stores as other plugins left them: made by Chroma itself, in a process of its own, and by hand.

    python run.py legacy_stores.py < RECORDS

makes Chroma databases with a collection ``personal_memory_v1``. RECORDS is JSON: by folder, lists
of ``[id, document, metadata, vector]``; document and metadata may be null.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.tests.support.programs import program

ANGEL = "astrbot_plugin_angel_memory"
LIVING = "astrbot_plugin_livingmemory"
COLLECTION = "personal_memory_v1"
SCOPES = (None, "public", "家人", "work-1")

type Row = tuple[str, str | None, Mapping[str, Any] | None, Sequence[float]]


def angel_record(number: int, *, scope: object = None, **changes: Any) -> Row:
    """A record as Angel Memory wrote it; a scope of None is none at all."""
    judgment = f"第{number}号用户喜欢第{number}种茶"
    metadata: dict[str, Any] = {
        "id": f"uuid-{number}",
        "memory_type": "知识记忆",
        "judgment": judgment,
        "reasoning": f"他在第{number}天说过",
        "tags": "茶, 喜好",
        "strength": number % 90 + 5,
        "is_active": number % 2 == 0,
        "associations": "{}",
        "created_at": 1_750_000_000.0 + number * 60,
        "state_snapshot": "{}",
        **({} if scope is None else {"memory_scope": scope}),
        **changes,
    }
    kept = {key: value for key, value in metadata.items() if value is not None}
    return f"uuid-{number}", f"{judgment},  茶, 喜好", kept, vector(number)


def vector(number: int, dim: int = 8) -> list[float]:
    """Of no length in particular."""
    return [float((number * (place + 3)) % 17) + 1.0 for place in range(dim)]


def make_chroma(folder: Path, rows: Sequence[Row], **others: tuple[Path, Sequence[Row]]) -> Path:
    """A database in ``folder``, closed in order; and others, for importing Chroma takes long."""
    made = {str(folder): rows, **{str(place): some for place, some in others.values()}}
    for place in made:
        Path(place).mkdir(parents=True, exist_ok=True)
    process = program.start(__file__, stdin=subprocess.PIPE)
    _, errors = process.communicate(json.dumps(made), timeout=300)
    assert process.returncode == 0, errors
    return folder


def make_simple(
    path: Path, rows: Sequence[Mapping[str, Any]], *, tags: str = "global_tags"
) -> Path:
    """Angel Memory's SQLite. ``tags``: the table of their names, another in the first release."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.executescript(f"""
        CREATE TABLE memory_records (
            id TEXT PRIMARY KEY, memory_type TEXT NOT NULL, judgment TEXT NOT NULL,
            reasoning TEXT NOT NULL, strength INTEGER NOT NULL, is_active INTEGER NOT NULL,
            useful_count INTEGER NOT NULL DEFAULT 0, useful_score REAL NOT NULL DEFAULT 0,
            last_recalled_at REAL NOT NULL DEFAULT 0, last_decay_at REAL NOT NULL DEFAULT 0,
            memory_scope TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL);
        CREATE TABLE {tags} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
        CREATE TABLE memory_tag_rel (
            memory_id TEXT NOT NULL, tag_id INTEGER NOT NULL, UNIQUE(memory_id, tag_id));
        CREATE TABLE note_index_records (source_id TEXT PRIMARY KEY);
    """)
    usual = {
        "memory_type": "知识记忆", "reasoning": "", "strength": 50, "is_active": 1,
        "memory_scope": "public", "created_at": 1_760_000_000.0, "updated_at": 0.0,
    }  # fmt: skip
    for row in rows:
        values = {**usual, **{key: value for key, value in row.items() if key != "tags"}}
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        database.execute(
            f"INSERT INTO memory_records ({names}) VALUES ({marks})",  # noqa: S608
            tuple(values.values()),
        )
        for tag in row.get("tags", ()):
            database.execute(f"INSERT OR IGNORE INTO {tags} (name) VALUES (?)", (tag,))  # noqa: S608
            database.execute(
                f"INSERT INTO memory_tag_rel SELECT ?, id FROM {tags} WHERE name = ?",  # noqa: S608
                (row["id"], tag),
            )
    database.commit()
    database.close()
    return path


def make_living(path: Path, documents: Sequence[tuple[str, str, Mapping[str, Any] | str]]) -> Path:
    """LivingMemory's SQLite: id, text, metadata of each document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.execute(
        "CREATE TABLE documents (id INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT,"
        " text TEXT NOT NULL, metadata TEXT DEFAULT '{}', created_at TEXT, updated_at TEXT)"
    )
    for name, text, metadata in documents:
        content = metadata if isinstance(metadata, str) else json.dumps(metadata)
        database.execute(
            "INSERT INTO documents (doc_id, text, metadata, created_at) VALUES (?, ?, ?, ?)",
            (name, text, content, "2025-10-01T08:00:00+00:00"),
        )
    database.commit()
    database.close()
    return path


def make_living_first(path: Path, memories: Sequence[Mapping[str, Any]]) -> Path:
    """The table of its first releases."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.execute(
        "CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL"
        " UNIQUE, timestamp TEXT NOT NULL, memory_type TEXT NOT NULL, importance_score REAL NOT"
        " NULL, status TEXT NOT NULL DEFAULT 'active', community_id TEXT,"
        " memory_data TEXT NOT NULL)"
    )
    for memory in memories:
        metadata = memory["metadata"]
        database.execute(
            "INSERT INTO memories (memory_id, timestamp, memory_type, importance_score,"
            " memory_data) VALUES (?, ?, ?, ?, ?)",
            (
                memory["memory_id"], memory["timestamp"], metadata["memory_type"],
                metadata["importance_score"], json.dumps(memory),
            ),
        )  # fmt: skip
    database.commit()
    database.close()
    return path


def photograph(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Names, bytes and times of everything below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[path.relative_to(folder).as_posix()] = (digest, status.st_size, status.st_mtime_ns)
    return found


def spoil_index(folder: Path) -> int:
    """Garbage into the files of a Chroma's vectors: how many files."""
    files = [p for p in folder.rglob("*.bin") if p.is_file()]
    for path in files:
        path.write_bytes(b"\xff" * path.stat().st_size)
    return len(files)


def _make(folder: str, rows: Sequence[Row]) -> None:
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(folder, settings=settings)
    collection = client.get_or_create_collection(COLLECTION)
    whole = [row for row in rows if row[1] is not None and row[2] is not None]
    for start in range(0, len(whole), 1000):
        some = whole[start : start + 1000]
        collection.add(
            ids=[row[0] for row in some],
            documents=[str(row[1]) for row in some],
            metadatas=[dict(row[2] or {}) for row in some],
            embeddings=[list(row[3]) for row in some],
        )
    for record_id, document, metadata, numbers in rows:
        if document is None or metadata is None:
            more: dict[str, Any] = {}
            if document is not None:
                more["documents"] = [document]
            if metadata is not None:
                more["metadatas"] = [dict(metadata)]
            collection.add(ids=[record_id], embeddings=[list(numbers)], **more)


if __name__ == "__main__":
    for place, records in json.loads(sys.stdin.read()).items():
        _make(place, records)
    sys.stdout.flush()
    os._exit(0)
