"""The engine's logger: loguru on a core of its own, so that a host's sinks never see our records.

A host adds a sink (the plugin bridges to AstrBot's logger). No chat text above DEBUG.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any, Protocol


class Logger(Protocol):
    """The few calls that the engine makes; ``{}`` in the message takes the arguments."""

    def debug(self, message: str, *args: object) -> None: ...

    def info(self, message: str, *args: object) -> None: ...

    def warning(self, message: str, *args: object) -> None: ...

    def error(self, message: str, *args: object) -> None: ...


class _StandardLogger:
    """Stands in where loguru is not installed: the engine imports with nothing but Python."""

    def __init__(self) -> None:
        self._logger = logging.getLogger("scoped_memory")

    def debug(self, message: str, *args: object) -> None:
        self._logger.debug(message.format(*args))

    def info(self, message: str, *args: object) -> None:
        self._logger.info(message.format(*args))

    def warning(self, message: str, *args: object) -> None:
        self._logger.warning(message.format(*args))

    def error(self, message: str, *args: object) -> None:
        self._logger.error(message.format(*args))


def _make_logger() -> Logger:
    try:
        inner: Any = importlib.import_module("loguru._logger")
        # A core of its own, with loguru's defaults. Binding extras to the global logger is no way
        # out: a host's formats name keys that our records lack.
        made: Logger = inner.Logger(
            core=inner.Core(),
            exception=None,
            depth=0,
            record=False,
            lazy=False,
            colors=False,
            raw=False,
            capture=True,
            patchers=[],
            extra={},
        )
    except (ImportError, AttributeError, TypeError):
        return _StandardLogger()
    return made


logger: Logger = _make_logger()
