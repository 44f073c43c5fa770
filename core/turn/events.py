"""AstrBot's events, read into values: where, by whom and in which words something was said, and
what the plugin notes with an event. The only reader of event attributes.

A person's words are the plain parts of a message. AstrBot's ``message_str`` holds more: the
nickname of a mentioned member, the name of a file, the words of a quoted voice message. Others have
chosen those: a mention is ``@`` and the account.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypedDict
from weakref import WeakKeyDictionary, WeakValueDictionary

from astrbot.api import logger
from astrbot.api import message_components as parts
from astrbot.api.event import AstrMessageEvent
from astrbot.api.message_components import At, BaseMessageComponent, Plain, Reply
from astrbot.api.provider import LLMResponse
from astrbot.core.star.filter.command import CommandFilter
from astrbot.core.star.filter.command_group import CommandGroupFilter

from ...llm_memory import (
    Actor,
    CognitiveService,
    ConversationId,
    ConversationKind,
    EngineClosed,
    EngineOff,
    InvalidConversationId,
)
from ...llm_memory.catalogue.rules.talk_history import anchor
from ...llm_memory.models.turns import PAUSED_VIEW
from ...llm_memory.texts import Texts
from ..host.bot import adapter_of

_NOTES = "scoped_memory_notes"
_OWN = (Plain, parts.Image, parts.Record, parts.Video, parts.Face)
"""What holds no words but the sender's."""
_UTF16 = "utf-16-le"
"""Telegram counts in its units, of two bytes."""


class TurnNotes(TypedDict, total=False):
    """What is noted with an event: gone with it, and no other turn sees it. A plain dictionary:
    another load of the plugin may read it.

    Attributes:
        began: When its request to the model did.
        view: What the conversation could see when the event came, or when its turn began,
            whichever was noted first.
        history: The id of the chat history that the model is given, empty where it is given none.
        follow_ups: What its speaker said while it went on.
    """

    began: datetime
    view: str
    history: str
    recalled: tuple[str, ...]
    stored: tuple[str, ...]
    forgot: tuple[str, ...]
    follow_ups: list[AstrMessageEvent]
    kept: bool


def notes_of(event: AstrMessageEvent) -> TurnNotes:
    """The notes of an event's turn, to be read and changed."""
    notes: TurnNotes | None = event.get_extra(_NOTES)
    if notes is None:
        event.set_extra(_NOTES, notes := TurnNotes())
    return notes


@dataclass(frozen=True, slots=True)
class Said:
    """What an event says.

    Attributes:
        talk: Names the turn in the chat history, empty where it cannot be named.
        history: As in ``TurnNotes``.
        empty: Nothing is in that yet, as after ``/new`` and ``/reset``.
    """

    where: ConversationId
    who: Actor
    words: str
    talk: str
    history: str
    empty: bool = False


