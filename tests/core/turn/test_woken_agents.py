"""Agents that AstrBot wakes by itself: where they are, for whom they act, what they may store."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.core.cron.events import CronMessageEvent
from astrbot.core.platform.astrbot_message import MessageMember
from astrbot.core.platform.message_session import MessageSession
from astrbot.core.platform.message_type import MessageType

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    DeedKind,
    MemoryDraft,
    Refused,
    is_changed,
)
from astrbot_plugin_scoped_memory.tests.core.turn.turns import message
from astrbot_plugin_scoped_memory.tests.support.astrbot_events import PLATFORMS
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakePlugin, used
from astrbot_plugin_scoped_memory.tools.core_memory_recall import core_memory_recall
from astrbot_plugin_scoped_memory.tools.core_memory_remember import core_memory_remember
from astrbot_plugin_scoped_memory.tools.entry_tools import update_tasks

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

ACCOUNT = "mine"
FAMILY = {f"{ACCOUNT}:GroupMessage:777": "家人"}
WEN, MING = MessageMember("1002", "小雯"), MessageMember("1001", "小明")
GATE = "后门的密码写在鞋柜里"


def woken(umo: str, note: str = "该提醒了", **payload: Any) -> Any:
    """What AstrBot runs an agent under when a timer goes off. Without ``payload``: when a
    background task has ended."""
    session = MessageSession.from_str(umo)
    extras = {"cron_payload": payload} if payload else {"background_task_result": {}}
    given: Any = {"extras": extras, "message_type": session.message_type}
    made = CronMessageEvent(context=None, session=session, message=note, **given)
    made.role = "admin"  # as where an admin has set the timer, or the panel
    return made


def in_family(sender: MessageMember = WEN, session: str = "") -> Any:
    """A message in the group 777, which AstrBot splits by member unless there is a ``session``."""
    session = session or f"{sender.user_id}_777"
    return message(MessageType.GROUP_MESSAGE, session, group="777", sender=sender, account=ACCOUNT)


def private(session: str, sender: MessageMember) -> Any:
    return message(MessageType.FRIEND_MESSAGE, session, sender=sender, account=ACCOUNT)


FAMILY_UMO = f"{ACCOUNT}:GroupMessage:1002_777"


class Bot(FakePlugin):
    """A plugin over an engine; AstrBot knows the account's platform."""

    def __init__(self, rig: Rig, adapter: str | None = "aiocqhttp", persona: str = "") -> None:
        super().__init__(rig, persona=persona)
        platform = SimpleNamespace(meta=lambda: SimpleNamespace(name=adapter))
        self.astrbot.get_platform_inst = lambda _: platform if adapter else None

    async def hears(self, *events: Any) -> None:
        for event in events:
            where = await self.events.where(event)
            await self.service.meet(where, await self.events.who(event))


async def remembered(bot: Bot, event: Any, text: str) -> str:
    return await used(core_memory_remember, bot, event, judgment=text)


def entries(root: Path, scope: str) -> str:
    folder = root / "memory" / "scopes" / scope
    return "\n".join(path.read_text("utf-8") for path in sorted(folder.rglob("*.md")))


# Who and where

NOBODY = Actor("", "机器人", spoke=False)
FORMS = [
    (platform, kind, session.format(sender="1002", group="777", chat="c-9"))
    for platform in PLATFORMS
    for kind, session in (
        (MessageType.FRIEND_MESSAGE, platform.private),
        (MessageType.GROUP_MESSAGE, platform.group),
        (MessageType.GROUP_MESSAGE, platform.split),
    )
    if session
]


async def test_a_woken_agent_is_where_the_message_was_that_showed_its_umo(tmp_path: Path) -> None:
    async with running(tmp_path, {}) as rig:
        for number, (platform, kind, session) in enumerate(FORMS):
            given: Any = {"adapter": platform.adapter, "account": f"{ACCOUNT}{number}"}
            group = "777" if kind is MessageType.GROUP_MESSAGE else ""
            said = message(kind, session, group=group, sender=WEN, **given)
            bot = Bot(rig, platform.adapter, persona="管家")
            await bot.hears(said)
            where = await bot.events.where(said)
            assert not where.hidden
            timer = woken(where.umo, sender_id="1002")
            for known in (platform.adapter, None):  # the manager may know no such account
                there = Bot(rig, known, persona="管家").events.where(timer)
                assert await there == where, platform
            actor = Actor(f"{platform.adapter}:1002", "机器人代小雯", spoke=False)
            assert await bot.events.who(timer) == actor


async def test_a_restart_knows_it_but_not_on_an_account_of_another_platform(tmp_path: Path) -> None:
    timer = woken(FAMILY_UMO, sender_id="1002")
    async with running(tmp_path, FAMILY) as rig:
        bot = Bot(rig)
        await rig.remember("公园每周一闭园", ConversationId.parse("mine:GroupMessage:1"))
        report = await bot.service.describe(conversation_id=await bot.events.where(timer))
        assert report.resolution.code == "unknown_origin"
        assert "公园每周一闭园" in await used(core_memory_recall, bot, timer, query="公园哪天闭园")
        assert (await remembered(bot, timer, GATE)).startswith("error")
        await bot.hears(in_family())
        assert (await remembered(bot, timer, GATE)).startswith("ok")
    async with running(tmp_path, FAMILY) as rig:
        assert (await Bot(rig).events.where(timer)).group == "777"
        assert (await Bot(rig, "telegram").events.where(timer)).hidden
        bot = Bot(rig)
        await rig.engine.close()  # it costs no agent its run
        assert (await bot.events.where(timer)).hidden
        assert await bot.events.who(timer) == NOBODY
        assert (await remembered(bot, timer, GATE)).startswith("error")
    assert GATE in entries(tmp_path, "家人")
    assert GATE not in entries(tmp_path, "public")


