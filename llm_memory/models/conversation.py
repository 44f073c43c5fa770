"""Where a message comes from, and who acts. Neither holds a scope."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypedDict

from ..errors import InvalidConversationId

AGENT_ACCOUNT = "mcp"
"""The account of coding agents' conversations, where others have that of a bot."""


class ConversationKind(StrEnum):
    """The middle part of a ``unified_msg_origin``; anything unknown is OTHER."""

    GROUP = "GroupMessage"
    PRIVATE = "FriendMessage"
    OTHER = "OtherMessage"

    @classmethod
    def _missing_(cls, value: object) -> ConversationKind:
        return cls.OTHER


@dataclass(frozen=True, slots=True)
class ConversationId:
    """One conversation, as the bot framework names it.

    Attributes:
        umo: ``<account>:<message type>:<session>``, what ``str()`` gives.
        adapter: The platform's type (``aiocqhttp``), None where a string could not tell.
        account: The id that the owner gave the bot account: the first part of ``umo``.
        kind: Group, private or something else.
        peer: The person of a private chat, None in groups or where it is unknown.
        group: The group's own id, also where the platform splits a group by member.
        persona: The persona in force, empty for none, None where it is unknown.
        hidden: True where only ``umo`` is known, and no person's message has told what it hides:
            the group of a member's session, or the person of a private chat.
        title: What the group is called, empty where it is unknown. It tells no conversations apart.
    """

    umo: str
    adapter: str | None
    account: str
    kind: ConversationKind
    peer: str | None = None
    group: str | None = None
    persona: str | None = None
    hidden: bool = False
    title: str = field(default="", compare=False)

    @classmethod
    def parse(cls, umo: object) -> ConversationId:
        """Read a umo string. Adapter, group and persona are None: a string cannot tell them. Raises
        InvalidConversationId unless it has three non-empty parts."""
        if not isinstance(umo, str) or not is_well_formed(umo):
            raise InvalidConversationId(umo)
        account, kind_name, session = umo.split(":", 2)
        kind = ConversationKind(kind_name)
        peer = _private_peer(session) if kind is ConversationKind.PRIVATE else None
        return cls(umo=umo, adapter=None, account=account, kind=kind, peer=peer)

    @property
    def session(self) -> str:
        return self.umo.split(":", 2)[2]

    @property
    def person(self) -> str:
        """With whom a private chat is, as ``Actor.person``; empty in groups, or if unknown."""
        return f"{self.adapter}:{self.peer}" if self.adapter and self.peer else ""

    @property
    def is_agent(self) -> bool:
        """True for a coding agent: ``mcp:project:<name>``. A bot account that is called so keeps
        its groups and private chats."""
        return self.account == AGENT_ACCOUNT and self.kind is ConversationKind.OTHER

    @property
    def map_key(self) -> str:
        """What an owner puts in the map: the group's own id, also where the platform splits the
        group by member."""
        if self.kind is ConversationKind.GROUP and self.group and self.account:
            return f"{self.account}:{self.kind}:{self.group}"
        return self.umo

    def __str__(self) -> str:
        return self.umo


def is_well_formed(umo: str) -> bool:
    """True for three parts that are not empty."""
    parts = umo.split(":", 2)
    return len(parts) == 3 and all(part.strip() for part in parts)


def _private_peer(session: str) -> str:
    """The person in a private session id; web chat writes ``webchat!<user>!<session>``."""
    parts = session.split("!", 2)
    return parts[1] if parts[0] == "webchat" and len(parts) == 3 and parts[1] else session


@dataclass(frozen=True, slots=True)
class Actor:
    """``person`` is ``<adapter>:<id>``, empty if the platform does not name one. ``spoke`` is False
    where the bot acts by itself on this person's behalf, as when a timer goes off: then nothing is
    the person's word, and ``admin`` is False."""

    person: str
    name: str
    admin: bool = False
    spoke: bool = True

    @property
    def is_agent(self) -> bool:
        """True for the account that all coding agents speak under."""
        return self.person.startswith(f"{AGENT_ACCOUNT}:")


class By(TypedDict):
    """What most verbs of the front door take."""

    conversation_id: ConversationId
    actor: Actor


class SeenSender(NamedTuple):
    """A person as a message of his own has shown him in a conversation, whose scope it was then;
    empty where nothing was kept. ``group`` and ``peer``: ids on the platform, empty for none."""

    umo: str
    scope: str
    adapter: str
    group: str
    peer: str
    name: str

    @property
    def person(self) -> str:
        return f"{self.adapter}:{self.peer}" if self.peer else ""
