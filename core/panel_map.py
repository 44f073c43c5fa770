"""The scope map in AstrBot's own configuration of the plugin: what the panel shows and saves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

_KEY = "conversation_scope_map"


class NotSaved(Exception):
    """The configuration could not be written, and stands as it was. ``detail`` says why; empty
    where the panel saved another one meanwhile."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail


class PanelMap:
    """One change at a time: hold ``changing`` from reading to the end of saving."""

    def __init__(self, config: Any) -> None:
        """``config``: AstrBot's, None where the plugin was given none."""
        self._config = config
        self.changing = asyncio.Lock()

    def read(self) -> dict[str, object]:
        """The map as the panel has it now. What is no table is empty."""
        found = (self._config or {}).get(_KEY)
        return dict(found) if isinstance(found, Mapping) else {}

    async def save(self, changed: dict[str, object]) -> None:
        """Put it in the place of the former one, for good.

        The panel saves into the same object, all settings at once: its last word stands.

        Raises:
            NotSaved: nothing was changed.
        """
        config = self._config
        if not hasattr(config, "save_config_async"):
            raise NotSaved(type(config).__name__)
        before = config.get(_KEY)
        config[_KEY] = changed
        try:
            await config.save_config_async()
        except Exception as error:
            if config.get(_KEY) is changed:
                config[_KEY] = before
            raise NotSaved(f"{type(error).__name__}: {error}"[:200]) from error
        if config.get(_KEY) is not changed:
            raise NotSaved
