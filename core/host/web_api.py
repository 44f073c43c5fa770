"""What the panel's routes answer: the status and the last recalls, for the owner alone. AstrBot
asks for a login before it calls us."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic_core import to_jsonable_python

from ...llm_memory import EngineStatus, IndexState
from ..plugin_context import PluginContext
from ..plugin_names import plugin_version

_TOLD_ELSE = frozenset({"by_scope", "left", "notices"})


async def status_json(plugin: PluginContext | None) -> dict[str, Any]:
    """Returns the status, by the names of its fields; of None, which is a plugin that is switched
    off, a blank one."""
    status = EngineStatus(False, "", IndexState.OFF)
    if plugin is not None:
        status = await plugin.engine.status()
    names = [one.name for one in fields(status) if one.name not in _TOLD_ELSE]
    return {
        **{name: to_jsonable_python(getattr(status, name)) for name in names},
        "version": plugin_version(),
        "memories": {"total": status.total, "by_scope": dict(status.by_scope)},
        # All that waits to be worked off: vectors (``backlog``) and turns.
        "queue": status.backlog + status.queue,
        "left_behind": [
            {name: getattr(one, name) for name in ("source", "target", "memories", "turns")}
            for one in status.left
        ],
        "warnings": [] if plugin is None else plugin.warnings(status),
    }


def recalls_json(plugin: PluginContext) -> dict[str, Any]:
    """Returns the last recalls of all conversations, the newest first: ids and scores, no word of a
    memory or a question."""
    told = [
        {"conversation": one.conversation, "at": one.at.isoformat()} | to_jsonable_python(one.trace)
        for one in plugin.service.last_recalls()
    ]
    return {"recalls": told}
