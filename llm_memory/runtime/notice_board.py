"""The notices that stand now. One of each code and subject."""

from __future__ import annotations

from collections.abc import Callable

from ..models.status import Notice


class NoticeBoard:
    """Keeps notices; ``listener`` hears each one when it is new, so that it is said once."""

    def __init__(self, listener: Callable[[Notice], None] | None = None) -> None:
        self._standing: dict[tuple[str, str], Notice] = {}
        self._listener = listener

    def post(self, notice: Notice, *, said: bool = False) -> None:
        """Put a notice up, or renew it. ``said``: its owner has heard it before this start."""
        place = (notice.code, notice.subject)
        new = place not in self._standing
        self._standing[place] = notice
        if new and not said and self._listener is not None:
            self._listener(notice)

    def clear(self, code: str, subject: str | None = None) -> None:
        """Take down one notice, or all of a code."""
        for place in [p for p in self._standing if p[0] == code and subject in (None, p[1])]:
            del self._standing[place]

    def standing(self) -> tuple[Notice, ...]:
        """All notices, in the order in which they came."""
        return tuple(self._standing.values())
