"""Chroma's errors become IndexUnavailable, here and nowhere else."""

from __future__ import annotations

import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ...errors import IndexUnavailable, ScopedMemoryError

RETRIES: Final = 3
RETRY_PAUSE: Final = 0.05
"""Seconds between two attempts."""

_MISSING: Final = "missing"
_PASSING: Final = "Error finding id"
"""Chroma's reader met a writer; the same question a moment later has an answer."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Whatever Chroma raises inside becomes IndexUnavailable, its cause kept.

    Also what is no ``Exception``: a panic of Chroma's native part derives from BaseException.
    Requests to stop pass.
    """
    try:
        yield
    except (ScopedMemoryError, KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError):
        raise
    except BaseException as error:
        code = _MISSING if isinstance(error, ImportError) else "fault"
        message = f"{doing}: {type(error).__name__}: {error}"
        raise IndexUnavailable(message, code=code) from error


def attempt[T](doing: str, call: Callable[[], T]) -> T:
    """The call's result; a passing fault is tried again, up to three times.

    Raises:
        IndexUnavailable: any other fault, or that one for the fourth time.
    """
    for _ in range(RETRIES):
        try:
            with translated(doing):
                return call()
        except IndexUnavailable as error:
            if _PASSING not in str(error):
                raise
        time.sleep(RETRY_PAUSE)
    with translated(doing):
        return call()
