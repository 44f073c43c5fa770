"""From AstrBot's events to the engine's values: the only reader of event attributes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from astrbot.api.event import AstrMessageEvent
from astrbot.core.star.filter.command import CommandFilter
from astrbot.core.star.filter.command_group import CommandGroupFilter

from ..llm_memory import Actor, ConversationId, ConversationKind, InvalidConversationId

_INJECTED = "scoped_memory_injected"

PersonaLookup = Callable[[AstrMessageEvent], Awaitable[str | None]]
"""The persona in force: empty for none, None if it cannot be told."""


@dataclass(frozen=True, slots=True)
class TurnReader:
    """Reads events. ``personas`` tells the persona in force."""

    personas: PersonaLookup

    async def conversation_id(self, event: AstrMessageEvent) -> ConversationId:
        """Where the event comes from. A malformed origin is passed on, and refused further in."""
        umo = event.unified_msg_origin
        try:
            parsed = ConversationId.parse(umo)
        except InvalidConversationId:
            return ConversationId(str(umo), None, "", ConversationKind.OTHER)
        kind = parsed.kind
        group = str(event.get_group_id() or "")
        if kind is ConversationKind.PRIVATE and group:
            # AstrBot calls what it does not know a private chat; one with a group is none.
            kind = ConversationKind.OTHER
        private = kind is ConversationKind.PRIVATE
        return ConversationId(
            umo=parsed.umo,
            adapter=event.get_platform_name() or None,
            account=parsed.account,
            kind=kind,
            peer=(event.get_sender_id() or None) if private else None,
            group=group or None,
            persona=await self.personas(event),
        )

    @staticmethod
    def actor(event: AstrMessageEvent) -> Actor:
        """Who sent the event."""
        sender = event.get_sender_id()
        person = f"{event.get_platform_name()}:{sender}" if sender else ""
        return Actor(person=person, name=event.get_sender_name() or sender, admin=event.is_admin())

    @staticmethod
    def user_text(event: AstrMessageEvent) -> str:
        """What the person wrote in this turn. The request's prompt may be AstrBot's own words."""
        return event.message_str.strip()

    @staticmethod
    def is_command(event: AstrMessageEvent) -> bool:
        """True if a command of any plugin answers this event."""
        handlers: list[Any] = event.get_extra("activated_handlers") or []
        return any(
            isinstance(event_filter, CommandFilter | CommandGroupFilter)
            for handler in handlers
            for event_filter in handler.event_filters
        )

    @staticmethod
    def claim_injection(event: AstrMessageEvent) -> bool:
        """True for the first caller in a turn, False afterwards."""
        if event.get_extra(_INJECTED):
            return False
        event.set_extra(_INJECTED, True)
        return True

    @staticmethod
    def command_rest(event: AstrMessageEvent, words: int) -> str:
        """The message after its first ``words`` words, with its own line breaks and blanks."""
        return (event.message_str.strip().split(None, words)[words:] or [""])[0].strip()
