"""What ``resolve`` answers, and why; that a conversation is off the record, or goes on under
another name; and what stands in a scope that a policy derived for it before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from .conversation import ConversationId, ConversationKind
from .scope import Scope


@dataclass(frozen=True, slots=True)
class Resolution:
    """A conversation reads ``scope`` and public, and writes ``scope``. Without one it writes
    nothing, and reads public; where it is ``refused``, not even that. ``code`` says how it came
    about, and has a text in the i18n files; ``key`` is the map's key or the policy's name,
    ``value`` what stands there."""

    code: str
    key: str = ""
    value: str = ""
    scope: Scope | None = None

    @property
    def refused(self) -> bool:
        """Nobody can tell which conversation it is."""
        return self.code == "malformed_id"

    @property
    def name(self) -> str:
        """Of the scope that what is said is kept in, empty for none."""
        return self.scope.name if self.scope else ""


@dataclass(frozen=True, slots=True)
class Pause:
    """A conversation is off the record. ``scope``: the one that it had then; ``until``: when it
    ends by itself, None for never; ``before``: it was asked for again, with the same end."""

    scope: str
    since: datetime
    until: datetime | None = None
    before: bool = False


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
