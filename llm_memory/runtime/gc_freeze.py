"""Thousands of memories live as long as the engine: the garbage collector need not look at them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final

MANY: Final = 200
"""Memories from which on it matters. A full collection over 100,000 takes a quarter of a second,
and the whole interpreter with it; what a bot has imported alone takes a tenth."""
GROWTH: Final = 2_000


class GcFreeze:
    """Counts what begins to live, and now and then has all that lives set apart.

    What is garbage in such a moment stays until ``release``; there are few of them, and none at all
    in a small store. Touched from the event loop only.
    """

    def __init__(
        self, freeze: Callable[[], None] = gc.freeze, unfreeze: Callable[[], None] = gc.unfreeze
    ) -> None:
        """``freeze`` and ``unfreeze`` are the interpreter's own, but for tests."""
        self._freeze = freeze
        self._unfreeze = unfreeze
        self._count = 0
        self._next = MANY
        self._frozen = False

    def grow(self, count: int) -> None:
        """So many more live, or take the place of others: that makes objects, too."""
        self._count += count
        if self._count >= self._next:
            self._next = self._count + GROWTH
            self._frozen = True
            self._freeze()

    def made[**P, T](
        self, count: int, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Returns what ``make`` makes of so many records, set apart before the collector looks at
        it; a few are not worth it. A plain call, in a thread: the collector is off no longer than
        that, whatever its caller awaits afterwards."""
        if count < MANY:
            return make(*args, **kwargs)
        was_on = gc.isenabled()
        gc.disable()
        try:
            return make(*args, **kwargs)
        finally:
            self._frozen = True
            self._freeze()
            if was_on:
                gc.enable()

    def release(self) -> None:
        """The collector looks at everything again. Idempotent."""
        self._count, self._next = 0, MANY
        if self._frozen:
            self._frozen = False
            self._unfreeze()


LONG_LIVED: Final = GcFreeze()
"""Of the process, as its collector is."""
