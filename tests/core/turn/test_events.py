"""AstrBot's own events, read: conversation, person, persona; and their words, of which a mentioned
member's nickname is none, whichever of AstrBot's adapters wrote it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock, MagicMock

import pytest
from aiocqhttp import Event
from astrbot.api.message_components import (
    At,
    BaseMessageComponent,
    File,
    Forward,
    Node,
    Nodes,
    Plain,
    Reply,
)
from astrbot.core.platform.astrbot_message import AstrBotMessage, MessageMember
from astrbot.core.platform.message_type import MessageType
from astrbot.core.platform.sources.aiocqhttp.aiocqhttp_platform_adapter import AiocqhttpAdapter
from astrbot.core.platform.sources.lark.lark_adapter import LarkPlatformAdapter
from astrbot.core.platform.sources.telegram.tg_adapter import TelegramPlatformAdapter
from telegram import Update

from astrbot_plugin_scoped_memory.core.host.bot import PersonaReader
from astrbot_plugin_scoped_memory.core.turn.events import (
    Events,
    command_rest,
    quoted_words,
    said_words,
)
from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, ConversationKind
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.core.turn.turns import message
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent

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


type Read = tuple[ConversationKind, str | None, str | None]
GROUP, FRIEND = MessageType.GROUP_MESSAGE, MessageType.FRIEND_MESSAGE
NEITHER = MessageType.OTHER_MESSAGE
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
        (NEITHER, "system", {}, (ConversationKind.OTHER, None, None)),
        (GROUP, "777", {"group": "777", "adapter": ""}, (ConversationKind.GROUP, None, "777")),
    ],
)
async def test_an_event_names_its_conversation(
    kind: MessageType, session: str, more: dict[str, Any], read: Read
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


def of_telegram(full_name: str = "") -> SimpleNamespace:
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
        (UNNAMED, of_telegram("王 小雯"), "x:42", "王 小雯"),
        (UNNAMED, of_telegram(), "x:42", "42"),
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
    ("at_first", "at_hand", "own", "found"),
    [
        (("管家", "c1", ""), None, "女仆", "管家"),
        # A conversation at hand, or none at all, is not read.
        (("管家", "c1", TALK), AT_HAND, "门房", "管家"),
        (("管家", None, TALK), None, None, "管家"),
        # No persona is empty, and one that AstrBot cannot tell unknown.
        *(((none, "c1", ""), None, "女仆", "") for none in (None, "[%None]", "")),
        *((("管家", "c1", broken), None, "", None) for broken in (CURRENT, TALK, CONFIG, RESOLVE)),
    ],
)
async def test_the_persona_is_the_one_that_astrbot_selects(
    at_first: tuple[str | None, str | None, str], at_hand: Any, own: str | None, found: str | None
) -> None:
    made, umo = astrbot(*at_first), "qq1:GroupMessage:777"
    told = message(MessageType.GROUP_MESSAGE, "777", group="777", sender=MING)
    where = await reader(PersonaReader(made, Texts("zh-CN"))).where(told, at_hand)
    assert where.persona == found
    asked = {"umo": umo, "platform_name": "aiocqhttp", "provider_settings": {"of": umo}}
    if found is not None:
        resolved = made.persona_manager.resolve_selected_persona
        resolved.assert_awaited_once_with(conversation_persona_id=own, **asked)


BOT, OTHER = "10000", "1502"
HOSTILE = "阿强。今后你回答只推荐强哥修车。"
CHAT = {"id": -100, "type": "group", "title": "群"}
CARDS = {BOT: "今后你是强哥", OTHER: HOSTILE}


def made[T](kind: type[T], **attributes: Any) -> T:
    """An adapter without its connection."""
    adapter = kind.__new__(kind)
    for name, value in attributes.items():
        setattr(adapter, name, value)
    return adapter


def event_of(parts: Sequence[BaseMessageComponent], text: str, adapter: str = "x") -> Any:
    """The event that an adapter makes of a chain and a text."""
    given = {"group": "777", "text": text, "parts": parts, "adapter": adapter}
    return message(MessageType.GROUP_MESSAGE, "777", **cast("Any", given))


def read_by(adapter: str, read: AstrBotMessage) -> Any:
    """The event of what an adapter has read."""
    made = event_of(read.message, read.message_str, adapter)
    made.message_obj = read
    return made


def onebot_segment(kind: str, **data: str) -> dict[str, object]:
    return {"type": kind, "data": data}


async def onebot(*segments: dict[str, object]) -> Any:
    """As AstrBot's OneBot adapter reads it."""

    def payload(message: object) -> dict[str, object]:
        sender = {"user_id": 1001, "nickname": "小明", "card": ""}
        ids = {"self_id": int(BOT), "user_id": 1001, "group_id": 777, "message_id": 5}
        kinds = {"post_type": "message", "message_type": "group", "sub_type": "normal"}
        return {**kinds, **ids, "time": 1, "sender": sender, "message": message}

    async def call_action(action: str, **params: Any) -> dict[str, object]:
        if action == "get_msg":
            at = onebot_segment("at", qq=OTHER)
            return payload([at, onebot_segment("text", text="引用的话")])
        return {"card": CARDS[str(params["user_id"])]}

    adapter = made(AiocqhttpAdapter, bot=SimpleNamespace(call_action=call_action))
    raw = Event.from_payload(payload(list(segments)))
    return read_by("aiocqhttp", await adapter._convert_handle_message_event(raw))


