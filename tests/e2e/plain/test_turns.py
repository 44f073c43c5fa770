"""Finished turns in a real AstrBot: each is on disk once, with what belongs to it and no more."""

import contextlib
import json
import sqlite3
from collections.abc import AsyncGenerator, Callable
from functools import partial

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, private
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import ModelRequest, call
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import SHORT

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

CAPTURED = "Captured follow-up message"
"""What AstrBot logs where it puts a message into the turn that goes on."""
COLUMNS = "scope, person, who, user_text, reply_text, recalled"


def kept(rig: Rig, place: Place) -> list[dict[str, str]]:
    """What the queue holds of a conversation, the oldest first."""
    query = f"SELECT {COLUMNS} FROM turn WHERE conversation = ? ORDER BY place"  # noqa: S608
    queue = f"file:{rig.bot.plugin_data / 'state' / 'loop.sqlite'}?mode=ro"
    with contextlib.closing(sqlite3.connect(queue, uri=True, timeout=30)) as database:
        found = database.execute(query, (place.umo,)).fetchall()
    return [dict(zip(COLUMNS.split(", "), row, strict=True)) for row in found]


async def queued(rig: Rig, place: Place, count: int) -> list[tuple[str, str]]:
    """What was said and answered, once so many turns are kept."""

    async def probe() -> list[tuple[str, str]] | None:
        found = kept(rig, place)
        words = [(turn["user_text"], turn["reply_text"]) for turn in found]
        return words if len(found) >= count else None

    return await until(probe, within=20, what=f"{count} turns of {place.umo} in the queue")


async def test_each_turn_is_queued_once_with_its_scope_its_speaker_and_what_was_recalled(
    rig: Rig,
) -> None:
    """Tools and a refusal belong to it; a failure and a command are none."""
    who = Person(8811, "阿家")
    chat = private(who)
    await rig.onebot.ask(SHORT, who, "/记忆 记住 渔具箱的密码是三一四")
    query = {"query": "菜单", "limit": 3}
    rig.model.on("渔具箱的密码是多少", call("core_memory_recall", query), then="三一四。")
    turn = await rig.turn(chat, who, "渔具箱的密码是多少")
    await queued(rig, chat, 1)
    (found,) = kept(rig, chat)
    assert found == {
        "scope": "家人",
        "person": f"aiocqhttp:{who.user_id}",
        "who": who.nickname,
        "user_text": "渔具箱的密码是多少",
        "reply_text": "三一四。",
        "recalled": json.dumps([turn.injected.partition("#")[2].partition("]")[0]]),
    }

    def fail(_: ModelRequest) -> str:
        raise RuntimeError("scripted failure")

    rig.model.on("说点什么", then=fail)
    await rig.turn(chat, who, "说点什么")
    await rig.turn(chat, who, "/memory scope")
    rig.model.on("教我撬锁", then="抱歉，这个我不能帮你。")
    await rig.turn(chat, who, "教我撬锁")
    said = [one for one, _ in await queued(rig, chat, 2)]
    assert said == ["渔具箱的密码是多少", "教我撬锁"]


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


def streaming(rig: Rig) -> None:
    """The owner has answers streamed."""
    config = rig.bot.data / "cmd_config.json"
    settings = json.loads(config.read_text("utf-8-sig"))
    settings["provider_settings"]["streaming_response"] = True
    config.write_text(json.dumps(settings), encoding="utf-8")


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
    # With a tool, the first message is not the last.
    assert await queued(rig, chat, 2) == [
        ("明天去看牙", "好的，祝顺利。"),
        ("几点去看牙来着", "你没有说几点。"),
    ]
