"""What stands in a scope that a policy derived for a conversation before, but does not any more."""

from __future__ import annotations

from dataclasses import dataclass

from .conversation import ConversationId, ConversationKind
from .scope import Scope


@dataclass(frozen=True, slots=True)
class DerivedScope:
    """That a policy has derived a scope for a conversation.

    Attributes:
        scope: The scope's name.
        conversation: What the owner's map calls the conversation by.
        adapter: The platform's type, empty where it is unknown.
        own_id: The person of a private chat, or the group's own id; empty where it is unknown.
    """

    scope: str
    conversation: str
    adapter: str
    own_id: str

    @classmethod
    def of(cls, conversation_id: ConversationId, scope: Scope) -> DerivedScope:
        """The record of a conversation and a scope of its own."""
        own_id = conversation_id.peer or conversation_id.group or ""
        adapter = conversation_id.adapter or ""
        return cls(scope.name, conversation_id.map_key, adapter, own_id)

    @property
    def conversation_id(self) -> ConversationId:
        """The conversation; its persona is unknown. Raises InvalidConversationId."""
        parsed = ConversationId.parse(self.conversation)
        own_id = self.own_id or None
        private = parsed.kind is ConversationKind.PRIVATE
        return ConversationId(
            umo=parsed.umo,
            adapter=self.adapter or None,
            account=parsed.account,
            kind=parsed.kind,
            peer=own_id if private else None,
            group=None if private else own_id,
        )


@dataclass(frozen=True, slots=True)
class Remainder:
    """Part of a former scope that belongs to the scope which its conversation has now.

    Attributes:
        conversations: Whose turns, and whose words, it is.
        whole: All memories of the source belong to them, also those that name no conversation.
        shared: Others see the target, too: bringing anything there shows it to them.
    """

    source: Scope
    target: Scope
    conversations: frozenset[str]
    whole: bool
    shared: bool


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A remainder in numbers: memories, and queued turns."""

    remainder: Remainder
    memories: int
    turns: int

    @property
    def source(self) -> str:
        """The former scope's name."""
        return self.remainder.source.name

    @property
    def target(self) -> str:
        """The name of the scope to which it belongs now."""
        return self.remainder.target.name

    @property
    def shared(self) -> bool:
        """Others see the target, too."""
        return self.remainder.shared


@dataclass(frozen=True, slots=True)
class Brought:
    """What was left behind stands in the target now; ``left`` memories stayed: they were changed
    meanwhile, or the target is public and they were told in
    confidence, or made of several conversations."""

    source: str
    target: str
    memories: int
    turns: int
    left: int = 0


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """What was brought stands in its former scope again; ``left`` memories were changed, moved or
    forgotten since, and were left as they are."""

    source: str
    target: str
    memories: int
    left: int = 0


@dataclass(frozen=True, slots=True)
class MustBeNamed:
    """Nothing was brought: others see these scopes, too, so an admin has to name them."""

    left: tuple[LeftBehind, ...]
