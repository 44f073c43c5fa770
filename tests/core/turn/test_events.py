"""AstrBot's own events, read: conversation, person, persona."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.core.platform.astr_message_event import AstrMessageEvent
from astrbot.core.platform.astrbot_message import AstrBotMessage, MessageMember
from astrbot.core.platform.message_type import MessageType
from astrbot.core.platform.platform_metadata import PlatformMetadata

from astrbot_plugin_scoped_memory.core.host.bot_facts import PersonaReader
from astrbot_plugin_scoped_memory.core.turn.events import Events
from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, ConversationKind
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


class PlainEvent(AstrMessageEvent):
    """An event of no platform in particular."""


def event(
    kind: MessageType,
    session: str,
    *,
    group: str = "",
    sender: MessageMember | None = None,
    adapter: str = "aiocqhttp",
    account: str = "qq1",
    text: str = "",
) -> AstrMessageEvent:
    """A message as an adapter hands it in: ``account`` is the owner's name for the bot."""
    message = AstrBotMessage()
    message.type = kind
    message.self_id = "10000"
    message.session_id = session
    message.message_id = "1"
    message.message = []
    message.message_str = text
    message.group_id = group
    if sender is not None:
        message.sender = sender
    return PlainEvent(text, message, PlatformMetadata(adapter, "", account), session)


async def persona_is_butler(_: object, __: object) -> str | None:
    """A persona lookup."""
    return "管家"


def no_service() -> Any:
    """Nobody asks the engine about a person's own message."""
    raise AssertionError


def reader(personas: Any = persona_is_butler) -> Events:
    """What reads events of an AstrBot that knows no account."""
    astrbot = SimpleNamespace(get_platform_inst=lambda _: None)
    return Events(astrbot, personas, no_service, Texts("zh-CN"))


READER = reader()
MING = MessageMember("1001", "小明")


GROUP, FRIEND, OTHER = (
    MessageType.GROUP_MESSAGE,
    MessageType.FRIEND_MESSAGE,
    MessageType.OTHER_MESSAGE,
)
WEB = {"sender": MessageMember("astrbot", "astrbot"), "adapter": "webchat", "account": "webchat"}
TOPIC = {"group": "-100123#7", "adapter": "telegram", "account": "tg"}


@pytest.mark.parametrize(
    ("kind", "session", "more", "read"),
    [
        (GROUP, "777", {"group": "777"}, (ConversationKind.GROUP, None, "777")),
        (FRIEND, "1001", {}, (ConversationKind.PRIVATE, "1001", None)),
        (FRIEND, "webchat!astrbot!0f3c-1", WEB, (ConversationKind.PRIVATE, "astrbot", None)),
        # A group that is split by member keeps its own id, a topic and one with colons stay whole.
        (GROUP, "1001_777", {"group": "777"}, (ConversationKind.GROUP, None, "777")),
        (GROUP, "-100123#7", TOPIC, (ConversationKind.GROUP, None, "-100123#7")),
        (GROUP, "oc:1:2", {"group": "oc:1:2"}, (ConversationKind.GROUP, None, "oc:1:2")),
        # What AstrBot calls private though it has a group, and what is neither.
        (FRIEND, "1001", {"group": "777"}, (ConversationKind.OTHER, None, "777")),
        (OTHER, "system", {}, (ConversationKind.OTHER, None, None)),
        (GROUP, "777", {"group": "777", "adapter": ""}, (ConversationKind.GROUP, None, "777")),
    ],
)
async def test_an_event_names_its_conversation(
    kind: MessageType,
    session: str,
    more: dict[str, Any],
    read: tuple[ConversationKind, str | None, str | None],
) -> None:
    told = event(kind, session, **{"sender": MING, **more})
    account, adapter = more.get("account", "qq1"), more.get("adapter", "aiocqhttp")
    where, peer, group = read
    umo = f"{account}:{kind.value}:{session}"
    found = await READER.where(told)
    assert found == ConversationId(
        umo, adapter or None, account, where, peer=peer, group=group, persona="管家"
    )
    assert found.session == session


@pytest.mark.parametrize("sender", [None, MessageMember("", "匿名"), MessageMember("", None)])
async def test_a_private_chat_whose_sender_nobody_names_has_no_peer(
    sender: MessageMember | None,
) -> None:
    told = event(MessageType.FRIEND_MESSAGE, "1001", sender=sender)
    read = await READER.where(told)
    assert (read.kind, read.peer) == (ConversationKind.PRIVATE, None)
    actor = await READER.who(told)
    assert actor.person == ""
    assert actor.name == ((sender and sender.nickname) or "")


