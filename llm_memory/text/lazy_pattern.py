"""Regular expressions that are compiled at their first use, or all at once behind the bot.

Together they take some 200 ms, which every start of the bot would wait for.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Final, cast

ALL: Final[list[Lazy]] = []


class Lazy:
    """Stands for a pattern: looks it up at each use, and compiles it at the first."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._arguments = pattern, flags
        ALL.append(self)

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """Two threads may compile it at once: both make the same."""
        return re.compile(*self._arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.expression, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Returns what behaves as ``re.compile(pattern, flags)``.

    An invalid pattern raises ``re.PatternError`` at its first use: ``compile_all`` finds it in any
    test that opens an engine.
    """
    return cast("re.Pattern[str]", Lazy(pattern, flags))


def compile_all() -> None:
    """Compile what was not used yet; belongs into a thread."""
    for lazy in tuple(ALL):
        _ = lazy.expression
