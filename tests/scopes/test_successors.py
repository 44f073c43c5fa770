"""A group that goes on under an id which nobody has told of is held, not published."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    ConversationKind,
    MemoryDraft,
    NoticeCode,
    Rejected,
    RejectReason,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.successors import (
    KnownGroup,
    NewGroup,
    succeeds,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = pytest.mark.engine

ACCOUNT, TELEGRAM = "tg", "telegram"
OLD, NEW, OTHER = "-4242", "-1004242", "-1007777"
MAP = {f"{ACCOUNT}:GroupMessage:{OLD}": "姐妹"}
SECRET = "王姐下周去医院做手术"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def room(number: str, title: str = "", adapter: str = TELEGRAM) -> ConversationId:
    umo = f"{ACCOUNT}:GroupMessage:{number}"
    kind = ConversationKind.GROUP
    return ConversationId(umo, adapter, ACCOUNT, kind, group=number, persona="", title=title)


def member(number: int, adapter: str = TELEGRAM, *, admin: bool = False) -> Actor:
    return Actor(f"{adapter}:{number}", f"人{number}", admin)


async def say(rig: Rig, where: ConversationId, who: Actor) -> None:
    """A person's message begins a turn."""
    service = rig.engine.service
    await service.conversations.hear(where, who)
    await service.conversations.meet(where, who)


async def scope_of(rig: Rig, where: ConversationId, who: Actor, text: str) -> str:
    """Where something is stored that is said there now."""
    await say(rig, where, who)
    draft = MemoryDraft(text, actor=who)
    outcome = await rig.engine.service.remember(draft, conversation_id=where)
    if isinstance(outcome, Rejected):
        assert outcome.reason is RejectReason.READ_ONLY
        return "<held>"
    return outcome.memory.scope.name


@pytest.mark.parametrize("by_title", [True, False])
async def test_a_successor_is_held_told_and_released_when_the_other_one_speaks(
    tmp_path: Path, by_title: bool
) -> None:
    title, adapter = ("姐妹团", "lark") if by_title else ("", TELEGRAM)
    ming, hong = member(1, adapter), member(2 if by_title else 1, adapter)
    old, new = room(OLD, title, adapter), room(NEW, title, adapter)
    async with running(tmp_path, MAP, follow=False) as rig:
        assert await scope_of(rig, old, ming, SECRET) == "姐妹"
        assert await scope_of(rig, new, hong, "手术在市一院") == "<held>"
        assert not await rig.texts("王姐做什么", new)
        turn = Turn(hong, "手术在市一院三楼", "好的")
        outcome = await rig.engine.service.observe(turn, conversation_id=new)
        assert type(outcome).__name__ == "NotObserved"
        (told,) = (one for one in rig.notices if one.code is NoticeCode.SUCCESSOR)
        assert (told.params["key"], told.params["former"]) == (new.umo, old.umo)
    async with running(tmp_path, MAP, follow=False) as rig:
        topic = room(f"{NEW}#5", title, adapter)
        assert await scope_of(rig, topic, member(99, adapter), "换个话题聊天") == "<held>"
        await say(rig, old, ming)
        assert await scope_of(rig, new, hong, "原来是另一个群") == "public"
        assert not (await rig.engine.status()).notices
        assert await scope_of(rig, new, hong, "还是另一个群啊") == "public"
    async with running(tmp_path, MAP, follow=False) as rig:
        assert await scope_of(rig, new, hong, "重启以后还是另一个群") == "public"


async def test_what_is_no_successor_is_not_held(tmp_path: Path) -> None:
    """Another title, strangers, another account, a group that was met before, private chats."""
    ming = member(1)
    async with running(tmp_path, {}, follow=False) as rig:
        await say(rig, room(OTHER), ming)
    async with running(tmp_path, MAP, follow=False) as rig:
        await say(rig, room(OLD, "姐妹团"), ming)
        for number, (where, who) in enumerate(
            [
                (room(OTHER, "姐妹团"), ming),
                (room("-1008888", "别的群"), member(3)),
                (replace(room(NEW, "姐妹团"), umo=f"b:GroupMessage:{NEW}", account="b"), ming),
                (replace(room("7"), kind=ConversationKind.PRIVATE, group=None, peer="1"), ming),
                (room("-4343", "棋友"), ming),
            ]
        ):
            text = f"第{number}个抽屉放着钥匙"
            assert await scope_of(rig, where, who, text) == "public", number


async def test_members_agree_elsewhere_once_the_other_group_fell_silent(tmp_path: Path) -> None:
    clock = StandingClock(NOON)
    old, new = room("11", adapter="wechat"), room("22", adapter="wechat")
    people = [member(number, "wechat") for number in range(1, 5)]
    async with running(tmp_path, MAP | {old.umo: "家人"}, follow=False, clock=clock) as rig:
        for one in people[:3]:
            await say(rig, old, one)
        assert await scope_of(rig, new, people[0], "群里还在说话呢") == "public"
        assert await scope_of(rig, new, people[1], "两边都在说话呢") == "public"
        clock.forward(days=4)
        newer = room("33", adapter="wechat")
        assert await scope_of(rig, newer, people[3], "新来的先说一句") == "public"
        assert await scope_of(rig, newer, people[0], "一个熟人说一句") == "public"
        assert await scope_of(rig, newer, people[1], "两个熟人都在了") == "<held>"


@pytest.mark.parametrize(
    ("speakers", "days", "held"),
    [("12", 3, True), ("12", 2, False), ("1", 9, False), ("12x", 9, True), ("12xy", 9, False)],
)
def test_most_of_several_members_agree(speakers: str, days: int, held: bool) -> None:
    heard = date(2026, 11, 1)
    known = KnownGroup("a:GroupMessage:1", "", frozenset("123"), heard)
    new = NewGroup("a:GroupMessage:2", "lark", "", frozenset(speakers))
    assert succeeds(new, known, heard + timedelta(days=days)) is held
