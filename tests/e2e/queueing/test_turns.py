"""Finished turns in a real AstrBot: each is on disk once, with what belongs to it and no more."""

import json
from collections.abc import AsyncGenerator, Callable
from functools import partial

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, private
from astrbot_plugin_scoped_memory.harness.records import files_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import ModelRequest, call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER, ROOM_A, rows, saves

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

TALKER = """
from astrbot.api.event import filter
from astrbot.api.star import Star


class Talker(Star):
    @filter.llm_tool(name="talker_answer")
    async def talker_answer(self, event):
        '''Answers in the place of the model.'''
        yield event.plain_result("我自己说了")
"""
TALKER_METADATA = "name: astrbot_plugin_talker\ndesc: talks\nversion: 1.0.0\nauthor: tests\n"
CAPTURED = "Captured follow-up message"
"""What AstrBot logs where it puts a message into the turn that goes on."""
COLUMNS = "scope, person, who, user_text, reply_text, recalled"


def kept(rig: Rig, place: Place) -> list[dict[str, str]]:
    """What the queue holds of a conversation, the oldest first."""
    query = f"SELECT {COLUMNS} FROM turn WHERE conversation = ? ORDER BY place"  # noqa: S608
    found = rows(rig.bot.plugin_data / "state" / "loop.sqlite", query, place.umo)
    return [dict(zip(COLUMNS.split(", "), row, strict=True)) for row in found]


async def queued(rig: Rig, place: Place, count: int) -> list[tuple[str, str]]:
    """What was said and answered, once so many turns are kept."""

    async def probe() -> list[tuple[str, str]] | None:
        found = kept(rig, place)
        words = [(turn["user_text"], turn["reply_text"]) for turn in found]
        return words if len(found) >= count else None

    return await until(probe, within=20, what=f"{count} turns of {place.umo} in the queue")


async def test_a_turn_is_queued_with_its_scope_its_speaker_and_what_was_recalled(rig: Rig) -> None:
    await rig.remember(ROOM_A, MEMBER, "外婆的生日是腊月初八")
    chat = private(MEMBER)
    rig.model.on("外婆的生日是哪天", then="腊月初八。")
    turn = await rig.turn(chat, MEMBER, "外婆的生日是哪天")
    await queued(rig, chat, 1)
    (found,) = kept(rig, chat)
    assert found == {
        "scope": "测试甲",
        "person": f"aiocqhttp:{MEMBER.user_id}",
        "who": MEMBER.nickname,
        "user_text": "外婆的生日是哪天",
        "reply_text": "腊月初八。",
        "recalled": json.dumps([turn.injected.partition("#")[2].partition("]")[0]]),
    }


async def test_a_turn_with_tools_and_a_refusal_are_one_each_a_failure_and_a_command_none(
    rig: Rig, room: Place, person: Person
) -> None:
    rounds = [
        call("core_memory_recall", {"query": query, "limit": 3}) for query in ("水阀", "地下室")
    ]
    rig.model.on("地下室的水阀在哪", *rounds, then="在楼梯左边。")
    await rig.turn(room, person, "地下室的水阀在哪")
    await queued(rig, room, 1)

    def fail(_: ModelRequest) -> str:
        raise RuntimeError("scripted failure")

    rig.model.on("说点什么", then=fail)
    await rig.turn(room, person, "说点什么")
    await rig.turn(room, person, "/memory scope")
    rig.model.on("教我撬锁", then="抱歉，这个我不能帮你。")
    await rig.turn(room, person, "教我撬锁")
    assert await queued(rig, room, 2) == [
        ("地下室的水阀在哪", "在楼梯左边。"),
        ("教我撬锁", "抱歉，这个我不能帮你。"),
    ]
    status, told = await rig.panel.ready(), await rig.onebot.ask(room, ADMIN, "/memory status")
    ((count,),) = rows(rig.bot.plugin_data / "state" / "loop.sqlite", "SELECT COUNT(*) FROM turn")
    assert status["loop"]["waiting"] == status["queue"] - status["backlog"] == count
    assert str(count) in told


async def test_what_is_said_into_a_turn_that_goes_on_is_part_of_it(
    rig: Rig, person: Person
) -> None:
    chat, recall = private(person), call("core_memory_recall", {"query": "菜单", "limit": 3})
    rig.model.on("周末的菜单", recall, then="不放香菜。")
    rig.model.hold()
    await rig.onebot.say(chat, person, "帮我想想周末的菜单")
    await rig.model.was_asked("周末的菜单")
    await rig.onebot.say(chat, person, "对了，我吃不了香菜")
    await rig.bot.logged(f"{CAPTURED} for active agent run, umo={chat.umo}")
    rig.model.release()
    await rig.onebot.reply(chat)
    assert any("香菜" in result for result in rig.model.asked("周末的菜单")[-1].tool_results)
    whole = ("帮我想想周末的菜单\n对了，我吃不了香菜", "不放香菜。")
    assert await queued(rig, chat, 1) == [whole]
    await rig.turn(chat, person, "就这样吧")
    assert [said for said, _ in await queued(rig, chat, 2)] == [whole[0], "就这样吧"]


