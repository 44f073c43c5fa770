"""Debounces files: tells which have not been written to for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..storage.files import Stamp
from ..vault.models import FileKey


@dataclass(eq=False)
class WriteDebounce:
    """The caller asks about a waiting file in each round. A file that was not asked about in the
    round before starts over."""

    _seconds: float
    _elapsed: Callable[[], float]
    """Returns monotonic seconds."""
    _before: dict[FileKey, tuple[Stamp | None, float]] = field(default_factory=dict)
    _asked: dict[FileKey, tuple[Stamp | None, float]] = field(default_factory=dict)
    _waiting: set[FileKey] = field(default_factory=set)

    def begin_round(self) -> None:
        """Drop the files that were not asked about in the round before."""
        self._before, self._asked, self._waiting = self._asked, {}, set()

    def rests(self, key: FileKey, stamp: Stamp | None, *, age: float = 0.0) -> bool:
        """True if a file has had this stamp for long enough; None: if it has been away. ``age``:
        its known age in seconds, used when it is seen for the first time."""
        now = self._elapsed()
        before, since = self._before.get(key, (stamp, now - age))
        self._asked[key] = stamp, since if before == stamp else now
        rests = now - self._asked[key][1] >= self._seconds
        (self._waiting.discard if rests else self._waiting.add)(key)
        return rests

    @property
    def next_due(self) -> float | None:
        """Returns the seconds until the next waiting file is due; None if none waits."""
        if not self._waiting:
            return None
        oldest = min(self._asked[key][1] for key in self._waiting)
        return max(0.0, oldest + self._seconds - self._elapsed())
