"""From AstrBot's events to the engine's values: the only reader of event attributes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import LLMResponse
from astrbot.core.star.filter.command import CommandFilter
from astrbot.core.star.filter.command_group import CommandGroupFilter

from ...llm_memory import Actor, ConversationId, ConversationKind, InvalidConversationId
from ...llm_memory.catalogue.rules.talk_history import anchor
from ...llm_memory.models.turns import PAUSED_VIEW
from .spoken_words import said_words
from .turn_notes import is_first, notes_of
from .woken_agents import WokenAgents

_MOST_FOLLOW_UPS = 20
_CAPTURED = "_follow_up_captured"
"""AstrBot's own: the message went into a turn that was going on."""
_STOPPING = "agent_stop_requested"
"""AstrBot's own: the person has told it to stop, and what it says then is not the model's."""
_SENT = "_send_message_to_user_current_session_plain_texts"
"""AstrBot's own: what its tool ``send_message_to_user`` has sent here in this turn."""
_ERROR = "err"
_UNNAMED = "Unknown"

PersonaLookup = Callable[[AstrMessageEvent, Any], Awaitable[str | None]]
"""The persona in force: empty for none, None if it cannot be told. From an event and, where it is
at hand, AstrBot's conversation."""


def is_admin(context: Any, person: str) -> bool:
    """True for ``<adapter>:<id>`` of one whom AstrBot calls an admin now: it goes by the id."""
    admins: list[Any] = context.get_config().get("admins_id") or []
    return person.partition(":")[2] in map(str, admins)


def _name_of(event: AstrMessageEvent) -> str:
    """What the sender is called. AstrBot's Telegram adapter calls everybody ``Unknown`` who has no
    user name; the message itself has the name that people see."""
    name: str = event.get_sender_name() or ""
    if name != _UNNAMED:
        return name
    raw = getattr(event.message_obj, "raw_message", None)
    sender = getattr(getattr(raw, "message", None), "from_user", None)
    shown = getattr(sender, "full_name", None)
    return shown.strip() if isinstance(shown, str) else ""


