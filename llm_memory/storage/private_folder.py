"""A folder of ours that the bot's user alone may look into, unless its owner wants otherwise.

Everybody else's rights are taken from it and all below it, once in its life: ``MARK`` is written
into it then. What is not ours to change, or lies on a disk that takes no changes, stays as it is.
Nothing is done on Windows, where a user's folders are private by themselves.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from .files import OTHERS, replace_durably

MARK: Final = ".private"
_TEXT: Final = (
    "这个文件夹已设为只有运行机器人的用户能读。权限可以自己改，改了就留着；新文件跟着所在文件夹的权限。\n"
    "This folder was made readable by the bot's user alone. Change the modes as you like: they"
    " stay, and new files follow the mode of their folder.\n"
)


def restrict_folder(folder: Path) -> None:
    """Take the rights from the folder itself: from now on no other user reaches what is in it.
    Blocks, for no longer than a look at one file takes."""
    if _is_new(folder):
        _take_from(str(folder.resolve()))


def restrict_contents(folder: Path) -> None:
    """Take them from all that is in it, and note that this was done. Blocks."""
    if not _is_new(folder):
        return
    top = str(folder.resolve())
    _take_from(top)
    for path in _below(top):
        _take_from(path)
    try:
        replace_durably(folder / MARK, _TEXT.encode())
    except VaultWriteFailed as error:
        logger.debug("the mark of a private folder was not written: {}", error)


def _is_new(folder: Path) -> bool:
    return os.name != "nt" and not (folder / MARK).exists()


def _below(top: str) -> Iterator[str]:
    """Every folder and file, a folder before what is in it: what the bot makes there meanwhile
    follows the folder. Links are passed by: what they lead to is not ours."""
    waiting = [top]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    continue
                yield entry.path
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _take_from(path: str) -> None:
    with contextlib.suppress(OSError):
        mode = os.lstat(path).st_mode
        if mode & OTHERS and (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            os.chmod(path, stat.S_IMODE(mode) & ~OTHERS)  # noqa: PTH101
