"""Looking into a SQLite file without leaving a trace on the disk."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def peek(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads what stands in the file, its write-ahead log included.

    An ordinary reader makes files beside the database and may checkpoint its log. So a file with a
    log is copied and the copy read; without the room for a copy, without the log.

    Raises:
        sqlite3.Error, OSError: there is nothing to read.
    """
    wal = path.with_name(path.name + "-wal")
    with contextlib.ExitStack() as stack:
        connection: sqlite3.Connection | None = None
        if wal.is_file() and wal.stat().st_size:
            with contextlib.suppress(OSError):
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                for source in (path, wal):
                    shutil.copyfile(source, folder / source.name)
                connection = sqlite3.connect(folder / path.name)
        if connection is None:
            # "immutable": SQLite assumes that no other program writes, and locks nothing.
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)
        stack.callback(connection.close)
        yield connection
