"""Markdown that lies in the memory root itself, as an older layout had it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from ...errors import StateUnavailable
from ...models.scope import ROOT_NOTES
from ...models.status import Notice
from ...models.vault_layout import MEMORY_PAGE, is_dated, may_be_note
from ...models.workflow import WORKFLOW
from ...runtime.notice_board import NoticeBoard
from ...storage.state_store import SqliteStateStore
from ..folder_walk import Listing, list_files

_NAMED: Final = 3
"""Files: there may be one for each day of years."""


def is_root_note(root: Path, path: str) -> bool:
    """Returns whether such a file of the root is a note. A project's own folder has a README and
    more: there, only what the older layout had is one. Blocks."""
    if not may_be_note(ROOT_NOTES, path):
        return False
    return path == MEMORY_PAGE or is_dated(path) or not os.path.lexists(root / WORKFLOW)


def listed_in_root(root: Path) -> Listing:
    """Looks into ``memory/`` and no other folder. Undecodable names are left out: they may be
    those of any files of a project. Blocks."""
    found = list_files(root, partial(is_root_note, root), lambda folder: folder == "memory")
    return replace(found, misnamed=())


def notes_in_root(root: Path) -> dict[str, Path]:
    """Returns the files by their path in the root. Blocks."""
    return {path.relative_to(root).as_posix(): path for path in listed_in_root(root).files}


def named(files: Sequence[str]) -> str:
    """Returns the first few names, in a line."""
    return ", ".join(files[:_NAMED]) + (", …" if len(files) > _NAMED else "")


class RootNotices:
    """One notice, which stands as long as there are such files, and is said when the first ones are
    seen: not at every start."""

    def __init__(self, notices: NoticeBoard, state: SqliteStateStore, *, reads_root: bool) -> None:
        """``reads_root``: they are read, as a project's notes."""
        self._notices = notices
        self._state = state
        self._code = "root_read" if reads_root else "root_unread"
        self._said: bool | None = None

    async def post(self, files: Sequence[str]) -> None:
        """Have the notice stand for these files; without any, take it down."""
        said, self._said = self._said, bool(files)
        with suppress(StateUnavailable):  # then it is said once more
            if said is None:
                said = self._code in await asyncio.to_thread(self._state.marks)
            if said != bool(files):
                await asyncio.to_thread(self._state.set_mark, self._code, there=bool(files))
        if not files:
            self._notices.clear(self._code)
            return
        notice = Notice(self._code, params={"files": named(files)})
        self._notices.post(notice, said=bool(said))