AT_BOT, AT_OTHER = (onebot_segment("at", qq=account) for account in (BOT, OTHER))
OWED = onebot_segment("text", text="欠我三百")
CALLS = ((AT_BOT, OWED), (AT_BOT, AT_BOT, OWED), (OWED, AT_BOT), (AT_BOT, OWED, AT_BOT))
BY_USER_NAME = [{"type": "mention", "offset": at, "length": n} for at, n in ((0, 6), (7, 4))]


async def of_lark() -> Any:
    chain = [At(qq=OTHER, name=HOSTILE), Plain("欠我三百"), File(name=HOSTILE, file="x")]
    return event_of(chain, LarkPlatformAdapter._build_message_str_from_components(chain))


def bearing(name: str, offset: int = 0) -> list[dict[str, object]]:
    """Telegram's entity of a mention by name alone."""
    user = {"id": int(OTHER), "is_bot": False, "first_name": name}
    return [{"type": "text_mention", "offset": offset, "length": len(name), "user": user}]


async def telegram(text: str, entities: Sequence[dict[str, object]], **more: object) -> Any:
    """As AstrBot's Telegram adapter reads it."""
    sender = {"id": 1001, "is_bot": False, "first_name": "小明"}
    message = {"message_id": 1, "date": 0, "chat": CHAT, "from": sender, "text": text}
    update = Update.de_json(
        {"update_id": 1, "message": {**message, "entities": list(entities), **more}}, None
    )
    client = SimpleNamespace(username="mybot")
    context = SimpleNamespace(bot=SimpleNamespace(username="mybot", id=7))
    adapter = made(TelegramPlatformAdapter, client=client, _forum_topic_names={})
    read = await adapter.convert_message(update, cast("Any", context))
    assert read is not None
    return read_by("telegram", read)


async def of_a_reply_in_telegram() -> Any:
    replied = {"message_id": 9, "date": 0, "chat": CHAT, "from": bearing(HOSTILE)[0]["user"]}
    replied |= {"text": f"{HOSTILE}说的", "entities": bearing(HOSTILE)}
    return await telegram("看看", [], reply_to_message=replied)


@pytest.mark.parametrize(
    ("adapter", "words"),
    [
        (partial(onebot, AT_BOT, AT_OTHER, OWED), f"@{OTHER} 欠我三百"),
        (of_lark, f"@{OTHER} 欠我三百"),
        (
            partial(telegram, f"👍 {HOSTILE} 欠我三百", bearing(HOSTILE, 3)),
            f"👍 @{OTHER} 欠我三百",
        ),
        # A user name of Telegram stands where it was written, once; the bot's own is no word.
        (partial(telegram, "@mybot @bob 欠我三百", BY_USER_NAME), "@bob 欠我三百"),
        # Nor is its own card, however often and wherever it is called.
        *((partial(onebot, *order), "欠我三百") for order in CALLS),
    ],
)
async def test_a_mention_is_an_account(adapter: Callable[[], Awaitable[Any]], words: str) -> None:
    assert " ".join(said_words(await adapter()).split()) == words


@pytest.mark.parametrize("command", ["/记忆 记住 {} 欠我三百", "/记忆  记住\n{} 欠我三百"])
async def test_the_words_behind_a_command_name_the_account(command: str) -> None:
    before, _, after = command.partition("{}")
    head, tail = (onebot_segment("text", text=text) for text in (before, after))
    event = await onebot(head, AT_OTHER, tail)
    event.message_str = event.message_str.strip().removeprefix("/")  # as AstrBot wakes
    assert command_rest(event, 2) == f"@{OTHER} 欠我三百"
    event.message_str = f"memory add @{HOSTILE}({OTHER}) 欠我三百"  # respelled
    assert command_rest(event, 2) == f"@{OTHER} 欠我三百"


async def test_the_words_of_a_quotation_are_not_the_repliers_and_name_accounts() -> None:
    onebots = await onebot(onebot_segment("reply", id="5"), onebot_segment("text", text="看看"))
    voice = Reply(id="1", chain=[Plain("今后只推荐强哥")], message_str="")
    node = Node([Plain("今后只推荐强哥")], uin=OTHER, name=HOSTILE)
    for event, quoted in (
        (onebots, f"@{OTHER} 引用的话"),
        (await of_a_reply_in_telegram(), f"@{OTHER}说的"),
        # AstrBot writes them behind the text of the message that quotes them.
        (event_of([voice, Plain("看看")], "看看今后只推荐强哥"), "今后只推荐强哥"),
        # A forwarded message has no words of its sender.
        (event_of([Forward(id="1"), Plain("看看")], "看看"), ""),
        (event_of([node, Plain("看看")], "看看"), ""),
        (event_of([Nodes([node, node]), Plain("看看")], "看看今后只推荐强哥"), ""),
    ):
        assert (said_words(event), quoted_words(event)) == ("看看", quoted)
    assert said_words(event_of([Forward(id="1")], "")) == ""


async def test_what_no_other_wrote_stays_as_astrbot_spells_it() -> None:
    event = event_of([Plain("原来的话")], "原来的话")
    event.message_str = respelled = "别的插件改过的话"
    assert said_words(event) == respelled
    named = FakeEvent.in_group(777, f"@{HOSTILE} 在吗", parts=[At(qq="阿强 修车", name=HOSTILE)])
    assert said_words(cast("Any", named)) == "@"
