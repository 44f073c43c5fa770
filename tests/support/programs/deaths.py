"""The moments at which something became durable, counted; and a process that dies at one of them.

What lies between two of them is the same on disk, so that these are all the points at which a kill
makes a difference: before and after each fsync, each rename and each commit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory.storage import sqlite_file, state_store
from astrbot_plugin_scoped_memory.llm_memory.storage.transactions import all_or_nothing
from astrbot_plugin_scoped_memory.llm_memory.vault import ledger


class Deaths:
    """Counts them once it is ``armed``, and dies by SIGKILL at one; at none for 0."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0
        self.armed = False

    def point(self) -> None:
        """One of the moments."""
        if self.armed:
            self.count += 1
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """All that this process makes durable from now on."""
        os.fsync = self._around(os.fsync)
        os.replace = self._around(os.replace)
        Path.replace = self._around(Path.replace)  # type: ignore[method-assign]
        for module in (ledger, sqlite_file, state_store):
            module.all_or_nothing = self._transaction  # type: ignore[attr-defined]

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.point()
            done = call(*arguments, **options)
            self.point()
            return done

        return counted

    @contextlib.contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
        self.point()
        with all_or_nothing(connection) as inside:
            yield inside
        self.point()
