"""Notifies of changes below a folder, with ``watchfiles`` in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import stat
import sys
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .ports import WatchUnavailable

_STEP_MS = 300
"""The thread checks at this interval whether to stop."""
_FOREIGN = frozenset(
    {
        "9p", "afs", "ceph", "cifs", "drvfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
        "fuse.vmhgfs-fuse", "glusterfs", "lustre", "nfs", "nfs4", "prl_fs", "smb2", "smb3",
        "smbfs", "vboxsf", "vmhgfs",
    }
)  # fmt: skip
"""File systems that other machines write to: the kernel does not notify of that."""


class FolderWatcher:
    """Implements the ``Watcher`` port. ``watchfiles`` is imported when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def watch(
        self,
        started: Callable[[], None],
        changed: Callable[[], None],
        concerns: Callable[[Collection[str]], bool],
    ) -> None:
        loop = asyncio.get_running_loop()
        stop = threading.Event()

        def tell(what: Callable[[], None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(what)

        # A pool of its own: the default one has few threads, and this one stays occupied.
        with ThreadPoolExecutor(1, "scoped-memory-watch") as pool:
            work = loop.run_in_executor(
                pool, self._watch, stop, lambda: tell(started), lambda: tell(changed), concerns
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
        self,
        stop: threading.Event,
        started: Callable[[], None],
        changed: Callable[[], None],
        concerns: Callable[[Collection[str]], bool],
    ) -> None:
        """Blocks. Raises WatchUnavailable."""
        watched = _identity(self._folder)
        if watched is None:
            raise WatchUnavailable("no such folder")
        kind = file_system_of(self._folder)
        if kind in _FOREIGN:
            raise WatchUnavailable(f"file system {kind}")
        try:
            from watchfiles import watch

            # No filter: the reconciler recognises editors' own files.
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
            warned = False
            for batch in batches:
                if not warned:
                    started()
                    warned = True
                if batch and concerns([path for _, path in batch]):
                    changed()
                # A folder that was moved away, or has another disk mounted over it, is still the
                # one watched, and changes in its replacement would not be reported.
                if _identity(self._folder) != watched:
                    raise WatchUnavailable("another folder is in its place")
        except (ImportError, OSError, RuntimeError) as error:
            # watchfiles wraps the system's errors, such as a full table of watches.
            raise WatchUnavailable(str(error) or type(error).__name__) from error


def _identity(folder: Path) -> tuple[int, int] | None:
    """Returns what distinguishes a folder from another of its name; None if there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def file_system_of(folder: Path) -> str:
    """Returns the type of the file system of a folder, empty if unknown."""
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
