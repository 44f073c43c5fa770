"""The engine's log records, sent through AstrBot's logger with the plugin's tag."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any

from ...llm_memory.log import logger

_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING}


def bridge_logs(target: Any) -> Callable[[], None]:
    """Add a sink to the engine's own loguru core; AstrBot's sinks never see those records raw.
    Without loguru the engine logs through ``logging`` by itself. Returns what ends it, idempotent.
    """

    def forward(message: Any) -> None:
        level = _LEVELS.get(message.record["level"].name, logging.ERROR)
        target.log(level, "%s", message.record["message"])

    sink = logger.add(forward, level="DEBUG", format="{message}", catch=True)

    def end() -> None:
        if sink is not None:
            with contextlib.suppress(ValueError):
                logger.remove(sink)

    return end
