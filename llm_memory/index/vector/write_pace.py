"""How much goes into one write call, so that the bot hardly notices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

FIRST: Final = 8
MOST: Final = 50
"""Records in a call, at first and at most."""
LONG: Final = 0.04
"""Seconds. Embedded Chroma holds the interpreter from the beginning of a call to its end, and what
a record costs grows with the dimension and the size of the index: only the clock tells."""
WORKER_LONG: Final = 0.1
"""Seconds, in a process of its own: only queries wait there for a call to end."""
LEAST_REST: Final = 0.02
LONGEST_REST: Final = 0.5


class WritePace:
    """Smaller calls when they take long, bigger ones when they don't; a rest between two.

    The rest is as long as the call was, so that others have half of the time.
    """

    def __init__(
        self,
        *,
        long: float = LONG,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """
        Args:
            long: Seconds above which a call is too long.
            clock: Seconds that never go back.
            sleep: Waits for so many seconds.
        """
        self._long = long
        self._clock = clock
        self._sleep = sleep
        self._size = FIRST

    def portions[T](self, items: Iterable[T]) -> Iterator[list[T]]:
        """The items, each portion to be written in one call before the next is asked for."""
        rest = iter(items)
        portion = list(islice(rest, self._size))
        while portion:
            begun = self._clock()
            yield portion
            took = self._clock() - begun
            self._learn(took, len(portion))
            if portion := list(islice(rest, self._size)):
                self._sleep(min(max(took, LEAST_REST), LONGEST_REST))

    def _learn(self, took: float, written: int) -> None:
        if took > self._long:
            self._size = max(1, written // 2)
        elif took < self._long / 3 and written == self._size:
            self._size = min(MOST, self._size * 2)
