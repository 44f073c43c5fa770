"""What the panel's routes answer: the status and the last recalls, for the owner alone. AstrBot
asks for a login before it calls us."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from typing import Any

from ...llm_memory import EngineStatus, IndexState
from ..plugin_context import PluginContext
from ..plugin_names import plugin_version

_TOLD_ELSE = frozenset({"by_scope", "left", "notices"})


async def status_json(plugin: PluginContext | None) -> dict[str, Any]:
    """Returns the status, by the names of its fields; of None, which is a plugin that is switched
    off, a blank one."""
    blank = EngineStatus(False, "", IndexState.OFF)
    status = blank if plugin is None else await plugin.engine.status()
    told = {name: value for name, value in _fields(status).items() if name not in _TOLD_ELSE}
    return {
        **plain(told),
        "version": plugin_version() if plugin is None else plugin.version,
        "memories": {"total": status.total, "by_scope": dict(status.by_scope)},
        # All that waits to be worked off: vectors (``backlog``) and turns.
        "queue": status.backlog + status.queue,
        "left_behind": [
            {name: getattr(one, name) for name in ("source", "target", "memories", "turns")}
            for one in status.left
        ],
        "warnings": [] if plugin is None else plugin.warnings(status),
    }


def recalls_json(plugin: PluginContext | None) -> dict[str, Any]:
    """Returns the last recalls of all conversations, the newest first; none while it is off. Ids
    and scores, no word of a memory or a question."""
    recalls = [] if plugin is None else plugin.service.last_recalls()
    return {
        "recalls": [
            {"conversation": one.conversation, "at": plain(one.at), **plain(one.trace)}
            for one in recalls
        ]
    }


def plain(value: object) -> Any:
    """Returns a value as JSON has it; keys are the names of its fields."""
    if is_dataclass(value):
        value = _fields(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return str(value)
    return [plain(one) for one in value] if isinstance(value, Collection) else value


def _fields(value: Any) -> dict[str, object]:
    return {one.name: getattr(value, one.name) for one in fields(value)}