@dataclass(frozen=True)
class Events:
    """Reads events.

    An agent that AstrBot wakes by itself (a timer goes off, a background task ends, a plugin asks)
    carries the conversation's origin; its platform, group and sender are made up. So who and where
    it is comes from the origin alone, completed by what the engine has seen in persons' messages.
    ``personas`` is what a ``PersonaReader`` is.
    """

    astrbot: Any
    personas: Callable[[AstrMessageEvent, Any], Awaitable[str | None]]
    service: Callable[[], CognitiveService]
    texts: Texts
    _going: WeakValueDictionary[str, AstrMessageEvent] = field(default_factory=WeakValueDictionary)
    _places: WeakKeyDictionary[AstrMessageEvent, ConversationId] = field(
        default_factory=WeakKeyDictionary
    )

    def begins(self, event: AstrMessageEvent) -> None:
        """The model is asked for this turn."""
        self._going[event.unified_msg_origin] = event

    def comes(self, event: AstrMessageEvent) -> None:
        """A message: it is noted with the turn of the same person that is going on there. Between
        two tools AstrBot may put it into that turn, and no hook hears of it then."""
        going = self._going.get(event.unified_msg_origin, event)
        if going is not event and event.get_sender_id() == going.get_sender_id():
            notes_of(going).setdefault("follow_ups", []).append(event)

    async def read(self, event: AstrMessageEvent, conversation: Any = None) -> Said:
        """``conversation``: AstrBot's own, None where it is not at hand. To ask for it is to read
        all of its history from a database."""
        where = await self.where(event, conversation)
        known, words = notes_of(event).get("history", ""), said_words(event)
        history, empty = (known, False) if known else await self._history(event, conversation)
        return Said(where, await self.who(event), words, anchor(known, words), history, empty)

    async def where(self, event: AstrMessageEvent, conversation: Any = None) -> ConversationId:
        """Where the event comes from. A malformed origin is passed on, and refused further in.
        Found once a turn, for the persona stands in AstrBot's database."""
        if (found := self._places.get(event)) is not None:
            return found
        place = self.place(event)
        if not place.account:
            return place
        if self._woke(event):
            place = await self._woken_at(ConversationId.parse(event.unified_msg_origin))
        made = replace(place, persona=await self.personas(event, conversation))
        if made.persona is not None and not made.hidden:
            self._places[event] = made
        return made

    @staticmethod
    def place(event: AstrMessageEvent) -> ConversationId:
        """Where a person's event comes from, but for the persona, which is not asked for: until
        AstrBot makes the request, another one may be chosen."""
        umo = event.unified_msg_origin
        try:
            parsed = ConversationId.parse(umo)
        except InvalidConversationId:
            return ConversationId(str(umo), None, "", ConversationKind.OTHER)
        group = str(event.get_group_id() or "")
        private = parsed.kind is ConversationKind.PRIVATE
        title = getattr(getattr(event.message_obj, "group", None), "group_name", "")
        return ConversationId(
            umo=parsed.umo,
            adapter=event.get_platform_name() or None,
            account=parsed.account,
            # AstrBot calls what it does not know a private chat; one with a group is none.
            kind=ConversationKind.OTHER if private and group else parsed.kind,
            peer=(event.get_sender_id() or None) if private and not group else None,
            group=group or None,
            title=title if group and isinstance(title, str) else "",
        )

    async def who(self, event: AstrMessageEvent) -> Actor:
        """Who sent the event, or for whom an agent acts that AstrBot has woken."""
        if not self._woke(event):
            sender = event.get_sender_id()
            person = f"{event.get_platform_name()}:{sender}" if sender else ""
            return Actor(person=person, name=_name_of(event) or sender, admin=event.is_admin())
        job, where = event.get_extra("cron_payload"), await self.where(event)
        sender = str(job.get("sender_id") or "") if isinstance(job, dict) else ""
        found = await self._asked(self.service().on_behalf_of(where, sender))
        if found is None:
            return Actor("", self.texts.say("agent.alone"), spoke=False)
        name = self.texts.say("agent.on_behalf", name=found.name or found.peer)
        return Actor(found.person, name, spoke=False)

    async def _woken_at(self, parsed: ConversationId) -> ConversationId:
        """The origin completed; ``hidden`` where what it hides cannot be told now."""
        adapter = adapter_of(self.astrbot, parsed.account)
        unknown = ConversationId(parsed.umo, adapter, parsed.account, parsed.kind, hidden=True)
        return await self._asked(self.service().completed(parsed, adapter)) or unknown

    async def _asked[Found](self, found: Awaitable[Found]) -> Found | None:
        """What the engine knows of an agent, once it is open; None where it cannot tell."""
        with suppress(EngineClosed, EngineOff):
            return await found
        return None

    def _woke(self, event: AstrMessageEvent) -> bool:
        """True where no platform brought the event: a timer's, or one whose platform is not the
        platform of its account. Then nothing but its origin is true."""
        name = event.get_platform_name()
        account = str(event.unified_msg_origin).split(":", 1)[0]
        return bool(name == "cron" or (adapter_of(self.astrbot, account) or name) != name)

    def is_a_persons(self, event: AstrMessageEvent) -> bool:
        """False for what AstrBot tells itself: a timer that goes off, an echo of its own words."""
        own = bool(event.get_sender_id()) and event.get_sender_id() == event.get_self_id()
        return not own and not self._woke(event)

    async def _history(self, event: AstrMessageEvent, conversation: Any) -> tuple[str, bool]:
        if conversation is not None:
            kept = str(conversation.history or "").strip()
            return str(conversation.cid), kept in ("", "[]")
        current = None
        try:
            manager = self.astrbot.conversation_manager
            current = await manager.get_curr_conversation_id(event.unified_msg_origin)
        except Exception as error:  # noqa: BLE001  (AstrBot's database may raise anything)
            logger.debug(f"which chat history is current is unknown: {error!r}")
        # Where AstrBot names none, it is taken for one that never ends.
        return str(current or "unknown"), False

    async def kept_history(self, umo: str, history_id: str) -> str | None:
        """As JSON text; None where the conversation has none of that id: AstrBot gives it to
        whoever asks, also another conversation's. Raises what its database raises."""
        conversation = await self.astrbot.conversation_manager.get_conversation(umo, history_id)
        if conversation is None or conversation.user_id != umo:
            return None
        return str(conversation.history or "")


def is_command(event: AstrMessageEvent) -> bool:
    """True if a command of any plugin answers this event."""
    handlers: list[Any] = event.get_extra("activated_handlers") or []
    return any(
        isinstance(event_filter, CommandFilter | CommandGroupFilter)
        for handler in handlers
        for event_filter in handler.event_filters
    )


