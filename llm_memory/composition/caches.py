"""What of a store can be thrown away, and is made anew from the files."""

from __future__ import annotations

import shutil

from ..errors import HomeError
from ..storage.files import is_link
from ..storage.retry import when_free
from ..texts import at
from .export_restore import owned
from .paths import EnginePaths


def discard_caches(paths: EnginePaths, version: str) -> None:
    """Remove what lies in the index folder, but for the vectors that were computed, perhaps for
    money. Blocks.

    Raises:
        DirectoryInUse, FormatNewer: Nothing was removed.
        HomeError: Something could not be removed, or the folder is a link.
    """
    with owned(paths, version=version):
        folder = paths.index
        if is_link(folder):
            raise HomeError(at(folder, "path.link"))
        try:
            for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
                # The files that SQLite keeps beside one begin with its name.
                if entry.name.startswith(paths.vectors.name):
                    continue
                if entry.is_dir() and not is_link(entry):
                    shutil.rmtree(entry)
                else:
                    when_free(entry.unlink)
        except OSError as error:
            raise HomeError(at(error.filename, "path.not_removed", why=error.strerror)) from error