async def test_what_a_group_says_to_itself_is_heard_and_nobody_is_asked(
    rig: Rig, room: Place, person: Person
) -> None:
    before = len(rig.model.requests)
    other = Person(person.user_id + 50_000, "阿乙")
    await rig.onebot.say(room, person, "奶奶今天吃了三个饺子", at=False)
    await queued(rig, room, 1)  # AstrBot makes a task of each message
    await rig.onebot.say(room, other, "我的电话是13912345678", at=False)
    (first, second) = await queued(rig, room, 2)
    assert [one["who"] for one in kept(rig, room)] == [person.nickname, "阿乙"]
    assert first == ("奶奶今天吃了三个饺子", "")
    assert "13912345678" not in second[0]
    assert len(rig.model.requests) == before
    assert rig.onebot.unread(room) == []
    await rig.turn(room, person, "你听见了吗")
    await queued(rig, room, 3)


async def test_a_paused_chat_leaves_nothing_gets_nothing_and_is_told_so(rig: Rig) -> None:
    person = Person(1602, "阿丙")
    chat = private(person)
    await rig.remember(chat, person, "储藏室的钥匙挂在门后")
    before = len(await queued(rig, chat, 1))
    paused = (await rig.turn(chat, person, "/memory 暂停")).reply
    turn = await rig.turn(chat, person, "储藏室的钥匙在哪里")
    assert turn.first.injected == []
    refused = await rig.remember(chat, person, "礼物藏在储藏室最里面")
    assert refused.split()[0] == "error"
    found = await rig.recall(chat, person, "储藏室的钥匙")
    assert "门后" not in found
    said = [await rig.onebot.ask(chat, person, f"/memory {one}") for one in ("status", "scope")]
    assert [one for one in (paused, refused, found, *said) if "/记忆 继续" not in one] == []
    assert len(kept(rig, chat)) == before
    assert files_with(rig.memory, "礼物") == []
    await rig.turn(chat, person, "/memory 继续")
    again = await rig.turn(chat, person, "储藏室的钥匙在哪里")
    assert "储藏室的钥匙挂在门后" in again.injected
    assert len(await queued(rig, chat, before + 1)) == before + 1


def streaming(rig: Rig) -> None:
    """The owner has answers streamed, and installs a plugin whose tool answers by itself."""
    config = rig.bot.data / "cmd_config.json"
    settings = json.loads(config.read_text("utf-8-sig"))
    settings["provider_settings"]["streaming_response"] = True
    config.write_text(json.dumps(settings), encoding="utf-8")
    talker = rig.bot.plugins / "astrbot_plugin_talker"
    talker.mkdir()
    (talker / "main.py").write_text(TALKER, encoding="utf-8")
    (talker / "metadata.yaml").write_text(TALKER_METADATA, encoding="utf-8")


@through_a_kill
async def test_what_was_answered_survives_kill_9_and_a_streamed_turn_is_queued_once(
    rig: Rig, person: Person
) -> AsyncGenerator[Callable[[], object]]:
    chat = private(person)
    rig.model.on("明天去看牙", then="好的，祝顺利。")
    await rig.turn(chat, person, "明天去看牙")
    await queued(rig, chat, 1)
    yield partial(streaming, rig)
    assert [one["user_text"] for one in kept(rig, chat)] == ["明天去看牙"]
    recall = call("core_memory_recall", {"query": "看牙", "limit": 3})
    rig.model.on("几点去看牙来着", recall, then="你没有说几点。")
    turn = await rig.turn(chat, person, "几点去看牙来着")
    assert turn.first.body["stream"] is True
    await queued(rig, chat, 2)  # with a tool, the first message is not the last
    rig.model.on("让工具自己说", call("talker_answer", {}), then="这句没有人问。")
    assert "这句没有人问" not in await rig.onebot.ask(chat, person, "让工具自己说")
    assert await queued(rig, chat, 3) == [
        ("明天去看牙", "好的，祝顺利。"),
        ("几点去看牙来着", "你没有说几点。"),
        ("让工具自己说", ""),
    ]


@through_a_kill
async def test_after_a_switch_of_the_map_replies_are_kept_back_until_a_new_chat(
    rig: Rig, room: Place, person: Person
) -> AsyncGenerator[None]:
    mapped = (await rig.panel.config())["conversation_scope_map"]
    await saves(rig, conversation_scope_map=mapped | {room.umo: "原来"})
    rig.model.on("第一问", then="答一：保险柜在地下室")
    await rig.turn(room, person, "第一问")
    await queued(rig, room, 1)
    await saves(rig, conversation_scope_map=mapped | {room.umo: "后来"})
    rig.model.on("第二问", then="答二：还是地下室")
    await rig.turn(room, person, "第二问")
    await queued(rig, room, 2)  # a turn is written behind the answer
    yield
    rig.model.on("第三问", then="答三：仍是地下室")
    await rig.turn(room, person, "第三问")
    assert "/new" in (await rig.turn(room, person, "/memory scope")).reply
    await rig.turn(room, ADMIN, "/new")
    rig.model.on("第四问", then="答四")
    await rig.turn(room, person, "第四问")
    assert "/new" not in (await rig.turn(room, person, "/memory scope")).reply
    assert await queued(rig, room, 4) == [
        ("第一问", "答一：保险柜在地下室"),
        ("第二问", ""),
        ("第三问", ""),
        ("第四问", "答四"),
    ]
    assert [one["scope"] for one in kept(rig, room)] == ["原来", *["后来"] * 3]
