"""Where a local model lies; where it does not, it is fetched behind the bot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ....errors import EmbeddingFailed
from ...child.process import Child, ChildFailed
from ...child.program import Json
from .folder import TOTAL, fetched_folder, folder_of, is_hub_name, unfinished

PROGRAM: Final = "llm_memory.index.embedding.program"
_SECONDS: Final = 3600.0
"""The deadline of a download."""
_RETRY_SECONDS: Final = 600.0


class ModelOnDisk:
    """A folder is taken as it is. A name is looked for on disk; if it is not there, ``where``
    starts a download in a process of its own, and raises until that is done.

    Reasons: ``downloading``, ``download_failed``, ``not_on_disk``, ``no_such_folder``.

    Args:
        name_or_folder: A folder, or a model's name on the hub.
        fetched: Where downloads are kept.
        mirror: The hub's address, empty for the usual one; None never downloads.
    """

    def __init__(self, name_or_folder: str, fetched: Path, *, mirror: str | None) -> None:
        self.label = f"local:{Path(name_or_folder).name}"
        self._name = name_or_folder
        self._fetched = fetched
        self._mirror = mirror
        self._download: asyncio.Task[None] | None = None
        self._failed = ""

    async def where(self) -> Mapping[str, Json]:
        """``folder`` and ``name``. Raises EmbeddingFailed: not now."""
        folder = await asyncio.to_thread(folder_of, self._name, self._fetched)
        if folder is not None:
            return {"folder": str(folder), "name": self._name}
        if not is_hub_name(self._name):
            raise EmbeddingFailed(f"no_such_folder: {self._name}")
        if self._mirror is None or "/" not in self._name:  # it may be a service that is gone
            raise EmbeddingFailed("not_on_disk: and downloads are off")
        if self._download is None or self._download.done():
            self._failed = ""
            self._download = asyncio.create_task(self._fetch(self._mirror), name="model download")
        if self._failed:
            raise EmbeddingFailed(f"download_failed: {self._failed}")
        part = unfinished(fetched_folder(self._name, self._fetched))
        there, total = await asyncio.to_thread(_progress, part)
        raise EmbeddingFailed(f"downloading: {there / 1e6:.0f} of {total / 1e6:.0f} MB")

    async def close(self) -> None:
        """Ends a download. Idempotent."""
        if self._download is not None:
            self._download.cancel()
            await asyncio.wait({self._download})

    async def _fetch(self, mirror: str) -> None:
        """Ends once it may be begun anew."""
        asked: dict[str, Json] = {
            "name": self._name,
            "folder": str(fetched_folder(self._name, self._fetched)),
            "mirror": mirror,
        }
        program, failed = Child(PROGRAM), "the files are not where they should be"
        try:
            await asyncio.to_thread(program.ask, "fetch", asked, seconds=_SECONDS)
        except ChildFailed as error:
            failed = str(error)
        finally:
            await asyncio.to_thread(program.close)
        self._failed = failed
        await asyncio.sleep(_RETRY_SECONDS)


def _progress(part: Path) -> tuple[int, int]:
    """Bytes that are there of a model that is not whole yet, and that there will be."""
    there = total = 0
    for path in part.rglob("*"):
        with contextlib.suppress(OSError, ValueError):  # renamed while we look
            there += path.stat().st_size if path.is_file() else 0
            total = int(path.read_text()) if path.name == TOTAL else total
    return there, total