def all_words(event: AstrMessageEvent) -> str:
    """What the person said, with what AstrBot has put into this turn while it went on; but not what
    was off the record when it came."""
    said = [event]
    for one in notes_of(event).get("follow_ups", ()):
        on_record = notes_of(one).get("view") != PAUSED_VIEW and not notes_of(one).get("kept")
        if on_record and one.get_extra("_follow_up_captured"):
            said.append(one)
    return "\n".join(filter(None, map(said_words, said)))


def reply_text(event: AstrMessageEvent, response: LLMResponse | None) -> str | None:
    """What the model said, empty for nothing; None where AstrBot says why there is no answer."""
    if response is None or event.get_extra("agent_stop_requested"):
        return ""
    return None if response.role == "err" else (response.completion_text or "").strip()


def command_rest(event: AstrMessageEvent, words: int) -> str:
    """The message after its first ``words`` words, with its own line breaks and blanks."""
    return (said_words(event).split(None, words)[words:] or [""])[0].strip()


def _name_of(event: AstrMessageEvent) -> str:
    """What the sender is called. AstrBot's Telegram adapter calls everybody ``Unknown`` who has no
    user name; the message itself has the name that people see."""
    name: str = event.get_sender_name() or ""
    sender = getattr(_telegram_message(event), "from_user", None)
    shown = getattr(sender, "full_name", None) if name == "Unknown" else name
    return shown.strip() if isinstance(shown, str) else ""


def said_words(event: AstrMessageEvent) -> str:
    """What the sender has said, without the mark that wakes the bot."""
    said: str = event.message_str.strip()
    chain: Sequence[BaseMessageComponent] = event.get_messages()
    # Everybody, and the bot on QQ's official platform.
    mine = {str(event.get_self_id()), "all", "qq_official"}
    spelled = _telegram_words(_telegram_message(event))
    if spelled is not None:
        chain = [*(part for part in chain if not isinstance(part, Plain)), Plain(spelled)]
    elif not any(_holds_others(part, mine, said) for part in chain):
        return said
    written = str(event.message_obj.message_str).strip()
    if not written.endswith(said):  # a plugin has spelled it otherwise
        return _without_names(said, chain)
    return _words(chain, mine).removeprefix(written.removesuffix(said).strip()).strip()


def quoted_words(event: AstrMessageEvent) -> str:
    """The message that this one replies to, empty for none or one without words."""
    for part in event.get_messages():
        if isinstance(part, Reply):
            replied = getattr(_telegram_message(event), "reply_to_message", None)
            spelled = _telegram_words(replied)
            if spelled is None:
                spelled = _words(part.chain, ()) if part.chain else part.message_str or ""
            return spelled.strip()
    return ""


def _holds_others(part: BaseMessageComponent, mine: Collection[str], said: str) -> bool:
    if isinstance(part, At):
        return str(part.qq) not in mine or bool(part.name and part.name in said)
    return not isinstance(part, _OWN)


def _words(chain: Sequence[BaseMessageComponent], mine: Collection[str]) -> str:
    plain = "".join(part.text for part in chain if isinstance(part, Plain))
    said = ""
    for part in chain:
        if isinstance(part, Plain):
            said += part.text
        elif not isinstance(part, At):
            said += " "
        elif str(part.qq) not in mine and _mention(part) not in plain:  # Telegram has it twice
            said += f" {_mention(part)} "
    return said.strip()


def _mention(part: At) -> str:
    """Where the platform gives no id, AstrBot may put a name in its place."""
    account = str(part.qq)
    return f"@{account}" if re.fullmatch("[!-~]{1,64}", account) else "@"


def _without_names(said: str, chain: Sequence[BaseMessageComponent]) -> str:
    """The words where only their text is left: as adapters write mentions, each is replaced."""
    mentions = [part for part in chain if isinstance(part, At) and part.name]
    for part in sorted(mentions, key=lambda one: -len(str(one.name))):
        for written in (f"@{part.name}({part.qq})", f"@{str(part.name).strip()}"):
            said = said.replace(written, _mention(part))
    return said


def _telegram_message(event: AstrMessageEvent) -> Any:
    if event.get_platform_name() != "telegram":
        return None
    return getattr(getattr(event.message_obj, "raw_message", None), "message", None)


def _telegram_words(message: Any) -> str | None:
    """A message's text with accounts for names; None where it mentions only user names, which are
    accounts. Of a member without one, AstrBot tells the name as plain text alone."""
    found = getattr(message, "entities", None) or getattr(message, "caption_entities", None) or ()
    named = [entity for entity in found if entity.type == "text_mention"]
    if not named:
        return None
    text = (message.text or message.caption or "").encode(_UTF16)
    for one in reversed(named):
        start, end = 2 * one.offset, 2 * (one.offset + one.length)
        text = text[:start] + f"@{one.user.id}".encode(_UTF16) + text[end:]
    return text.decode(_UTF16)
