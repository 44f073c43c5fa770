"""Regular expressions that are compiled at their first use, or all at once behind the bot.

Together they take some 200 ms, which every start of the bot would wait for.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

ALL: Final[list[Lazy | PatternFile]] = []
_PART: Final = re.compile(r"\$\{(\w+)\}")


class Lazy:
    """Stands for a pattern: looks it up at each use, and compiles it at the first."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._arguments = pattern, flags
        ALL.append(self)

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """Two threads may compile it at once: both make the same."""
        return re.compile(*self._arguments)

    def compile(self) -> None:
        """Compile it now."""
        _ = self.expression

    def __getattr__(self, name: str) -> Any:
        return getattr(self.expression, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Returns what behaves as ``re.compile(pattern, flags)``.

    An invalid pattern raises ``re.PatternError`` at its first use: ``compile_all`` finds it in any
    test that opens an engine.
    """
    return cast("re.Pattern[str]", Lazy(pattern, flags))


class PatternFile:
    """The patterns of a text file below ``llm_memory/``, by their names.

    ``== name flags`` begins one, and its lines are joined; ``# `` begins a comment, and ``${name}``
    stands for another pattern of the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._compiled: dict[str, re.Pattern[str]] = {}
        ALL.append(self)

    def __getitem__(self, name: str) -> re.Pattern[str]:
        if name not in self._compiled:
            self._compiled[name] = re.compile(self._source(name))
        return self._compiled[name]

    def compile(self) -> None:
        """Compile all of them now."""
        for name in self._sources:
            _ = self[name]

    def _source(self, name: str) -> str:
        return _PART.sub(lambda part: self._source(part[1]), self._sources[name])

    @cached_property
    def _sources(self) -> dict[str, str]:
        sources, name = dict[str, str](), ""
        text = (Path(__file__).parents[1] / self._path).read_text("utf-8")
        for line in text.split("\n"):
            if line.startswith("== "):
                name, _, flags = line.removeprefix("== ").partition(" ")
                sources[name] = f"(?{flags})" if flags else ""
            elif line and not line.startswith("# "):
                sources[name] += line
        return sources


def compile_all() -> None:
    """Compile what was not used yet; belongs into a thread."""
    for lazy in tuple(ALL):
        lazy.compile()
