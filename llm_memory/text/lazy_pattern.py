"""Patterns that are data, compiled at their first use, or all at once behind the bot.

Together they take some 200 ms, which every start of the bot would wait for.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Final

ALL: Final[list[PatternFile]] = []
_PATTERN: Final = re.compile(r"^== (\S+) ?(\w*)\n(.*?)(?=^== |\Z)", re.DOTALL | re.MULTILINE)
_PART: Final = re.compile(r"\$\{(\w+)\}")


class PatternFile:
    """The patterns of a text file below ``llm_memory/``, by their names.

    ``== name flags`` begins one, and its lines are joined; ``# `` begins a comment, and ``${name}``
    stands for another pattern of the file, or for one of ``lists``. They are written in simplified
    Chinese, and search what ``simplified``, ``narrowed`` or ``fold`` returns.
    """

    def __init__(self, path: str, **lists: str) -> None:
        self._path, self._lists = path, lists
        self._compiled: dict[str, re.Pattern[str]] = {}
        ALL.append(self)

    def __getitem__(self, name: str) -> re.Pattern[str]:
        """Two threads may compile it at once: both make the same."""
        if name not in self._compiled:
            self._compiled[name] = re.compile(self._source(name))
        return self._compiled[name]

    def starting(self, prefix: str) -> list[re.Pattern[str]]:
        """Those whose names start with a prefix, in their order."""
        return [self[name] for name in self._sources if name.startswith(prefix)]

    def _source(self, name: str) -> str:
        return _PART.sub(lambda part: self._source(part[1]), self._sources[name])

    @cached_property
    def _sources(self) -> dict[str, str]:
        sources = dict(self._lists)
        text = (Path(__file__).parents[1] / self._path).read_text("utf-8")
        for name, flags, lines in _PATTERN.findall(text):
            source = "".join(one for one in lines.split("\n") if not one.startswith("# "))
            sources[name] = f"(?{flags}){source}" if flags else source
        return sources


def compile_all() -> None:
    """Compile what was not used yet; belongs into a thread."""
    for patterns in tuple(ALL):
        patterns.starting("")
