"""A line on stderr that says how far something is: drawn over on a terminal, else now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

_WIDTH: Final = 30
_REDRAWN_SECONDS: Final = 0.2
_SAID_SECONDS: Final = 10.0


class ProgressLine:
    """A context: what it has drawn ends with its block.

    Args:
        stream: A terminal, or a file.
        clock: Monotonic seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._drawn = stream.isatty()
        self._said = clock()
        self._open = False
        self._last: tuple[str, int, int] | None = None

    def show(self, what: str, done: int, total: int) -> None:
        """Say that ``done`` of ``total`` are done of ``what``."""
        if (what, done, total) == self._last or not total:
            return
        now = self._clock()
        new = self._last is None or self._last[0] != what
        seconds = _REDRAWN_SECONDS if self._drawn else _SAID_SECONDS
        if now - self._said < seconds and not (self._drawn and (new or done == total)):
            return
        self._said, self._last = now, (what, done, total)
        if not self._drawn:
            self._write(f"{what} {done}/{total}\n")
            return
        filled = _WIDTH * done // total
        bar = "#" * filled + "." * (_WIDTH - filled)
        # The end of a longer line that stood there is erased.
        self._write(f"\r{what} [{bar}] {done}/{total}\x1b[K")
        self._open = True

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            self._write("\n")
            self._open = False
