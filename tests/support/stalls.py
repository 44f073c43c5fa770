"""What an event loop does in one turn."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType
from typing import Final, Self


class LoopSteps:
    """``with LoopSteps() as steps``: counts the calls that this thread, an event loop's, makes
    between one turn of the loop and the next, those of built-in functions included. A count, and no
    time: it is the same on any machine.

    Attributes:
        most: The most in one turn.
        turns: How many turns passed.
        ran: The names of all functions that ran on this thread.
    """

    _TURN: Final = asyncio.BaseEventLoop._run_once.__code__  # type: ignore[attr-defined]

    def __init__(self) -> None:
        self.most = 0
        self.turns = 0
        self.ran: set[str] = set()
        self._count = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.ran.add(frame.f_code.co_name)
            if frame.f_code is self._TURN:
                self.turns += 1
                self._count = 0
        if event in ("call", "c_call"):
            self._count += 1
            self.most = max(self.most, self._count)