def _title_of(event: AstrMessageEvent) -> str:
    """What the group is called, where the platform tells."""
    name = getattr(getattr(getattr(event, "message_obj", None), "group", None), "group_name", "")
    return name if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class TurnReader:
    """Reads events. ``personas`` tells the persona in force, ``agents`` what no person sent."""

    personas: PersonaLookup
    agents: WokenAgents

    async def conversation_id(
        self, event: AstrMessageEvent, conversation: Any = None
    ) -> ConversationId:
        """Where the event comes from. A malformed origin is passed on, and refused further in.

        Found once a turn, for the persona stands in AstrBot's database. What another load of the
        plugin found is not used: its values are of other classes.

        ``conversation``: AstrBot's own, None where it is not at hand.
        """
        finder, found = notes_of(event).get("conversation", (None, None))
        if finder is self and isinstance(found, ConversationId):
            return found
        made = await self._conversation_id(event, conversation)
        if made.persona is not None and not made.hidden:
            notes_of(event)["conversation"] = (self, made)
        return made

    async def _conversation_id(self, event: AstrMessageEvent, conversation: Any) -> ConversationId:
        try:
            parsed = ConversationId.parse(event.unified_msg_origin)
        except InvalidConversationId:
            return self.place(event)
        persona = await self.personas(event, conversation)
        if self.agents.woke(event):
            return replace(await self.agents.conversation_id(parsed), persona=persona)
        return replace(self.place(event), persona=persona)

    @staticmethod
    def place(event: AstrMessageEvent) -> ConversationId:
        """Where a person's event comes from, but for the persona, which is not asked for: until
        AstrBot makes the request, another one may be chosen."""
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
            title=_title_of(event) if group else "",
        )

    async def actor(self, event: AstrMessageEvent) -> Actor:
        """Who sent the event, or for whom an agent acts that AstrBot has woken."""
        if self.agents.woke(event):
            return await self.agents.actor(event, await self.conversation_id(event))
        sender = event.get_sender_id()
        person = f"{event.get_platform_name()}:{sender}" if sender else ""
        name = _name_of(event) or sender
        return Actor(person=person, name=name, admin=event.is_admin())

    @staticmethod
    def user_text(event: AstrMessageEvent) -> str:
        """What the person wrote in this turn. The request's prompt may be AstrBot's own words."""
        return said_words(event)

    @staticmethod
    def is_command(event: AstrMessageEvent) -> bool:
        """True if a command of any plugin answers this event."""
        handlers: list[Any] = event.get_extra("activated_handlers") or []
        return any(
            isinstance(event_filter, CommandFilter | CommandGroupFilter)
            for handler in handlers
            for event_filter in handler.event_filters
        )

    def is_a_persons(self, event: AstrMessageEvent) -> bool:
        """False for what AstrBot tells itself: a timer that goes off, an echo of its own words."""
        own = bool(event.get_sender_id()) and event.get_sender_id() == event.get_self_id()
        return not own and not self.agents.woke(event)

    @staticmethod
    def is_overheard(event: AstrMessageEvent) -> bool:
        """True for a message in a group that does not address the bot."""
        in_group = bool(event.get_group_id()) and not event.is_private_chat()
        return in_group and not event.is_at_or_wake_command

    @staticmethod
    def reply_text(event: AstrMessageEvent, response: LLMResponse | None) -> str | None:
        """What the bot said: what a tool sent in the turn, then the model's answer. Empty for
        nothing; None where AstrBot says why there is no answer."""
        sent: list[str] = event.get_extra(_SENT) or []
        if response is None or event.get_extra(_STOPPING):
            return "\n".join(sent)
        if response.role == _ERROR:
            return "\n".join(sent) or None
        said = (*sent, (response.completion_text or "").strip())
        return "\n".join(filter(None, dict.fromkeys(said)))

    @classmethod
    def take_words(cls, event: AstrMessageEvent) -> str:
        """What the person wrote, for the first caller in a turn; empty afterwards."""
        return cls.user_text(event) if is_first(event, "taken") else ""

    @staticmethod
    def note_follow_up(going: AstrMessageEvent, event: AstrMessageEvent) -> None:
        """The speaker of a turn that goes on has said something more: held by that turn alone."""
        held = notes_of(going).setdefault("follow_ups", [])
        if event.get_sender_id() == going.get_sender_id() and len(held) < _MOST_FOLLOW_UPS:
            held.append(event)

    @classmethod
    def take_follow_ups(cls, event: AstrMessageEvent) -> list[str]:
        """What of it AstrBot has put into this turn. The rest has turns of its own."""
        put = (one for one in _captured(event) if notes_of(one).get("view") != PAUSED_VIEW)
        return [words for one in put if (words := cls.take_words(one))]

    @classmethod
    def heard(cls, event: AstrMessageEvent) -> str:
        """All that the person has said in this turn so far, follow-ups included."""
        return "\n".join(map(cls.user_text, (event, *_captured(event))))

    @classmethod
    def talk(cls, event: AstrMessageEvent) -> str:
        """Names the turn in AstrBot's chat history, empty where it cannot be named."""
        return anchor(notes_of(event).get("history", ""), cls.user_text(event))

    @staticmethod
    def command_rest(event: AstrMessageEvent, words: int) -> str:
        """The message after its first ``words`` words, with its own line breaks and blanks."""
        return (said_words(event).split(None, words)[words:] or [""])[0].strip()


def _captured(event: AstrMessageEvent) -> list[AstrMessageEvent]:
    """What AstrBot has put into a turn of what its speaker said more."""
    return [one for one in notes_of(event).get("follow_ups", ()) if one.get_extra(_CAPTURED)]


class FollowUps:
    """Notes each message with the turn of the same person that is going on there; which of them
    AstrBot has put into it is known when that ends.

    Between two tools AstrBot may put such a message into the turn that goes on: the model reads it,
    no turn of its own comes of it, and no hook hears of it. It is said in a finished turn all the
    same.
    """

    def __init__(self) -> None:
        self._going: WeakValueDictionary[str, AstrMessageEvent] = WeakValueDictionary()

    def begins(self, event: AstrMessageEvent) -> None:
        """The model is asked for this turn."""
        self._going[event.unified_msg_origin] = event

    def comes(self, event: AstrMessageEvent) -> None:
        """A message, before anybody has done anything with it."""
        going = self._going.get(event.unified_msg_origin)
        if going is not None and going is not event:
            TurnReader.note_follow_up(going, event)
