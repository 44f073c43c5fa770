"""The owner's settings as a backup carries them, and what of them is put back. Pure.

A name is that of the schema, with a dot for what lies in a group: ``advanced.sleep_at``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_KEPT_BACK: Final = frozenset(
    {
        "advanced.chroma_headers",
        "advanced.mcp_share",
        "advanced.mcp_share_address",
        "advanced.memory_root",
        "advanced.scope_filter_enabled",
        "advanced.workflow_file",
    }
)
"""A secret, a place on one machine, and what opens the memory to others: the emergency switch and
sharing are decided anew on each bot."""
_ADDRESSES: Final = frozenset({"advanced.chroma_url", "advanced.model_mirror"})
"""One may hold a password."""


def carried(settings: Mapping[str, object]) -> dict[str, object]:
    """What a backup holds, by name."""
    return {
        name: value
        for name, value in _flat(settings).items()
        if name not in _KEPT_BACK and not (name in _ADDRESSES and "@" in str(value))
    }


def defaults_of(schema: Mapping[str, object]) -> dict[str, object]:
    """The defaults in a ``_conf_schema.json``, by name."""
    found: dict[str, object] = {}
    for name, entry in schema.items():
        if not isinstance(entry, Mapping):
            continue
        if isinstance(items := entry.get("items"), Mapping) and entry.get("type") == "object":
            found |= {f"{name}.{inner}": value for inner, value in defaults_of(items).items()}
        else:
            found[name] = entry.get("default")
    return found


def to_put_back(
    saved: Mapping[str, object], now: Mapping[str, object], defaults: Mapping[str, object]
) -> dict[str, object]:
    """What is to change, by name, and to what. What the owner has set since stays: of a table, the
    entries that are missing come back; anything else only where it has its default now."""
    changes: dict[str, object] = {}
    current = {**defaults, **_flat(now)}
    for name, default in defaults.items():
        value, has = saved.get(name), current[name]
        if type(value) is not type(default) or name in _KEPT_BACK:
            continue
        if isinstance(value, dict):
            if not isinstance(has, Mapping):
                continue
            value = {**value, **has}
        elif has != default:
            continue
        if value != has:
            changes[name] = value
    return changes


def with_changes(
    settings: Mapping[str, object], changes: Mapping[str, object]
) -> dict[str, object]:
    """The top-level entries that the changes make, whole."""
    changed: dict[str, object] = {}
    for name, value in changes.items():
        group, _, inner = name.rpartition(".")
        if not group:
            changed[name] = value
            continue
        before = changed.get(group, settings.get(group))
        changed[group] = {**(before if isinstance(before, Mapping) else {}), inner: value}
    return changed


def _flat(settings: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in settings.items():
        if name == "advanced" and isinstance(value, Mapping):
            found |= {f"{name}.{inner}": one for inner, one in value.items()}
        else:
            found[name] = value
    return found
