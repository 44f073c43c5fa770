"""What was read of other plugins' stores and is not all in the vault yet: ``state/adoption/``.

A folder for each batch: ``batch.json``; ``plan.sqlite`` with each record's end and each memory in
its scope, until all of it is in the vault; ``broken.jsonl`` with what could not be kept as a
memory, word for word, for good. ``seen.json`` says which stores were read, and how they looked.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import batched
from pathlib import Path
from typing import Any, Final

from ..errors import StateUnavailable, VaultWriteFailed
from ..models.data_models import Memory
from ..storage.files import make_file, make_folder, move, replace_durably
from ..vault.markdown.entry import parse, render
from .legacy_port import FoundStore, StagedBatch
from .rules.legacy_plan import Plan, Planned
from .rules.legacy_records import SCOPE_KEY, Foreign

_TABLES: Final = """
CREATE TABLE record (
    number INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, fate TEXT NOT NULL,
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE memory (
    scope TEXT NOT NULL, memory_id TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (scope, memory_id)) WITHOUT ROWID;
"""
_AT_ONCE: Final = 400
_NO_TIME: Final = datetime.fromtimestamp(0, UTC)
_PLAN, _BATCH, _BROKEN, _SEEN = "plan.sqlite", "batch.json", "broken.jsonl", "seen.json"


class AdoptionStaging:
    """What was read and planned, durable: each memory with its scope. Thread-safe.

    Every method blocks and may raise StateUnavailable.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._open: dict[str, sqlite3.Connection] = {}

    def seen(self) -> Mapping[str, str]:
        """Returns the marks of the stores that were read, by name."""
        try:
            content = json.loads((self._folder / _SEEN).read_text(encoding="utf-8"))
            return {str(name): str(mark) for name, mark in content["stores"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}  # then they are read again, and nothing new is found in them

    def note_seen(self, stores: Iterable[FoundStore]) -> None:
        """Note that these were read, and that what is new in them is staged."""
        with self._lock, _translated(self._folder):
            known = {**self.seen(), **{store.name: store.mark for store in stores}}
            self._write(self._folder / _SEEN, {"format": 1, "stores": known})

    def batches(self) -> Sequence[StagedBatch]:
        """Returns all batches, the oldest first."""
        found = []
        with contextlib.suppress(OSError):
            for path in sorted(self._folder.glob(f"*/{_BATCH}")):
                with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                    content = json.loads(path.read_text(encoding="utf-8"))
                    stores, count = tuple(map(str, content["stores"])), int(content["count"])
                    done = bool(content.get("done"))
                    if not path.parent.name.startswith("."):
                        found.append(StagedBatch(path.parent.name, stores, count, done))
        return found

    def stage(
        self,
        batch: str,
        plan: Plan,
        stores: Sequence[str],
        broken: Iterable[tuple[Planned, Foreign]],
    ) -> None:
        """Keep all of a plan, or nothing. ``broken`` are kept as they were read."""
        fresh = self._folder / f".new-{batch}"
        with self._lock, _translated(self._folder):
            for left in self._folder.glob(".new-*"):  # of a start that was killed
                shutil.rmtree(left, ignore_errors=True)
            try:
                make_folder(fresh)
                with contextlib.closing(_connected(fresh / _PLAN)) as database:
                    database.executescript(_TABLES)
                    with database:
                        _put_plan(database, plan)
                lines = [_broken_line(planned, record) for planned, record in broken]
                if lines:
                    replace_durably(fresh / _BROKEN, "".join(lines).encode())
                about = {
                    "format": 1,
                    "stores": list(stores),
                    "count": len(plan.planned),
                }
                self._write(fresh / _BATCH, about)
                move(fresh, self._folder / batch)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise

    def ids(self, batch: str) -> Sequence[str]:
        """Returns the ids of the planned records."""
        rows = self._rows(batch, "SELECT record_id FROM record ORDER BY number")
        return [str(record_id) for (record_id,) in rows]

    def planned(self, batch: str) -> Sequence[Planned]:
        """Returns what becomes of each record; it is kept for good."""
        rows = self._rows(
            batch, "SELECT record_id, fate, scope, memory_id, reason FROM record ORDER BY number"
        )
        return [_planned(row) for row in rows]

    def rows(
        self, batch: str, record_ids: Collection[str]
    ) -> Sequence[tuple[Planned, Memory | None]]:
        """Returns planned records with their memories: None for a broken one, or after
        ``finish``."""
        found: list[tuple[Planned, Memory | None]] = []
        for some in batched(record_ids, _AT_ONCE):
            rows = self._rows(
                batch,
                "SELECT record_id, fate, scope, memory_id, reason, text FROM record"  # noqa: S608
                " LEFT JOIN memory USING (scope, memory_id)"
                f" WHERE record_id IN ({_marks(some)}) ORDER BY number",
                some,
            )
            found += [(_planned(row), _memory(row[5])) for row in rows]
        return found

    def finish(self, batch: str) -> None:
        """Delete the memories of a batch that is in the vault. The planned records are kept, and
        so are the words of the broken ones."""
        folder = self._folder / batch
        with self._lock, _translated(self._folder):
            content = json.loads((folder / _BATCH).read_text(encoding="utf-8"))
            self._write(folder / _BATCH, {**content, "done": True})
            database = self._connection(batch)
            database.executescript("PRAGMA secure_delete=ON; DELETE FROM memory; VACUUM;")

    def forget(self, memory_ids: Collection[str]) -> None:
        """Take the ids of purged memories out of the plans; what became of the records is kept."""
        gone = [(name,) for name in memory_ids]
        for path in sorted(self._folder.glob(f"*/{_PLAN}")):
            with self._lock, _translated(self._folder):
                database = self._connection(path.parent.name)
                database.execute("PRAGMA secure_delete=ON")
                with database:
                    database.executemany(
                        "UPDATE record SET memory_id = '' WHERE memory_id = ?", gone
                    )
                    database.executemany("DELETE FROM memory WHERE memory_id = ?", gone)

    def place(self, batch: str) -> str:
        """Returns the file of its broken records, to be named to the owner."""
        return str(self._folder / batch / _BROKEN)

    def close(self) -> None:
        """Close the files. Idempotent."""
        with self._lock:
            for database in self._open.values():
                database.close()
            self._open.clear()

    def _rows(
        self, batch: str, question: str, values: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:
        with self._lock, _translated(self._folder):
            if not (self._folder / batch / _PLAN).is_file():
                return []
            return self._connection(batch).execute(question, tuple(values)).fetchall()

    def _connection(self, batch: str) -> sqlite3.Connection:
        if batch not in self._open:
            database = _connected(self._folder / batch / _PLAN)
            # An earlier release kept vectors here, and the texts that they were made of.
            database.executescript("PRAGMA secure_delete=ON; DROP TABLE IF EXISTS vector;")
            self._open[batch] = database
        return self._open[batch]

    def _write(self, path: Path, content: object) -> None:
        replace_durably(path, json.dumps(content, ensure_ascii=False).encode())


def _connected(path: Path) -> sqlite3.Connection:
    with contextlib.suppress(OSError):  # SQLite says what is wrong
        make_file(path)
    return sqlite3.connect(path, timeout=5.0, check_same_thread=False)


def _put_plan(database: sqlite3.Connection, plan: Plan) -> None:
    database.executemany(
        "INSERT INTO record (record_id, fate, scope, memory_id, reason) VALUES (?, ?, ?, ?, ?)",
        ((p.record_id, p.fate, p.scope, p.memory_id, p.reason) for p in plan.planned),
    )
    database.executemany(
        "INSERT INTO memory VALUES (?, ?, ?)",
        ((*place, render(memory)) for place, memory in plan.memories.items()),
    )


def _broken_line(planned: Planned, record: Foreign) -> str:
    """With the scope that it names, whatever stands there. Half pairs and bytes that are no text
    stand as JSON's escapes: none is lost."""
    content = {
        "reason": planned.reason,
        "scope": (record.fields or {}).get(SCOPE_KEY),
        "store": record.source,
        "id": record.record_id,
        "document": record.document,
        "fields": record.fields,
    }
    return json.dumps(content) + "\n"


def _planned(row: tuple[Any, ...]) -> Planned:
    record_id, fate, scope, memory_id, reason = row[:5]
    return Planned(record_id, fate, scope, memory_id, reason)


def _memory(text: str | None) -> Memory | None:
    return None if text is None else parse(text, fallback_time=_NO_TIME)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


@contextlib.contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, VaultWriteFailed, ValueError) as error:
        raise StateUnavailable(str(error), str(folder)) from error
