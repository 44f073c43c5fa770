"""Which files nobody has written to for a while."""

from __future__ import annotations

from collections.abc import Callable

from ..vault.models import FileKey

type FileStamp = tuple[int, int, int] | None
"""What a file looked like; None if it was not there."""


class WriteDebounce:
    """A file is asked about in each round in which somebody waits for it. One that nobody asked
    about in the round before begins anew.

    ``elapsed``: seconds that never go back.
    """

    def __init__(self, seconds: float, elapsed: Callable[[], float]) -> None:
        self._seconds = seconds
        self._elapsed = elapsed
        self._since: dict[FileKey, tuple[FileStamp, float]] = {}
        self._asked: set[FileKey] = set()
        self._still_being_written: set[FileKey] = set()

    def begin_round(self) -> None:
        """Let go of the files that nobody waits for any more."""
        self._since = {key: self._since[key] for key in self._asked}
        self._asked = set()
        self._still_being_written = set()

    def rests(self, key: FileKey, file_stamp: FileStamp, *, age: float = 0.0) -> bool:
        """True if a file has looked like this for long enough. ``age``: so many seconds it is known
        to have, if this is the first that we see of it."""
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
        """Seconds until the next one of them has rested long enough; None if none is waited for."""
        if not self._still_being_written:
            return None
        oldest = min(self._since[key][1] for key in self._still_being_written)
        return max(0.0, oldest + self._seconds - self._elapsed())
