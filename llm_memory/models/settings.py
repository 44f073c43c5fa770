"""What an owner can set, as the engine takes it: already parsed, never raw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from .scope import Scope, ScopeFault


class DmScope(StrEnum):
    """Which scope an unmapped private chat has."""

    MAIN = "main"
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


class GroupScope(StrEnum):
    """Which scope an unmapped group has."""

    PUBLIC = "public"
    PER_GROUP = "per-group"


@dataclass(frozen=True, slots=True)
class IllegalName:
    """A map entry whose value is no scope name: its conversation reads public, writes nothing."""

    value: str
    fault: ScopeFault


@dataclass(frozen=True, slots=True)
class ScopeMap:
    """``conversation_scope_map`` after reading: every key with its scope or its fault.

    ``held`` are keys that a damaged map lost: they read public only until an admin confirms.
    """

    entries: Mapping[str, Scope | IllegalName] = field(default_factory=lambda: MappingProxyType({}))
    held: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """All that ``resolve`` looks at. A policy of None is a value that nobody knows: fail closed."""

    scope_map: ScopeMap = field(default_factory=ScopeMap)
    dm_scope: DmScope | None = DmScope.MAIN
    group_scope: GroupScope | None = GroupScope.PUBLIC
    identity_links: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the composition root hands to the engine.

    Attributes:
        scope_map: The raw map of the panel, None if it was no map at all.
        dm_scope: None where the panel holds a value that is no policy.
        group_scope: The same.
        scope_filter_enabled: False is the emergency downgrade: reads see all, learning pauses.
        preview_chars: The longest preview, characters.
        relevance_floor: 0 to 1 of the embedder's similarity; None takes the embedder's own.
        embed_query_seconds: After this long a query goes on without vectors.
        embed_write_seconds: After this long a batch of writes stays in the backlog.
        open_retry_seconds: How long a locked data folder is tried again at start.
    """

    scope_map: Mapping[str, object] | None = field(default_factory=dict)
    dm_scope: DmScope | None = DmScope.MAIN
    group_scope: GroupScope | None = GroupScope.PUBLIC
    identity_links: Mapping[str, str] = field(default_factory=dict)
    scope_filter_enabled: bool = True
    preview_chars: int = 240
    relevance_floor: float | None = None
    embed_query_seconds: float = 2.0
    embed_write_seconds: float = 30.0
    open_retry_seconds: float = 15.0
