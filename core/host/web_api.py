"""What the panel's routes answer: the status and the last recalls, for the owner alone. AstrBot
asks for a login before it calls us."""

from __future__ import annotations

from typing import Any

from ...llm_memory import MigrationStatus
from ..commands.bring_command import left_json
from ..plugin_context import PluginContext
from ..replies.explanation import record_json
from ..replies.loop_text import loop_json
from .blank_status import blank_status


async def status_json(plugin: PluginContext | None) -> dict[str, Any]:
    """Returns the status; of None, which is a plugin that is switched off, a blank one."""
    if plugin is None:
        return blank_status()
    status = await plugin.engine.status()
    return {
        "version": plugin.version,
        "ready": status.ready,
        "embedder": status.embedder,
        "index": status.index.value,
        "memories": {"total": status.total, "by_scope": dict(status.by_scope)},
        "notes": {"total": sum(status.notes.values()), "by_folder": dict(status.notes)},
        "migration": migration_json(status.migration),
        # All that waits to be worked off: vectors (``backlog``) and turns (``loop.waiting``).
        "queue": status.backlog + status.queue,
        "loop": loop_json(status.loop),
        "backlog": status.backlog,
        "scope_check_drops": status.scope_check_drops,
        "left_behind": [left_json(one) for one in status.left],
        "warnings": plugin.warnings(status),
    }


def recalls_json(plugin: PluginContext | None) -> dict[str, Any]:
    """Returns the last recalls of all conversations, the newest first; none while it is off."""
    recalls = [] if plugin is None else plugin.service.last_recalls()
    return {"recalls": [record_json(one) for one in recalls]}


def migration_json(status: MigrationStatus) -> dict[str, Any]:
    """The migration block: ``waiting`` and ``reversed`` only where there is something to say."""
    said: dict[str, Any] = {
        "state": status.state.value,
        "mode": status.mode.value,
        "mode_on": status.mode_on,
        "scanned": status.tally.scanned,
        "patched": status.tally.patched,
        "skipped": status.tally.skipped,
        "remaining": status.remaining,
        "adopted": status.tally.adopted,
        "merged": status.tally.merged,
        "quarantined": status.tally.quarantined,
        "broken": status.tally.broken,
    }
    said |= {"waiting": status.waiting} if status.waiting else {}
    said |= {"detail": status.detail} if status.detail else {}
    return said | ({"reversed": True} if status.reversed else {})
