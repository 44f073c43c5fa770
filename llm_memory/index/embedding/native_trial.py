"""Runs ``main`` of the file that its argument names; a program of its own, which may die of it."""

from __future__ import annotations

import faulthandler
import os
import runpy
import sys
import threading

SECONDS = 200


def end_with_parent() -> None:
    """End this process when its parent is gone: that closes the pipe that is our standard input."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    # A thread of C's: it ends us even where the import hangs and holds the interpreter's lock.
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    threading.Thread(target=end_with_parent, daemon=True).start()
    runpy.run_path(sys.argv[1])["main"]()
    os._exit(0)  # a native library is not asked to end in order
