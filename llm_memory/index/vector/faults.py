"""Chroma's errors become IndexUnavailable, here and nowhere else."""

from __future__ import annotations

import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ...errors import IndexUnavailable, ScopedMemoryError
from .probe import verdict_on

RETRIES: Final = 3
RETRY_PAUSE: Final = 0.05
"""Seconds between two attempts."""

_MISSING: Final = "missing"
_PASSING: Final = "Error finding id"
"""Chroma's reader met a writer; the same question a moment later has an answer."""
_OUTSIDE: Final = frozenset({"busy", "full", "unreadable"})
"""What is not the index's fault: it would be no better if it were begun anew."""


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
        met = _met_first(error)
        message = f"{doing}: {type(met).__name__}: {met}"
        raise IndexUnavailable(message, code=_code_of(met)) from error


def _met_first(error: BaseException) -> BaseException:
    """Where Chroma cannot begin, it stumbles over what it has not made yet when it tidies up."""
    while isinstance(error, AttributeError) and error.__context__ is not None:
        error = error.__context__
    return error


def _code_of(error: BaseException) -> str:
    if isinstance(error, ImportError):
        return _MISSING
    verdict = verdict_on(str(error))
    return verdict if verdict in _OUTSIDE else "fault"


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
