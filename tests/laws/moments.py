"""A folder as a kill leaves it, at each moment at which a deed made something durable.

What lies between two of these moments is the same on disk. So the folder, copied there while the
deed goes on undisturbed, is what kill -9 leaves at that moment, and no process has to be killed to
see it::

    with watched() as watch:                      # before the engine opens its files
        async with running(root) as rig:
            with watch.copying(root, into) as copies:
                await rig.engine.service.forget(...)
    for moment in copies:
        ...                                       # open moment.root, and judge it

Nothing here names a module of the product: names on the disk and fsync pass through ``os``, commits
through ``sqlite3``.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

_CALLS = ("replace", "rename", "unlink", "remove", "mkdir", "rmdir", "link", "truncate")
"""Of ``os``: after each of them the disk is another one."""
_HARMLESS = ("SELECT", "BEGIN", "ROLLBACK", "WITH")

type Stamp = tuple[int, int, int]
"""A file's number on the disk, its size, and when it was written."""


@dataclass(frozen=True)
class Moment:
    """What a kill leaves. The moment ``number`` 0 is before anything was changed.

    Attributes:
        root: The copy; whoever judges it may change it.
        acknowledged: What had been acknowledged by then, see ``Copies.acknowledge``.
        torn: The file that the kill came in the middle of, where it left half of what was appended.
    """

    number: int
    root: Path
    acknowledged: frozenset[str] = frozenset()
    torn: str = ""


