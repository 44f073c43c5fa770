"""Tells of changes below a folder, over ``watchfiles``, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import stat
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .ports import WatchUnavailable

_STEP_MS = 300
"""The thread looks this often whether it is to end."""
_FOREIGN = frozenset(
    {
        "9p", "afs", "ceph", "cifs", "drvfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
        "fuse.vmhgfs-fuse", "glusterfs", "lustre", "nfs", "nfs4", "prl_fs", "smb2", "smb3",
        "smbfs", "vboxsf", "vmhgfs",
    }
)  # fmt: skip
"""File systems that others write to behind this machine's back: nobody tells of that."""


class FolderWatcher:
    """Implements the ``Watcher`` port. ``watchfiles`` is imported when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def watch(self, started: Callable[[], None], changed: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        stop = threading.Event()

        def tell(what: Callable[[], None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens
                loop.call_soon_threadsafe(what)

        # A pool of its own: the common one has few threads, and this one is taken for good.
        with ThreadPoolExecutor(1, "scoped-memory-watch") as pool:
            work = loop.run_in_executor(
                pool, self._watch, stop, lambda: tell(started), lambda: tell(changed)
            )
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                stop.set()
                await asyncio.wait([work])
                raise
            finally:
                stop.set()
        raise WatchUnavailable("it ended by itself")

    def _watch(
        self, stop: threading.Event, started: Callable[[], None], changed: Callable[[], None]
    ) -> None:
        """Blocks. Raises WatchUnavailable."""
        watched = _identity(self._folder)
        if watched is None:
            raise WatchUnavailable("no such folder")
        kind = _kind_of(self._folder)
        if kind in _FOREIGN:
            raise WatchUnavailable(f"file system {kind}")
        try:
            from watchfiles import watch

            # No filter: what is an editor's own file is known when the files are looked at.
            batches = watch(
                self._folder,
                watch_filter=None,
                debounce=4 * _STEP_MS,
                step=_STEP_MS,
                stop_event=stop,
                rust_timeout=_STEP_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
                force_polling=False,
                ignore_permission_denied=True,
            )
            is_told = False
            for batch in batches:
                if not is_told:
                    started()
                    is_told = True
                if batch:
                    changed()
                # What was moved away, or lies below a disk that was put in its place, is watched
                # on, and of what stands there now nobody would tell.
                if _identity(self._folder) != watched:
                    raise WatchUnavailable("another folder is in its place")
        except (ImportError, OSError, RuntimeError) as error:
            # watchfiles wraps what the system says; a full table of watches is one of these.
            raise WatchUnavailable(str(error) or type(error).__name__) from error


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one of its name; None where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _kind_of(folder: Path) -> str:
    """The file system that a folder lies on, empty where that cannot be told."""
    if not sys.platform.startswith("linux"):
        return ""
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", errors="surrogateescape")
        real = str(folder.resolve())
    except OSError:
        return ""
    longest, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].replace("\\040", " ")
        inside = point == "/" or real == point or real.startswith(f"{point}/")
        if inside and len(point) >= len(longest):
            longest, kind = point, after.split(" ")[0]
    return kind
