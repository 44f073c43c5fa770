"""Debounces files: tells which have not been written to for a while."""

from __future__ import annotations

from collections.abc import Callable

from ..vault.models import FileKey

type FileStamp = tuple[int, int, int] | None
"""A file's stamp; None if it did not exist."""


class WriteDebounce:
    """The caller asks about a waiting file in each round. A file that was not asked about in the
    round before starts over.

    ``elapsed``: monotonic seconds.
    """

    def __init__(self, seconds: float, elapsed: Callable[[], float]) -> None:
        self._seconds = seconds
        self._elapsed = elapsed
        self._since: dict[FileKey, tuple[FileStamp, float]] = {}
        self._asked: set[FileKey] = set()
        self._still_being_written: set[FileKey] = set()

    def begin_round(self) -> None:
        """Drop the files that were not asked about in the round before."""
        self._since = {key: self._since[key] for key in self._asked}
        self._asked = set()
        self._still_being_written = set()

    def rests(self, key: FileKey, file_stamp: FileStamp, *, age: float = 0.0) -> bool:
        """True if a file has had this stamp for long enough. ``age``: its known age in seconds,
        used when it is seen for the first time."""
        now = self._elapsed()
        before, since = self._since.get(key, (file_stamp, now - age))
        if before != file_stamp:
            since = now
        self._since[key] = file_stamp, since
        self._asked.add(key)
        rests = now - since >= self._seconds
        (self._still_being_written.discard if rests else self._still_being_written.add)(key)
        return rests

    @property
    def next_due(self) -> float | None:
        """Returns the seconds until the next waiting file is due; None if none waits."""
        if not self._still_being_written:
            return None
        oldest = min(self._since[key][1] for key in self._still_being_written)
        return max(0.0, oldest + self._seconds - self._elapsed())
