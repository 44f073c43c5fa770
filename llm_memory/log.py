"""The engine's logger: loguru on a core of its own, so that a host's sinks never see our records.

A host adds a sink (the plugin bridges to AstrBot's logger). No chat text above DEBUG.
"""

from __future__ import annotations

import logging
from typing import Protocol


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
        from loguru._logger import Core
        from loguru._logger import Logger as LoguruLogger
    except ImportError:
        return _StandardLogger()
    try:
        # The arguments are loguru's own defaults for its global logger. Binding extras to the
        # global one is no way out: a host's formats name keys that our records lack.
        made: Logger = LoguruLogger(
            core=Core(),
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
    except TypeError:
        return _StandardLogger()
    return made


logger: Logger = _make_logger()
