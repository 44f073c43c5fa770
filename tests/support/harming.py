"""What breaks the files of an index, or holds them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def fill_with_garbage(path: Path) -> None:
    """As long as before, and other bytes."""
    path.write_bytes(random.Random(7).randbytes(path.stat().st_size))


def truncate(path: Path) -> None:
    """The first half remains."""
    os.truncate(path, path.stat().st_size // 2)


@contextmanager
def held(database: Path) -> Iterator[None]:
    """Another process has the database in a transaction."""
    command = [sys.executable, "-P", "-c", HOLDER, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.stdin.close()
        holder.wait()
