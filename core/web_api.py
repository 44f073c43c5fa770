"""``GET /astrbot_plugin_scoped_memory/status``: AstrBot asks for a login before it calls us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from astrbot.api.web import json_response

from .explanation import told_json
from .names import NAME, plugin_version
from .plugin_context import PluginContext

ROUTE = f"/{NAME}/status"
RECALLS_ROUTE = f"/{NAME}/recalls"


class StatusApi:
    """Answers from the moment the plugin is loaded; ``current`` is None when it is switched off."""

    def __init__(self, current: Callable[[], PluginContext | None]) -> None:
        self._current = current

    async def __call__(self) -> Any:
        """The status as JSON."""
        return json_response(await self.payload())

    async def payload(self) -> dict[str, Any]:
        """What the route answers."""
        plugin = self._current()
        idle = {"state": "idle", "scanned": 0, "patched": 0, "skipped": 0, "remaining": 0}
        if plugin is None:
            return {
                "version": plugin_version(),
                "ready": False,
                "embedder": "",
                "index": "off",
                "memories": {"total": 0, "by_scope": {}},
                "migration": idle,
                "queue": 0,
                "backlog": 0,
                "warnings": [],
            }
        status = await plugin.status()
        return {
            "version": plugin.version,
            "ready": status.ready,
            "embedder": status.embedder,
            "index": status.index.value,
            "memories": {"total": status.total, "by_scope": dict(status.by_scope)},
            "migration": idle,
            "queue": status.queue,
            "backlog": status.backlog,
            "warnings": plugin.warnings(status),
        }


class RecallsApi:
    """The last recalls of all conversations, for the owner: AstrBot asks for a login first."""

    def __init__(self, current: Callable[[], PluginContext | None]) -> None:
        self._current = current

    async def __call__(self) -> Any:
        """The recalls as JSON."""
        return json_response(await self.payload())

    async def payload(self) -> dict[str, Any]:
        """What the route answers: the newest first, none while the plugin is off."""
        plugin = self._current()
        told = [] if plugin is None else plugin.service.last_recalls()
        return {"recalls": [told_json(one) for one in told]}
