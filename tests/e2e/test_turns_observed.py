"""Finished turns in a real AstrBot: each is on disk once, with what belongs to it and no more."""

import contextlib
import json
import sqlite3
from dataclasses import dataclass

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place, private
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import ModelRequest, call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER, ROOM_A

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

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


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(queueing: Rig) -> Rig:
    """It queues turns, and listens to what does not address it."""
    return queueing


@dataclass(frozen=True)
class Kept:
    """A turn in the queue."""

    scope: str
    person: str
    who: str
    user_text: str
    reply_text: str
    recalled: tuple[str, ...]


def kept(rig: Rig, place: Place) -> list[Kept]:
    """What the queue holds of a conversation, the oldest first."""
    path = rig.bot.plugin_data / "state" / "loop.sqlite"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT scope, person, who, user_text, reply_text, recalled FROM turn"
            " WHERE conversation = ? ORDER BY place",
            (place.umo,),
        ).fetchall()
    return [Kept(*row[:-1], tuple(json.loads(row[-1]))) for row in rows]


async def queued(rig: Rig, place: Place, count: int) -> list[Kept]:
    """The same, once there are so many."""

    async def probe() -> list[Kept] | None:
        found = kept(rig, place)
        return found if len(found) >= count else None

    return await until(probe, within=20, what=f"{count} turns of {place.umo} in the queue")


async def test_a_turn_is_queued_with_its_scope_its_speaker_and_what_was_recalled(
    running: Rig,
) -> None:
    await running.remember(ROOM_A, MEMBER, "外婆的生日是腊月初八")
    chat = private(MEMBER)
    running.model.on("外婆的生日是哪天", then="腊月初八。")
    turn = await running.turn(chat, MEMBER, "外婆的生日是哪天")
    (found,) = await queued(running, chat, 1)
    memory_id = turn.injected.partition("#")[2].partition("]")[0]
    assert found == Kept(
        "测试甲",
        f"aiocqhttp:{MEMBER.user_id}",
        MEMBER.nickname,
        "外婆的生日是哪天",
        "腊月初八。",
        (memory_id,),
    )


async def test_a_turn_with_tools_is_one_turn_and_a_refusal_is_one_too(
    running: Rig, room: Place, person: Person
) -> None:
    rounds = [
        call("core_memory_recall", {"query": "水阀", "limit": 3}),
        call("core_memory_recall", {"query": "地下室", "limit": 3}),
    ]
    running.model.on("地下室的水阀在哪", *rounds, then="在楼梯左边。")
    await running.turn(room, person, "地下室的水阀在哪")
    running.model.on("教我撬锁", then="抱歉，这个我不能帮你。")
    await running.turn(room, person, "教我撬锁")
    words = [(turn.user_text, turn.reply_text) for turn in await queued(running, room, 2)]
    assert words == [
        ("地下室的水阀在哪", "在楼梯左边。"),
        ("教我撬锁", "抱歉，这个我不能帮你。"),
    ]


async def test_what_is_said_into_a_turn_that_goes_on_is_part_of_it(
    running: Rig, person: Person
) -> None:
    chat = private(person)
    running.model.on(
        "周末的菜单", call("core_memory_recall", {"query": "菜单", "limit": 3}), then="不放香菜。"
    )
    running.model.hold()
    await running.onebot.say(chat, person, "帮我想想周末的菜单")
    await running.model.was_asked("周末的菜单")
    await running.onebot.say(chat, person, "对了，我吃不了香菜")
    await running.bot.logged(f"{CAPTURED} for active agent run, umo={chat.umo}")
    running.model.release()
    await running.onebot.reply(chat)
    assert any("香菜" in result for result in running.model.asked("周末的菜单")[-1].tool_results)
    (found,) = await queued(running, chat, 1)
    assert found.user_text == "帮我想想周末的菜单\n对了，我吃不了香菜"
    assert found.reply_text == "不放香菜。"
    await running.turn(chat, person, "就这样吧")
    assert [turn.user_text for turn in await queued(running, chat, 2)][1:] == ["就这样吧"]


