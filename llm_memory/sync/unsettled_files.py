"""Finds files to defer until no program writes to them any more.

An editor may empty a file and fill it again bit by bit, and a sync client may write into it in
place. Read meanwhile, the file lacks entries that were not deleted; and a rewrite would lose the
rest that is still to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..storage.files import Stamp
from ..vault.models import Changes, FileKey, KnownEntry, SeenFile


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


def files_to_defer(changes: Changes) -> set[FileKey]:
    """Returns the files with missing entries, and those that need a write other than ids: while a
    file waits for ids only, its content is applied."""
    lost = {entry.file for entry in (*changes.vanished, *changes.held) if not entry.held}
    return lost | {key for key, repair in changes.repairs.items() if repair.needs_rewrite}


def tied(
    keys: Collection[FileKey],
    seen: Sequence[SeenFile],
    known: Mapping[FileKey, Sequence[KnownEntry]],
) -> set[FileKey]:
    """Returns ``keys`` and, transitively, every file that shares an entry with one of them: a
    change to one can only be explained with the others."""
    ids = {key: {entry.memory_id for entry in entries} for key, entries in known.items()}
    for file in seen:
        ids.setdefault(file.key, set()).update(e.memory.memory_id for e in file.entries)
    found, more = set[FileKey](), set(keys)
    while more:
        found |= more
        shared = set[str]().union(*(ids.get(key, ()) for key in more))
        more = {key for key in ids.keys() - found if not shared.isdisjoint(ids[key])}
    return found
