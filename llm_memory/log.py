"""The engine's logger: loguru on a core of its own, so that a host's sinks never see our records.

A host adds a sink (the plugin bridges to AstrBot's logger). From INFO up a line is a text of the
catalogue, in the owner's language. DEBUG is plain English; no chat text is logged above it.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from typing import Any

from .texts import Spoken, Texts


class Logger:
    """Writes lines with the file and line of the caller. A catalogue is read for the first line
    that somebody hears."""

    def __init__(self) -> None:
        self._loguru = _make_loguru()
        self._standard = logging.getLogger("scoped_memory")
        self._language: Spoken = "zh"

    def speak(self, language: Spoken) -> None:
        """Set the language of all lines from INFO up."""
        self._language = language

    def debug(self, message: str, *args: object) -> None:
        """Write ``message``, whose ``{}`` take the arguments."""
        self._write("DEBUG", lambda: message.format(*args))

    def info(self, code: str, /, **params: object) -> None:
        """Write the text of ``log.<code>`` with its params."""
        self._write("INFO", lambda: self._line(code, params))

    def warning(self, code: str, /, **params: object) -> None:
        """See ``info``."""
        self._write("WARNING", lambda: self._line(code, params))

    def error(self, code: str, /, **params: object) -> None:
        """See ``info``."""
        self._write("ERROR", lambda: self._line(code, params))

    def forward(self, level: str, line: str) -> None:
        """Write a line that another process has made."""
        self._write(level, lambda: line)

    def add(self, sink: Any, **options: Any) -> int | None:
        """Add a loguru sink. Returns what ``remove`` takes; None without loguru, where the logger
        ``scoped_memory`` of ``logging`` has the records."""
        return None if self._loguru is None else self._loguru.add(sink, **options)

    def remove(self, sink: int) -> None:
        """Remove a sink. Raises ValueError if there is none of that number."""
        self._loguru.remove(sink)

    def _write(self, level: str, line: Callable[[], str]) -> None:
        if self._loguru is not None:
            self._loguru.log(level, "{}", line)
        elif self._standard.isEnabledFor(number := logging.getLevelNamesMapping()[level]):
            self._standard.log(number, line(), stacklevel=3)

    def _line(self, code: str, params: Mapping[str, object]) -> str:
        return Texts.of(self._language).say(f"log.{code}", **params)


def _make_loguru() -> Any:
    """Returns a logger whose arguments are made where a sink hears them; None without loguru: the
    engine imports with nothing but Python."""
    try:
        inner: Any = importlib.import_module("loguru._logger")
        # A core of its own, with loguru's defaults. Binding extras to the global logger is no way
        # out: a host's formats name keys that our records lack.
        return inner.Logger(
            core=inner.Core(),
            exception=None,
            depth=2,  # the caller of ``Logger.info`` and its like
            record=False,
            lazy=True,
            colors=False,
            raw=False,
            capture=True,
            patchers=[],
            extra={},
        )
    except (ImportError, AttributeError, TypeError):
        return None


logger = Logger()
