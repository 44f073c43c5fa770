"""Keeps what the nightly consolidation has compared and which days have a journal, in
``state/loop.sqlite``.

Every method blocks, and raises StateUnavailable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from ..storage.loop_file import SqliteLoopFile
from ..storage.sqlite_file import sound

_OF_A_MEMORY: Final = ("evidence", "sleep_compared")


class SqliteSleepStore:
    """Stores the texts that were compared."""

    def __init__(self, file: SqliteLoopFile) -> None:
        self._file = file

    def compared(self, scope: str) -> Mapping[str, str]:
        """Returns by memory id the digests of texts that were compared with their neighbours."""
        rows = self._file.rows(
            "SELECT memory_id, digest FROM sleep_compared WHERE scope = ?", (scope,)
        )
        return {str(name): str(digest) for name, digest in rows}

    def note_compared(self, scope: str, digests: Mapping[str, str], gone: Collection[str]) -> None:
        """Record these, and delete those that are gone."""
        with self._file.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO sleep_compared VALUES (?, ?, ?)",
                [(scope, sound(name), digest) for name, digest in digests.items()],
            )
            connection.executemany(
                "DELETE FROM sleep_compared WHERE scope = ? AND memory_id = ?",
                [(scope, name) for name in gone],
            )

    def forget(self, memory_ids: Iterable[str]) -> None:
        """Delete the digests and counts of purged memories."""
        names = list(memory_ids)
        with self._file.transaction() as connection:
            for table in _OF_A_MEMORY:
                connection.executemany(
                    f"DELETE FROM {table} WHERE memory_id = ?",  # noqa: S608  (names of ours)
                    [(name,) for name in names],
                )