async def test_a_provider_that_fails_and_a_command_leave_no_turn(
    running: Rig, room: Place, person: Person
) -> None:
    def fail(_: ModelRequest) -> str:
        raise RuntimeError("scripted failure")

    running.model.on("说点什么", then=fail)
    await running.turn(room, person, "说点什么")
    await running.turn(room, person, "/memory scope")
    await running.turn(room, person, "现在好了吗")
    (found,) = await queued(running, room, 1)
    assert found.user_text == "现在好了吗"


async def test_what_a_group_says_to_itself_is_heard_and_nobody_is_asked(
    running: Rig, room: Place, person: Person
) -> None:
    before = len(running.model.requests)
    other = Person(person.user_id + 50_000, "阿乙")
    await running.onebot.say(room, person, "奶奶今天吃了三个饺子", at=False)
    await queued(running, room, 1)  # AstrBot makes a task of each message
    await running.onebot.say(room, other, "我的电话是13912345678", at=False)
    found = await queued(running, room, 2)
    assert [(one.who, one.reply_text) for one in found] == [(person.nickname, ""), ("阿乙", "")]
    assert found[0].user_text == "奶奶今天吃了三个饺子"
    assert "13912345678" not in found[1].user_text
    assert len(running.model.requests) == before
    assert running.onebot.unread(room) == []
    await running.turn(room, person, "你听见了吗")
    assert len(await queued(running, room, 3)) == 3


async def test_a_paused_chat_leaves_nothing_gets_nothing_and_is_told_so(running: Rig) -> None:
    person = Person(1602, "阿丙")
    chat = private(person)
    await running.remember(chat, person, "储藏室的钥匙挂在门后")
    before = len(await queued(running, chat, 1))
    paused = (await running.turn(chat, person, "/memory 暂停")).reply
    assert "/记忆 继续" in paused
    turn = await running.turn(chat, person, "储藏室的钥匙在哪里")
    assert turn.first.injected == []
    refused = await running.remember(chat, person, "礼物藏在储藏室最里面")
    assert refused.split()[0] == "error"
    assert "/记忆 继续" in refused
    found = await running.recall(chat, person, "储藏室的钥匙")
    assert "门后" not in found
    assert "/记忆 继续" in found
    for command in ("/memory status", "/memory scope"):
        assert "/记忆 继续" in (await running.turn(chat, person, command)).reply
    assert len(kept(running, chat)) == before
    assert "礼物" not in "".join(path.read_text("utf-8") for path in running.memory.rglob("*.md"))
    await running.turn(chat, person, "/memory 继续")
    again = await running.turn(chat, person, "储藏室的钥匙在哪里")
    assert "储藏室的钥匙挂在门后" in again.injected
    assert len(await queued(running, chat, before + 1)) == before + 1


async def test_in_a_group_only_an_admin_pauses(running: Rig, room: Place, person: Person) -> None:
    await running.turn(room, person, "/memory pause")
    await running.turn(room, person, "这句还记着")
    await queued(running, room, 1)
    await running.turn(room, ADMIN, "/memory pause")
    await running.turn(room, person, "这句不记")
    await running.onebot.say(room, person, "这句也不记", at=False)
    await running.bot.logged("这句也不记")  # nobody answers it
    await running.turn(room, ADMIN, "/memory resume")
    await running.turn(room, person, "又记了")
    words = [turn.user_text for turn in await queued(running, room, 2)]
    assert words == ["这句还记着", "又记了"]


async def test_the_status_tells_how_long_the_queue_is(running: Rig, room: Place) -> None:
    path = running.bot.plugin_data / "state" / "loop.sqlite"
    told = (await running.turn(private(ADMIN), ADMIN, "/memory status")).reply
    status = await running.panel.ready()
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT COUNT(*) FROM turn").fetchone()
    assert status["loop"]["waiting"] == status["queue"] - status["backlog"] == count
    assert str(count) in told
    assert (status["loop"]["calls_today"], status["loop"]["tokens_today"]) == (0, 0)


# These stop the bot, so they come last.


