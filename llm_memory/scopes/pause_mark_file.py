"""The mark of the pauses, ``memory/.pauses.json``: it stays where ``state/`` is exchanged, and so
shows that pauses were lost. The pauses themselves stand in ``state/loop.sqlite``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final, TypeGuard

from ..log import logger
from ..models.loop import PauseMark
from ..storage.files import replace_durably

NAME: Final = ".pauses.json"
_MOST_BYTES: Final = 8 * 1024 * 1024
_HASH: Final = re.compile(r"[0-9a-f]{32}")


class PauseMarkFile:
    """The mark in its file. Both methods block."""

    def __init__(self, folder: Path) -> None:
        """``folder``: where the memories lie."""
        self._path = folder / NAME

    def read(self) -> PauseMark | None:
        """Returns the mark; None for none, or for one that cannot be read."""
        try:
            if not self._path.is_file():  # a pipe would hold us up
                return None
            with self._path.open("rb") as file:
                return _parsed(json.loads(file.read(_MOST_BYTES)))
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("pause_mark_unread", name=self._path.name, error=repr(error))
            return None

    def write(self, mark: PauseMark) -> None:
        """On disk when it returns. Raises VaultWriteFailed."""
        paused = {scope: sorted(found) for scope, found in sorted(mark.paused.items())}
        content = {"generation": mark.generation, "paused": paused}
        replace_durably(self._path, (json.dumps(content, ensure_ascii=False) + "\n").encode())


class ForgetfulPauseMark(PauseMarkFile):
    """For an engine without conversations: it knows no pauses, and leaves the file alone."""

    def __init__(self) -> None:
        """Needs no folder."""

    def read(self) -> PauseMark | None:
        return None

    def write(self, mark: PauseMark) -> None:
        pass


def _parsed(content: object) -> PauseMark:
    """Raises ValueError for what is no mark."""
    fields = content if isinstance(content, dict) else {}
    generation, paused = fields.get("generation"), fields.get("paused")
    if not _is_count(generation) or not isinstance(paused, dict):
        raise ValueError("no mark of pauses")
    if not all(map(_are_hashes, paused.values())):
        raise ValueError("no mark of pauses")
    return PauseMark(generation, {scope: frozenset(found) for scope, found in paused.items()})


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0  # True is an int, too


def _are_hashes(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, str) and _HASH.fullmatch(one) is not None for one in value
    )