class Watch:
    """Tells one listener of each moment, before and after what makes a difference on the disk."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._listener: Callable[[], None] | None = None
        self.synced: set[Stamp] = set()
        """Every file as it was when it was synced."""

    @contextlib.contextmanager
    def telling(self, listener: Callable[[], None]) -> Iterator[None]:
        """It is called at each moment of the block, in the thread that makes the difference. What
        it does on the disk is no moment itself."""
        with self._lock:
            self._listener = listener
        try:
            yield
        finally:
            with self._lock:
                self._listener = None

    @contextlib.contextmanager
    def copying(
        self,
        root: Path,
        into: Path,
        *,
        at: int | None = None,
        most: int | None = None,
        torn: bool = False,
    ) -> Iterator[Copies]:
        """Copies of ``root`` below ``into``, one for each moment of the block.

        Args:
            at: Only the moment with this number; the last one, if it has fewer.
            most: Of all moments so many, and up to twice as many, evenly spread; first and last
                are always there. None for all of them.
            torn: Also the middle of each write that appends to a text file, which a kill can come
                into where it is larger than a page.
        """
        copies = Copies(root, into, at, most, torn=torn)
        with self._lock:
            before = _stamps(root)
        with self.telling(copies.look):
            self.point()
            yield copies
            self.point()
        with self._lock:
            copies.end()
            after = _stamps(root)
        copies.unsynced = [
            name
            for name, stamp in after.items()
            if stamp != before.get(name) and stamp[1] and stamp not in self.synced
        ]

    def point(self) -> None:
        """One of the moments."""
        with self._lock:
            listener, self._listener = self._listener, None
            if listener is None:
                return
            try:
                listener()
            finally:
                self._listener = listener

    def around[**P, R](self, call: Callable[P, R], *, alone: bool = True) -> Callable[P, R]:
        """The same call, with a moment before and one after it. Unless it may wait for another
        thread, it is ``alone``: no copy is made in the middle of it."""

        def told(*arguments: P.args, **named: P.kwargs) -> R:
            with self._lock if alone else contextlib.nullcontext():
                self.point()
                done = call(*arguments, **named)
                self.point()
            return done

        return told


class Copies:
    """Of one folder, in the order of time: to be gone through once the deed is done."""

    def __init__(
        self, root: Path, into: Path, at: int | None, most: int | None, *, torn: bool
    ) -> None:
        self.count = 0
        """The moments by now, copied or not."""
        self.unsynced: list[str] = []
        """What the deed has written, and a power cut may take: SQLite syncs its own."""
        self._root = root
        self._into = into
        self._at = at
        self._most = most
        self._torn = torn
        self._each = 1
        self._kept: list[Moment] = []
        self._acknowledged: frozenset[str] = frozenset()
        self._seen: dict[str, Stamp] | None = None

    def __iter__(self) -> Iterator[Moment]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, place: int) -> Moment:
        return self._kept[place]

    def acknowledge(self, *facts: str) -> None:
        """Somebody was told so: it holds at every later moment."""
        self._acknowledged |= set(facts)

    def look(self) -> None:
        """Copy the folder if anything in it has changed since the last look."""
        found = _stamps(self._root)
        if found == self._seen:
            return
        grown = self._grown(found) if self._torn else {}
        self._seen = found
        if len(grown) == 1:
            ((name, size),) = grown.items()
            self._add(name, size)
        self._add()

    def end(self) -> None:
        """The deed is done, and all of it acknowledged: the last moment, whatever was chosen."""
        if self._at is not None and self._kept:
            return
        if self._kept and self._kept[-1].number == self.count - 1:
            self._kept[-1] = replace(self._kept[-1], acknowledged=self._acknowledged)
        else:
            self._kept.append(self._copy(self.count - 1))

    def _grown(self, found: dict[str, Stamp]) -> dict[str, int]:
        """Text files to which something was appended: their size with half of it. SQLite mends its
        files by itself, and says so."""
        seen = self._seen or {}
        return {
            name: (before[1] + now[1]) // 2
            for name, now in found.items()
            if (before := seen.get(name)) and ".sqlite" not in name
            if before[0] == now[0] and before[1] + 1 < now[1]
        }

    def _add(self, torn: str = "", size: int = 0) -> None:
        number = self.count
        self.count += 1
        if number != self._at if self._at is not None else number % self._each:
            return
        self._kept.append(self._copy(number, torn, size))
        if self._most is not None and len(self._kept) > 2 * self._most:
            for moment in self._kept[1::2]:
                shutil.rmtree(moment.root)
            self._kept = self._kept[::2]
            self._each *= 2

    def _copy(self, number: int, torn: str = "", size: int = 0) -> Moment:
        target = self._into / f"{number:04d}"
        shutil.copytree(self._root, target, symlinks=True)
        if torn:
            os.truncate(target / torn, size)
        return Moment(number, target, self._acknowledged, torn)


def _stamps(root: Path) -> dict[str, Stamp]:
    """Each file's and folder's number on the disk, size and time of the last change."""
    found: dict[str, Stamp] = {}
    folders = [root]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                is_folder = entry.is_dir(follow_symlinks=False)
                what = (0, 0) if is_folder else (status.st_size, status.st_mtime_ns)
                found[os.path.relpath(entry.path, root)] = (status.st_ino, *what)
                if is_folder:
                    folders.append(Path(entry.path))
    return found


def _connections(watch: Watch) -> type[sqlite3.Connection]:
    """Connections whose commits are moments."""

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            return self._told(sql, super().execute)(sql, parameters)

        def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
            return self._told(sql, super().executemany)(sql, parameters)

        def executescript(self, sql_script: str, /) -> sqlite3.Cursor:
            return self._told("", super().executescript)(sql_script)

        def commit(self) -> None:
            watch.around(super().commit)()

        def close(self) -> None:
            watch.around(super().close)()

        def _told[**P](
            self, statement: str, call: Callable[P, sqlite3.Cursor]
        ) -> Callable[P, sqlite3.Cursor]:
            begins = statement.lstrip()[:8].upper()
            if begins.startswith("COMMIT"):
                return watch.around(call)
            if self.in_transaction or begins.startswith(_HARMLESS):
                return call
            return watch.around(call, alone=False)  # it may wait for another connection's lock

    return Connection


@contextlib.contextmanager
def watched() -> Iterator[Watch]:
    """Everything that is made durable in the block, through files that are opened in it."""
    watch = Watch()

    connection = _connections(watch)
    connect, open_file, sync, open_stream = sqlite3.connect, os.open, os.fsync, io.open

    def connected(*arguments: Any, **named: Any) -> sqlite3.Connection:
        return connect(*arguments, factory=connection, **named)

    def opened(path: Any, flags: int, *more: Any, **named: Any) -> int:
        call = watch.around(open_file) if flags & os.O_CREAT else open_file
        return call(path, flags, *more, **named)

    def synced(descriptor: int) -> None:
        status = os.fstat(descriptor)
        watch.around(sync)(descriptor)
        watch.synced.add((status.st_ino, status.st_size, status.st_mtime_ns))

    def streamed(file: Any, mode: Any = "r", *more: Any, **named: Any) -> Any:
        call = watch.around(open_stream) if "w" in mode else open_stream  # it is empty by then
        return call(file, mode, *more, **named)

    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.object(os, "fsync", synced))
        patches.enter_context(mock.patch.object(io, "open", streamed))
        for name in _CALLS:
            patches.enter_context(mock.patch.object(os, name, watch.around(getattr(os, name))))
        patches.enter_context(mock.patch.object(sqlite3, "connect", connected))
        patches.enter_context(mock.patch.object(os, "open", opened))
        yield watch
