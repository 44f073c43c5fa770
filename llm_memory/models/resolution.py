"""What ``resolve`` answers, and why; what stands in a scope that a policy derived for a
conversation before; and that a chat or a bot account goes on under another name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from .conversation import ConversationId, ConversationKind
from .scope import Scope


class WhyCode(StrEnum):
    """How a resolution came about. Each has a text in the i18n files."""

    MAPPED = "mapped"
    DM_POLICY = "dm_policy"
    GROUP_POLICY = "group_policy"
    UNKNOWN_KIND = "unknown_kind"
    ILLEGAL_NAME = "illegal_name"
    MAP_WITHHELD = "map_withheld"
    """It would be public, and may have had a scope: see ``ScopeMap.withheld``."""
    DOUBTFUL_KEY = "doubtful_key"
    """A key that matches no conversation seems to mean this one."""
    UNKNOWN_POLICY = "unknown_policy"
    UNKNOWN_ORIGIN = "unknown_origin"
    """Which group or person it is, or the persona, cannot be told."""
    MALFORMED_ID = "malformed_id"
    """Or the platform is unknown, whose persons a policy would tell apart."""
    AGENT_UNMAPPED = "agent_unmapped"
    """A coding agent's conversation that the map does not name."""
    AGENT_POLICY = "agent_policy"


@dataclass(frozen=True, slots=True)
class Resolution:
    """A conversation reads ``scope`` and public, and writes ``scope``. Without one it writes
    nothing, and reads public; where it is ``refused``, not even that. ``key`` is the map's key or
    the policy's name; ``value`` what stands there."""

    code: WhyCode
    key: str = ""
    value: str = ""
    scope: Scope | None = None

    @property
    def refused(self) -> bool:
        """Nobody can tell which conversation it is."""
        return self.code is WhyCode.MALFORMED_ID

    @property
    def name(self) -> str:
        """Of the scope that what is said is kept in, empty for none."""
        return self.scope.name if self.scope else ""


@dataclass(frozen=True, slots=True)
class DerivedScope:
    """A policy has derived a scope for a conversation, which the map calls so. ``own_id``: of the
    person of a private chat, or of the group; empty where it is unknown."""

    scope: str
    conversation: str
    adapter: str
    own_id: str

    @classmethod
    def of(cls, where: ConversationId, scope: Scope) -> DerivedScope:
        """The record of a conversation and a scope of its own."""
        own_id = where.peer or where.group or ""
        return cls(scope.name, where.map_key, where.adapter or "", own_id)

    @property
    def conversation_id(self) -> ConversationId:
        """The conversation; its persona is unknown. Raises InvalidConversationId."""
        parsed, own_id = ConversationId.parse(self.conversation), self.own_id or None
        private = parsed.kind is ConversationKind.PRIVATE
        peer, group = (own_id, None) if private else (None, own_id)
        return replace(parsed, adapter=self.adapter or None, peer=peer, group=group)


@dataclass(frozen=True, slots=True)
class Remainder:
    """Part of a former scope that belongs to the scope which its conversation has now.

    Attributes:
        conversations: Whose turns, and whose words, it is.
        whole: All memories of the source belong to them, also those that name no conversation.
        shared: Others see the target, too: bringing anything there shows it to them.
        turns: Queued ones. Like the memories, 0 before they are counted.
    """

    source: Scope
    target: Scope
    conversations: frozenset[str]
    whole: bool
    shared: bool
    memories: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Brought:
    """What was left behind stands in the target now; ``left`` memories stayed: they were changed
    meanwhile, or the target is public and they are not for everybody."""

    source: str
    target: str
    memories: int
    turns: int = 0
    left: int = 0


class BroughtBack(Brought):
    """What was brought stands in its former scope again; ``left`` memories were changed, moved or
    forgotten since, and were left as they are."""


class Rebinding(NamedTuple):
    """Two bot accounts, or the map keys of two conversations: what is known under one of them is
    known under the other."""

    old: str
    new: str
