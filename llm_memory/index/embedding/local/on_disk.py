"""Where a local model lies; where it does not, it is fetched behind the bot."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ....errors import EmbeddingFailed
from ...child.process import Child, ChildFailed
from ...child.program import Json
from .folder import fetched_folder, folder_of, is_hub_name

_LISTING_SECONDS: Final = 120.0
_RETRY_SECONDS: Final = 600.0


class ModelOnDisk:
    """A folder is taken as it is. A name is looked for on disk; if it is not there, ``which``
    starts a download in a process of its own, and raises until that is done.

    Reasons: ``downloading``, ``download_failed``, ``not_on_disk``, ``no_such_folder``.

    Args:
        name_or_folder: A folder, or a model's name on the hub.
        fetched: Where downloads are kept.
        mirror: The hub's address, empty for the usual one; None never downloads.
        program: Makes the program that fetches.
        seconds: The deadline of a download.
    """

    def __init__(
        self,
        name_or_folder: str,
        fetched: Path,
        *,
        mirror: str | None,
        program: Callable[[], Child],
        seconds: float = 3600.0,
    ) -> None:
        self._name = name_or_folder
        self._fetched = fetched
        self._mirror = mirror
        self._program = program
        self._seconds = seconds
        self._download: asyncio.Task[None] | None = None
        self._began = 0.0
        self._ended = 0.0
        self._bytes = 0.0
        self._failure = ""

    @property
    def label(self) -> str:
        return f"local:{Path(self._name).name}"

    async def which(self) -> Mapping[str, Json]:
        folder = await asyncio.to_thread(folder_of, self._name, self._fetched)
        if folder is not None and (self._download is None or self._download.done()):
            return {"kind": "model", "folder": str(folder), "name": self._name}
        if not is_hub_name(self._name):
            raise EmbeddingFailed(f"no_such_folder: {self._name}")
        if self._mirror is None or "/" not in self._name:  # it may be a service that is gone
            raise EmbeddingFailed("not_on_disk: and downloads are off")
        now = asyncio.get_running_loop().time()
        over = self._download is not None and self._download.done()
        if self._download is None or (over and now - self._ended > _RETRY_SECONDS):
            self._began, over = now, False
            self._download = asyncio.create_task(self._fetch(self._mirror), name="model download")
        if over:
            raise EmbeddingFailed(f"download_failed: {self._failure}")
        there = await asyncio.to_thread(_size, fetched_folder(self._name, self._fetched))
        of = f" of {self._bytes / 1e6:.0f}" if self._bytes else ""
        raise EmbeddingFailed(
            f"downloading: {there / 1e6:.0f}{of} MB after {now - self._began:.0f} s"
        )

    async def close(self) -> None:
        """Ends a download. Idempotent."""
        if self._download is not None:
            self._download.cancel()
            await asyncio.wait({self._download})

    async def _fetch(self, mirror: str) -> None:
        folder = fetched_folder(self._name, self._fetched)
        asked: dict[str, Json] = {"name": self._name, "folder": str(folder), "mirror": mirror}
        # A program of ours is told of no proxy, for Chroma's sake: here the owner's own words hold.
        asked["no_proxy"] = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
        program = self._program()
        self._failure = "the files are not where they should be"
        try:
            async with asyncio.timeout(self._seconds):
                ask = asyncio.to_thread(program.ask, "list", asked, seconds=_LISTING_SECONDS)
                found, _ = await ask
                files = found["files"]
                sizes = files.values() if isinstance(files, dict) else ()
                self._bytes = sum(size for size in sizes if isinstance(size, int))
                await asyncio.to_thread(
                    program.ask, "fetch", {**asked, **found}, seconds=self._seconds
                )
        except ChildFailed as failed:
            self._failure = str(failed)
        except TimeoutError:
            self._failure = f"not done after {self._seconds:g} s"
        finally:
            await asyncio.to_thread(program.close)
            self._ended = asyncio.get_running_loop().time()


def _size(folder: Path) -> int:
    """Bytes that are there of a model that is not whole yet."""
    found = 0
    for path in folder.with_name(f"{folder.name}.part").rglob("*"):
        with contextlib.suppress(OSError):  # renamed while we look
            found += path.stat().st_size if path.is_file() else 0
    return found
