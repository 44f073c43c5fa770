"""Chroma's errors become IndexUnavailable, here and nowhere else."""

from __future__ import annotations

import re
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ...errors import IndexUnavailable, ScopedMemoryError
from .folder_check import GARBAGE, PARTIAL

RETRIES: Final = 3
RETRY_PAUSE: Final = 0.05
"""Seconds between two attempts."""

_MISSING: Final = "missing"
_PASSING: Final = "Error finding id"
"""Chroma's reader met a writer; the same question a moment later has an answer."""
_INCOMPLETE: Final = (_PASSING, "Error getting embedding")
_OUTSIDE: Final = (
    ("busy", re.compile(r"database is locked|database table is locked|code: 5\)")),
    ("full", re.compile(r"disk is full|code: 13\)|[Nn]o space left")),
    (
        "unreadable",
        re.compile(r"readonly database|unable to open database|[Pp]ermission denied|code: 14\)"),
    ),
)
"""What is not the index's fault: it would be no better if it were begun anew."""
_OURS: Final = (AttributeError, TypeError, NameError)
"""Ours to answer for, or a Chroma that we do not know yet: no reason to give up a folder."""


@contextmanager
def translated(doing: str, *, opening: bool = False) -> Iterator[None]:
    """Whatever Chroma raises inside becomes IndexUnavailable, its cause kept.

    Also what is no ``Exception``: a panic of Chroma's native part derives from BaseException.
    Requests to stop pass. What is raised while a folder is ``opening`` condemns the folder, unless
    it lies outside: ``garbage`` or ``partial``.
    """
    try:
        yield
    except (ScopedMemoryError, KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError):
        raise
    except BaseException as error:
        met = _met_first(error)
        message = f"{doing}: {type(met).__name__}: {met}"
        raise IndexUnavailable(message, code=_code_of(met, opening)) from error


def _met_first(error: BaseException) -> BaseException:
    """Where Chroma cannot begin, it stumbles over what it has not made yet when it tidies up."""
    while isinstance(error, AttributeError) and error.__context__ is not None:
        error = error.__context__
    return error


def _code_of(error: BaseException, opening: bool) -> str:
    if isinstance(error, ImportError):
        return _MISSING
    text = str(error)
    for code, pattern in _OUTSIDE:
        if pattern.search(text):
            return code
    if not opening or isinstance(error, _OURS):
        return "fault"
    return PARTIAL if any(known in text for known in _INCOMPLETE) else GARBAGE


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
