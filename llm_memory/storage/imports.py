"""Importing a package that another thread may be importing at this very moment."""

from __future__ import annotations

import importlib
import importlib.util
import time

_TRIES = 50
_PAUSE_SECONDS = 0.1


def import_whole(name: str) -> None:
    """Import a module; blocks.

    Two threads that import one package from different ends wait for each other; Python ends that
    by handing one of them a half of it, as an ImportError. Once the other is done it works.

    Raises:
        ImportError: it is not there, or still broken after five seconds.
    """
    for _ in range(_TRIES):
        try:
            importlib.import_module(name)
        except ImportError:
            if importlib.util.find_spec(name.partition(".")[0]) is None:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return
    importlib.import_module(name)
