"""What ``resolve`` answers, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .scope import Scope


class WhyCode(StrEnum):
    """How a resolution came about. Each has a text in the i18n files."""

    MAPPED = "mapped"
    MAPPED_PARENT = "mapped_parent"
    MAPPED_GROUP = "mapped_group"
    MAPPED_PERSONA = "mapped_persona"
    DM_POLICY = "dm_policy"
    GROUP_POLICY = "group_policy"
    UNKNOWN_KIND = "unknown_kind"
    DEFAULT = "default"
    ILLEGAL_NAME = "illegal_name"
    MAP_DAMAGED = "map_damaged"
    MAP_UNKNOWN = "map_unknown"
    """Private scopes have folders, and no key names them."""
    ACCOUNTS_GONE = "accounts_gone"
    """All private conversations of the map are on bot accounts that do not exist."""
    ACCOUNT_GONE = "account_gone"
    """The map has this conversation under a bot account that does not exist."""
    UNREADABLE_KEY = "unreadable_key"
    """A key that is no conversation id seems to mean this conversation."""
    SUCCESSOR = "successor"
    """The conversation goes on for one that the map names: so its platform says."""
    UNKNOWN_POLICY = "unknown_policy"
    UNKNOWN_PERSONA = "unknown_persona"
    UNKNOWN_ORIGIN = "unknown_origin"
    MALFORMED_ID = "malformed_id"
    NO_ADAPTER = "no_adapter"
    AGENT_UNMAPPED = "agent_unmapped"
    """A coding agent's conversation that the map does not name."""
    AGENT_POLICY = "agent_policy"


@dataclass(frozen=True, slots=True)
class Why:
    """``key`` is the map's key or the policy's name; ``value`` what stands there."""

    code: WhyCode
    key: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Usable:
    """The conversation reads ``scope`` and public, and writes ``scope``."""

    scope: Scope
    why: Why


@dataclass(frozen=True, slots=True)
class ReadPublicOnly:
    """Something is wrong with the map: the conversation reads public and writes nothing."""

    why: Why


@dataclass(frozen=True, slots=True)
class Refused:
    """The conversation reads and writes nothing."""

    why: Why


Resolution = Usable | ReadPublicOnly | Refused
