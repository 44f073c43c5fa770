"""AstrBot's own events, read: conversation, person, persona."""

from __future__ import annotations

from operator import attrgetter
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from astrbot.core.platform.astrbot_message import MessageMember
from astrbot.core.platform.message_type import MessageType

from astrbot_plugin_scoped_memory.core.host.bot_facts import PersonaReader
from astrbot_plugin_scoped_memory.core.turn.events import Events
from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, ConversationKind
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.core.turn.turns import message

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


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
MING, UNNAMED = MessageMember("1001", "小明"), MessageMember("42", "Unknown")


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
    told = message(kind, session, **{"sender": MING, **more})
    account, adapter = more.get("account", "qq1"), more.get("adapter", "aiocqhttp")
    where, peer, group = read
    umo = f"{account}:{kind.value}:{session}"
    found = await READER.where(told)
    assert found == ConversationId(
        umo, adapter or None, account, where, peer=peer, group=group, persona="管家"
    )
    assert found.session == session


def telegram(full_name: str = "") -> SimpleNamespace:
    """What Telegram's adapter hands along, as far as it is read."""
    user = SimpleNamespace(full_name=full_name)
    return SimpleNamespace(message=SimpleNamespace(from_user=user) if full_name else None)


@pytest.mark.parametrize(
    ("sender", "raw", "person", "name"),
    [
        (MING, None, "x:1001", "小明"),
        (MessageMember("1", None), None, "x:1", "1"),
        # A private chat whose sender nobody names has no peer.
        (None, None, "", ""),
        (MessageMember("", "匿名"), None, "", "匿名"),
        (MessageMember("", None), None, "", ""),
        # Who has no user name on Telegram is called by the name that people see.
        (UNNAMED, telegram("王 小雯"), "x:42", "王 小雯"),
        (UNNAMED, telegram(), "x:42", "42"),
        (UNNAMED, None, "x:42", "42"),
    ],
)
async def test_the_actor_is_named_by_platform_and_id(
    sender: MessageMember | None, raw: object, person: str, name: str
) -> None:
    adapter = "telegram" if sender is UNNAMED else "aiocqhttp"
    told: Any = message(FRIEND, "1", sender=sender, adapter=adapter)
    told.message_obj.raw_message = raw
    for admin in (False, True):
        told.role = "admin" if admin else "member"
        actor = Actor(person.replace("x", adapter), name, admin=admin)
        assert await READER.who(told) == actor
    assert (await READER.where(told)).peer == (person.partition(":")[2] or None)


def astrbot(selected: str | None, current: str | None, broken: str) -> Any:
    """As far as personas go: what it decides on, the conversation, and what its database fails
    at."""
    made = MagicMock()
    made.get_platform_inst.return_value = None
    made.get_config.side_effect = lambda umo: {"provider_settings": {"of": umo}}
    found, talk = (selected, None, None, False), SimpleNamespace(persona_id="女仆")
    made.conversation_manager.get_curr_conversation_id = AsyncMock(return_value=current)
    made.conversation_manager.get_conversation = AsyncMock(return_value=talk)
    made.persona_manager.resolve_selected_persona = AsyncMock(return_value=found)
    if broken:
        attrgetter(broken)(made).side_effect = RuntimeError("database is locked")
    return made


CURRENT, TALK, CONFIG, RESOLVE = (
    "conversation_manager.get_curr_conversation_id",
    "conversation_manager.get_conversation",
    "get_config",
    "persona_manager.resolve_selected_persona",
)
AT_HAND = SimpleNamespace(persona_id="门房")


@pytest.mark.parametrize(
    ("selected", "current", "broken", "at_hand", "own", "found"),
    [
        ("管家", "c1", "", None, "女仆", "管家"),
        # A conversation at hand, or none at all, is not read.
        ("管家", "c1", TALK, AT_HAND, "门房", "管家"),
        ("管家", None, TALK, None, None, "管家"),
        # No persona is empty, and one that AstrBot cannot tell unknown.
        *((none, "c1", "", None, "女仆", "") for none in (None, "[%None]", "")),
        *(("管家", "c1", broken, None, "", None) for broken in (CURRENT, TALK, CONFIG, RESOLVE)),
    ],
)
async def test_the_persona_is_the_one_that_astrbot_selects(
    selected: str | None,
    current: str | None,
    broken: str,
    at_hand: Any,
    own: str | None,
    found: str | None,
) -> None:
    made, umo = astrbot(selected, current, broken), "qq1:GroupMessage:777"
    told = message(MessageType.GROUP_MESSAGE, "777", group="777", sender=MING)
    where = await reader(PersonaReader(made, Texts("zh-CN"))).where(told, at_hand)
    assert where.persona == found
    asked = {"umo": umo, "platform_name": "aiocqhttp", "provider_settings": {"of": umo}}
    if found is not None:
        resolved = made.persona_manager.resolve_selected_persona
        resolved.assert_awaited_once_with(conversation_persona_id=own, **asked)
