"""AstrBot's own configuration of the plugin, the scope map above all: what the panel shows and
saves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

MAP_KEY = "conversation_scope_map"


class NotSaved(Exception):
    """The configuration could not be written, and stands as it was; empty where the panel saved
    another one meanwhile."""


class PanelMap:
    """One change at a time: hold ``changing`` from reading to the end of saving."""

    def __init__(self, config: Any) -> None:
        """``config``: AstrBot's, None where the plugin was given none."""
        self._config: Any = {} if config is None else config
        self.changing = asyncio.Lock()

    def read(self) -> dict[str, object]:
        """The map as the panel has it now. What is no table is empty."""
        found = self._config.get(MAP_KEY)
        return dict(found) if isinstance(found, Mapping) else {}

    def all(self) -> dict[str, object]:
        """Every setting as the panel has it now."""
        return dict(self._config)

    async def save(self, changed: Mapping[str, object]) -> None:
        """Put these settings in the place of the former ones, for good. The panel saves into the
        same object, all settings at once: its last word stands. Raises NotSaved."""
        config = self._config
        before = {name: config[name] for name in changed if name in config}
        config.update(changed)
        try:
            await config.save_config_async()
        except Exception as error:
            for name in [name for name, value in changed.items() if config.get(name) is value]:
                del config[name]  # what the panel saved meanwhile stays
                if name in before:
                    config[name] = before[name]
            raise NotSaved(f"{type(error).__name__}: {error}"[:200]) from error
        if any(config.get(name) is not value for name, value in changed.items()):
            raise NotSaved