@pytest.mark.parametrize("umo", ["", "x", "a:b", "a:GroupMessage:", "a:GroupMessage: ", ":x:y"])
async def test_a_malformed_origin_is_passed_on_as_nobodys(umo: str) -> None:
    told: Any = FakeEvent(umo, group="777")
    read = await READER.where(told)
    assert read == ConversationId(umo, None, "", ConversationKind.OTHER)


async def test_the_actor_is_named_by_platform_and_id() -> None:
    told = event(MessageType.GROUP_MESSAGE, "777", group="777", sender=MING)
    assert await READER.who(told) == Actor("aiocqhttp:1001", "小明", admin=False)
    told.role = "admin"
    assert await READER.who(told) == Actor("aiocqhttp:1001", "小明", admin=True)
    nameless = event(MessageType.FRIEND_MESSAGE, "1", sender=MessageMember("1", None))
    assert await READER.who(nameless) == Actor("aiocqhttp:1", "1")


class FakeManagers:
    """AstrBot's context and both of its managers, as far as personas go. ``selected`` is what
    AstrBot decides on; ``failing``: what its database fails at."""

    def __init__(self, selected: str | None = "管家", failing: str = "") -> None:
        self.selected, self.failing = selected, failing
        self.current: str | None = "c1"
        self.asked: dict[str, Any] = {}
        self.conversation_manager = self.persona_manager = self

    def get_platform_inst(self, account: str) -> Any:
        return None

    def _unless(self, failing: str, answer: Any) -> Any:
        if failing == self.failing:
            raise RuntimeError("database is locked")
        return answer

    def get_config(self, umo: str) -> Any:
        return self._unless("config", {"provider_settings": {"of": umo}})

    async def get_curr_conversation_id(self, umo: str) -> Any:
        return self._unless("current", self.current)

    async def get_conversation(self, umo: str, number: str) -> Any:
        return self._unless("conversation", SimpleNamespace(persona_id="女仆"))

    async def resolve_selected_persona(self, **given: Any) -> Any:
        self.asked = given
        return self._unless("resolve", (self.selected, None, None, False))


async def persona(managers: Any, at_hand: Any = None) -> str | None:
    """The persona in the group 777."""
    told = event(MessageType.GROUP_MESSAGE, "777", group="777", sender=MING)
    where = await reader(PersonaReader(managers, Texts("zh-CN"))).where(told, at_hand)
    return where.persona


async def test_the_persona_is_the_one_that_astrbot_selects() -> None:
    """A conversation at hand, or none at all, is not read."""
    for at_hand, current, own in (
        (None, "c1", "女仆"),
        (SimpleNamespace(persona_id="门房"), "c1", "门房"),
        (None, None, None),
    ):
        managers = FakeManagers(failing="" if own == "女仆" else "conversation")
        managers.current = current
        assert await persona(managers, at_hand) == "管家"
        assert managers.asked == {
            "umo": "qq1:GroupMessage:777",
            "conversation_persona_id": own,
            "platform_name": "aiocqhttp",
            "provider_settings": {"of": "qq1:GroupMessage:777"},
        }


@pytest.mark.parametrize(
    ("managers", "found"),
    [
        *((FakeManagers(selected), "") for selected in (None, "[%None]", "")),
        *((FakeManagers(failing=name), None) for name in ("current", "conversation", "resolve")),
        (FakeManagers(failing="config"), None),
    ],
)
async def test_no_persona_is_empty_and_one_that_astrbot_cannot_tell_unknown(
    managers: FakeManagers, found: str | None
) -> None:
    assert await persona(managers) == found


def _update(full_name: str) -> SimpleNamespace:
    """What Telegram's adapter hands along, as far as it is read."""
    return SimpleNamespace(message=SimpleNamespace(from_user=SimpleNamespace(full_name=full_name)))


@pytest.mark.parametrize(
    ("raw", "name"),
    [(_update("王 小雯"), "王 小雯"), (SimpleNamespace(message=None), "42"), (None, "42")],
)
async def test_who_has_no_user_name_on_telegram_is_called_by_the_name_that_people_see(
    raw: object, name: str
) -> None:
    unnamed: Any = event(
        MessageType.FRIEND_MESSAGE,
        "42",
        sender=MessageMember("42", "Unknown"),
        adapter="telegram",
    )
    unnamed.message_obj.raw_message = raw
    assert (await READER.who(unnamed)).name == name
