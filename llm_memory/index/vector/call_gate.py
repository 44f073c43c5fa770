"""Calls in flight: let in while the store is open, waited for when it closes."""

from __future__ import annotations

from threading import Condition

from ...errors import IndexUnavailable


class Gate:
    """``with gate:`` around each call. Any number may be inside at once."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        """True from the moment that close was called."""
        return self._closed

    def __enter__(self) -> None:
        with self._changed:
            if self._closed:
                raise IndexUnavailable("the index is closed", code="closed")
            self._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Admit no further call, and wait until the last one has ended. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0)