async def test_an_origin_of_no_conversation_is_hidden_and_stores_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, {}) as rig:
        bot, chat = Bot(rig, "dingtalk"), f"{ACCOUNT}:FriendMessage:1002"
        # The session of DingTalk's split groups is the sender alone.
        given = {"sender": WEN, "adapter": "dingtalk", "account": ACCOUNT}
        for group in ("777", "888"):
            await bot.hears(message(MessageType.GROUP_MESSAGE, "1002", group=group, **given))
        await bot.hears(woken(chat, sender_id="1002"))  # it is no message of anybody
        for umo in (f"{ACCOUNT}:GroupMessage:1002", chat, "cron:OtherMessage:job-1"):
            timer = woken(umo, sender_id="1002")
            where = await bot.events.where(timer)
            assert where.hidden
            assert "strangers_in_public" not in {one.code for one in rig.notices}
            assert (await remembered(Bot(rig, None), timer, GATE)).startswith("error")
    assert GATE not in entries(tmp_path, "public")


async def test_it_acts_for_whom_the_job_names_or_whose_private_chat_it_is(tmp_path: Path) -> None:
    umo, chat = f"{ACCOUNT}:GroupMessage:777", f"{ACCOUNT}:FriendMessage:1002"
    for_wen = Actor("aiocqhttp:1002", "机器人代小雯", spoke=False)
    async with running(tmp_path, FAMILY | {chat: "家人"}) as rig:
        bot = Bot(rig)
        await bot.hears(*(in_family(one, session="777") for one in (WEN, MING)))
        await bot.hears(private("1002", WEN))
        for where, payload, actor in (
            (umo, {}, NOBODY),
            # A timer that a woken agent has set names the session.
            (umo, {"sender_id": "777"}, NOBODY),
            (umo, {"sender_id": "1001"}, Actor("aiocqhttp:1001", "机器人代小明", spoke=False)),
            (umo, {"sender_id": "1003"}, Actor("aiocqhttp:1003", "机器人代1003", spoke=False)),
            (chat, {}, for_wen),
            (chat, {"sender_id": "1002"}, for_wen),
            (chat, {"origin": "api"}, for_wen),
        ):
            assert await bot.events.who(woken(where, **payload)) == actor
    async with running(tmp_path, {chat: "公司"}) as rig:  # by no name of another scope
        assert (await Bot(rig).events.who(woken(chat))).name == "机器人代1002"


async def test_an_event_that_no_person_sent_is_no_turn(tmp_path: Path) -> None:
    """One under a platform of its own, as some plugins make them; and one of the bot's own account,
    from which an owner may speak: that is no turn, but no timer."""
    made = message(MessageType.GROUP_MESSAGE, "777", sender=WEN, adapter="diary", account=ACCOUNT)
    async with running(tmp_path, FAMILY) as rig:
        bot, said = Bot(rig), in_family(MessageMember("10000", "主人"))
        assert not bot.events.is_a_persons(made)
        assert not (await bot.events.who(made)).spoke
        assert not bot.events.is_a_persons(said)
        assert (await bot.events.where(said)).group == "777"
        assert await bot.events.who(said) == Actor("aiocqhttp:10000", "主人")
        assert (await remembered(bot, said, GATE)).startswith("ok")


# What it stores


async def test_what_it_stores_is_the_persons_to_forget_and_replaces_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, FAMILY) as rig:
        bot, said, timer = Bot(rig), in_family(), woken(FAMILY_UMO, sender_id="1002")
        await bot.hears(said)
        where, wen = await bot.events.where(said), await bot.events.who(said)
        assert (await remembered(bot, timer, "快递放在门卫室")).startswith("ok")
        (stored,) = await bot.service.newest(conversation_id=where, limit=5)
        for who, forgets in ((Actor("aiocqhttp:1001", "小明"), False), (wen, True)):
            memory_id = stored.memory.memory_id
            outcome = await bot.service.forget(memory_id, conversation_id=where, actor=who)
            assert is_changed(outcome, DeedKind.FORGOTTEN) is forgets
        # It neither strengthens nor replaces what the person said.
        own = (await rig.remember(GATE, where, wen)).memory.memory
        assert (await remembered(bot, timer, GATE)).startswith("ok")
        newest = await bot.service.newest(conversation_id=where, limit=5)
        assert own in [one.memory for one in newest]
        assert (await used(update_tasks, bot, timer, action="add", tasks=["浇花"])).startswith("ok")
    tasks = (tmp_path / "memory/scopes/家人/TASKS.md").read_text("utf-8")
    assert "谁：机器人代小雯" in tasks
    assert "来源：机器人 · 可信：否" in tasks


async def test_a_pause_of_its_group_binds_it(tmp_path: Path) -> None:
    timer = woken(FAMILY_UMO, sender_id="1002")
    async with running(tmp_path, FAMILY) as rig:
        bot = Bot(rig)
        await bot.hears(in_family(), in_family(MING))
        where = await bot.events.where(in_family(MING))
        await rig.remember(GATE, where)
        admin = Actor("aiocqhttp:1001", "小明", admin=True)
        await bot.service.pause(conversation_id=where, actor=admin)
        there = await bot.events.where(timer)
        outcome = await bot.service.remember(MemoryDraft("甲乙丙丁"), conversation_id=there)
        assert outcome == Refused("off_the_record")
        assert GATE not in await used(core_memory_recall, bot, timer, query="后门的密码在哪里")
    async with running(tmp_path, {}) as rig:  # the map has lost all it had
        assert (await remembered(Bot(rig), timer, "甲乙丙丁")).startswith("error")
