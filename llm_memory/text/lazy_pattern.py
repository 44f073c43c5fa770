"""Regular expressions that are compiled when they are first asked, or all at once behind the bot.

The large ones take half a second together, which every start of the bot would wait for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

ALL: Final[list[LazyPattern]] = []


class LazyPattern:
    """Stands for ``re.compile(pattern, flags)`` at the level of a module.

    A pattern that is none raises ``re.PatternError`` where it is first asked: ``compile_all`` finds
    it in any test that opens an engine.
    """

    __slots__ = ("_flags", "_pattern", "expression")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags
        self.expression: re.Pattern[str] | None = None
        ALL.append(self)

    @property
    def compiled(self) -> re.Pattern[str]:
        """The expression itself. Two threads may compile it at once: both make the same."""
        if self.expression is None:
            self.expression = re.compile(self._pattern, self._flags)
        return self.expression

    @property
    def groupindex(self) -> Mapping[str, int]:
        """As of ``re.Pattern``."""
        return self.compiled.groupindex

    def search(self, text: str) -> re.Match[str] | None:
        """As of ``re.Pattern``."""
        return self.compiled.search(text)

    def match(self, text: str, pos: int = 0) -> re.Match[str] | None:
        """As of ``re.Pattern``."""
        return self.compiled.match(text, pos)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As of ``re.Pattern``."""
        return self.compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As of ``re.Pattern``."""
        return self.compiled.finditer(text)

    def sub(self, replacement: str, text: str, count: int = 0) -> str:
        """As of ``re.Pattern``."""
        return self.compiled.sub(replacement, text, count)


def compile_all() -> None:
    """Compile what was not asked yet. Takes half a second: in a thread."""
    for pattern in tuple(ALL):
        _ = pattern.compiled