async def test_what_was_answered_survives_kill_9_and_a_streamed_turn_is_queued_once(
    running: Rig, person: Person
) -> None:
    chat = private(person)
    running.model.on("明天去看牙", then="好的，祝顺利。")
    await running.turn(chat, person, "明天去看牙")
    await queued(running, chat, 1)
    config = running.bot.data / "cmd_config.json"
    settings = json.loads(config.read_text("utf-8-sig"))
    settings["provider_settings"]["streaming_response"] = True
    running.bot.kill9()
    config.write_text(json.dumps(settings), encoding="utf-8")
    talker = running.bot.plugins / "astrbot_plugin_talker"
    talker.mkdir()
    (talker / "main.py").write_text(TALKER, encoding="utf-8")
    (talker / "metadata.yaml").write_text(TALKER_METADATA, encoding="utf-8")
    await running.start()
    assert [turn.user_text for turn in kept(running, chat)] == ["明天去看牙"]
    rounds = [call("core_memory_recall", {"query": "看牙", "limit": 3})]
    running.model.on("几点去看牙来着", *rounds, then="你没有说几点。")
    turn = await running.turn(chat, person, "几点去看牙来着")
    assert turn.first.body["stream"] is True
    await queued(running, chat, 2)  # with a tool, the first message is not the last
    running.model.on("那就三点", then="三点，知道了。")
    await running.turn(chat, person, "那就三点")
    found = await queued(running, chat, 3)
    assert [(one.user_text, one.reply_text) for one in found] == [
        ("明天去看牙", "好的，祝顺利。"),
        ("几点去看牙来着", "你没有说几点。"),
        ("那就三点", "三点，知道了。"),
    ]


async def test_a_turn_that_a_tool_has_answered_by_itself_is_one(
    running: Rig, person: Person
) -> None:
    chat = private(person)
    running.model.on("让工具自己说", call("talker_answer", {}), then="这句没有人问。")
    reply = await running.onebot.ask(chat, person, "让工具自己说")
    (found,) = await queued(running, chat, 1)
    assert (found.user_text, found.reply_text) == ("让工具自己说", "")
    assert "这句没有人问" not in reply


async def test_a_reload_in_the_middle_of_a_turn_loses_neither_answer_nor_turn(
    running: Rig, person: Person
) -> None:
    chat = private(person)
    await running.turn(chat, person, "先说一句")
    running.model.hold()
    await running.onebot.say(chat, person, "我下周要去青岛出差")
    await running.model.was_asked("我下周要去青岛出差")
    await running.panel.save(auto_inject_topk=2)
    await running.panel.ready()
    running.model.release()
    await running.onebot.reply(chat)
    words = [turn.user_text for turn in await queued(running, chat, 2)]
    assert words == ["先说一句", "我下周要去青岛出差"]


async def test_after_a_switch_of_the_map_replies_are_kept_back_until_a_new_chat(
    running: Rig, room: Place, person: Person
) -> None:
    mapped = (await running.panel.config())["conversation_scope_map"]
    await running.panel.map_scopes(mapped | {room.umo: "原来"})
    await running.panel.ready()
    running.model.on("第一问", then="答一：保险柜在地下室")
    await running.turn(room, person, "第一问")
    await running.panel.map_scopes(mapped | {room.umo: "后来"})
    await running.panel.ready()
    running.model.on("第二问", then="答二：还是地下室")
    await running.turn(room, person, "第二问")
    await queued(running, room, 2)  # a turn is written behind the answer
    await running.crash()
    await running.panel.ready()
    running.model.on("第三问", then="答三：仍是地下室")
    await running.turn(room, person, "第三问")
    assert "/new" in (await running.turn(room, person, "/memory scope")).reply
    await running.turn(room, ADMIN, "/new")
    running.model.on("第四问", then="答四")
    await running.turn(room, person, "第四问")
    assert "/new" not in (await running.turn(room, person, "/memory scope")).reply
    turns = await queued(running, room, 4)
    assert [(turn.scope, turn.user_text, turn.reply_text) for turn in turns] == [
        ("原来", "第一问", "答一：保险柜在地下室"),
        ("后来", "第二问", ""),
        ("后来", "第三问", ""),
        ("后来", "第四问", "答四"),
    ]
