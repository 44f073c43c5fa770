"""AstrBot's configuration of the plugin, as the panel keeps it."""

from __future__ import annotations

import asyncio
from typing import Any

KEY = "conversation_scope_map"


class Panel(dict[str, Any]):
    """A table that is saved. ``full``: the disk is."""

    def __init__(self, scope_map: dict[str, object], *, full: bool = False) -> None:
        super().__init__({KEY: scope_map, "enabled": True})
        self.full = full
        self.saved: list[dict[str, object]] = []
        self.overtaken = False

    async def save_config_async(self) -> bool:
        snapshot = dict(self[KEY])
        await asyncio.sleep(0)
        if self.full:
            raise OSError(30, "Read-only file system")
        if self.overtaken:
            self[KEY] = {}
        self.saved.append(snapshot)
        return True
