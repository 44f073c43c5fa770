"""The engine's log records, sent through AstrBot's logger with the plugin's tag."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from ...llm_memory.log import logger

_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING}


class LoggingBridge:
    """Adds a sink to the engine's own loguru core; AstrBot's sinks never see those records raw."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._sink: int | None = None

    def open(self) -> None:
        """Start forwarding. Without loguru the engine logs through ``logging`` by itself."""
        self._sink = logger.add(self._forward, level="DEBUG", format="{message}", catch=True)

    def _forward(self, message: Any) -> None:
        record = message.record
        level = _LEVELS.get(record["level"].name, logging.ERROR)
        self._target.log(level, "%s", record["message"])

    def close(self) -> None:
        """Stop forwarding. Idempotent."""
        if self._sink is not None:
            with contextlib.suppress(ValueError):
                logger.remove(self._sink)
            self._sink = None
