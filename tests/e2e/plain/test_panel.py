"""The plugin switched off and on, saved and reloaded while people talk, and what its owner reads
of it: the status and the log."""

import uuid

import psutil
import pytest

from astrbot_plugin_scoped_memory.harness.logs import plugin_lines
from astrbot_plugin_scoped_memory.harness.panel import USER
from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import ModelRequest, call
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import EnginePaths, EngineSettings, build_engine
from astrbot_plugin_scoped_memory.tests.e2e import transcript
from astrbot_plugin_scoped_memory.tests.e2e.cast import (
    ADMIN,
    MAP,
    MEMBER,
    ROOM_A,
    ROOM_B,
    ROOM_C,
    private,
    stored,
)

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

STATUS = f"/api/v1/plugins/extensions/{PLUGIN}/status"
SECRETS = ("绝密", "青铜", "银色犀牛", "紫色海豹", "白色鲸鱼", "灰色狐狸")


def held(rig: Rig) -> list[str]:
    """The files and child programs of the memory that the bot has open."""
    process = psutil.Process(rig.bot.pid)
    root = str(rig.bot.plugin_data)
    files = [one.path for one in process.open_files() if one.path.startswith(root)]
    return sorted(files) + [" ".join(child.cmdline()) for child in process.children()]


async def test_switched_off_it_answers_and_holds_nothing_and_on_again_once_the_folder_is_free(
    rig: Rig,
) -> None:
    await rig.remember(ROOM_A, MEMBER, "门铃的电池是七号的")
    before = held(rig)
    await rig.panel.enable(enabled=False)
    turn = await rig.turn(ROOM_A, MEMBER, "门铃的电池是几号的")
    assert turn.first.injected == []
    assert "core_memory_remember" not in turn.first.tool_names
    await until_true(lambda: held(rig) == [])

    another = build_engine(EnginePaths.under(rig.bot.plugin_data), EngineSettings())
    await another.open()
    try:
        await rig.panel.enable(enabled=True)
        await rig.panel.activated()
        result = await rig.remember(ROOM_A, MEMBER, "第二个机器人不该写下这句")
        assert result.startswith("error")
        status = await rig.panel.status()
        assert status["ready"] is False
        assert status["warnings"] != []
    finally:
        await another.close()
    assert files_with(rig.memory, "第二个机器人不该写下这句") == []
    await rig.panel.reload()
    await rig.panel.ready()
    turn = await rig.turn(ROOM_A, MEMBER, "门铃的电池是几号的")
    assert "门铃的电池是七号的" in turn.injected
    await until_true(lambda: len(held(rig)) <= len(before))


async def test_a_tool_of_an_instance_that_a_reload_has_ended_says_so_and_stores_nothing(
    rig: Rig, room: Place, person: Person
) -> None:
    judgment = "旧实例的最后一句话是再见长颈鹿"
    remember = call("core_memory_remember", {"judgment": judgment})
    rig.model.on(f"重载时记一下{judgment}", remember, then="说完了。")
    rig.model.hold()
    try:
        await rig.onebot.say(room, person, f"重载时记一下{judgment}")
        await rig.model.was_asked("重载时记一下")
        await rig.panel.save(auto_inject_topk=4)
    finally:
        rig.model.release()
    assert await rig.onebot.reply(room) == "说完了。"
    (result,) = rig.model.asked("重载时记一下")[-1].tool_results
    assert result.startswith("error")
    assert "刚刚重新加载" in result
    assert files_with(rig.memory, judgment) == []
    await stored(rig, room, person, judgment)


async def test_the_web_chat_has_the_scope_that_it_is_mapped_to(rig: Rig) -> None:
    question, answer = "阁楼的望远镜归谁保管", "阁楼的望远镜归姐姐保管"
    await rig.remember(ROOM_A, MEMBER, answer)
    mapped, unmapped = str(uuid.uuid4()), str(uuid.uuid4())
    held = (await rig.panel.config())["conversation_scope_map"]
    umo = f"webchat:FriendMessage:webchat!{USER}!{mapped}"
    await rig.panel.map_scopes(held | {umo: "测试甲"})
    await rig.panel.ready()

    async def asked(chat: str) -> ModelRequest:
        """AstrBot also asks the model for a title of the chat."""
        assert await rig.panel.chat(chat, question) != ""
        return [one for one in rig.model.asked(question) if one.user_text == question][-1]

    assert answer in (await asked(mapped)).everything
    assert answer not in (await asked(unmapped)).everything
    said = "网页里说的暗号是蓝色风筝"
    remember = call("core_memory_remember", {"judgment": said})
    rig.model.on("网页上记一下", remember, then="好。")
    await rig.panel.chat(mapped, f"网页上记一下{said}")
    assert scopes_with(rig.memory, said) == {"测试甲"}


async def test_a_memory_leads_to_its_talk_as_long_as_astrbot_has_it(rig: Rig) -> None:
    await transcript.play(rig, ADMIN)


async def test_the_status_needs_a_login_and_counts_the_memories_of_the_vault(rig: Rig) -> None:
    assert await rig.panel.without_login(STATUS) == 401
    before = await rig.panel.ready()
    await rig.remember(ROOM_A, MEMBER, "雨伞在玄关的铁桶里")
    after = (await rig.panel.ready())["memories"]
    assert after["total"] == before["memories"]["total"] + 1
    assert after["by_scope"]["测试甲"] == before["memories"]["by_scope"].get("测试甲", 0) + 1


async def test_no_word_of_a_chat_is_logged_whether_it_is_kept_or_cannot_be(
    rig: Rig, person: Person
) -> None:
    """The scope is, and of that the model is not told."""
    start = len(rig.bot.logs())
    await rig.remember(ROOM_A, person, "绝密词语青铜河马在阁楼", reasoning="绝密词语银色犀牛")
    turn = await rig.turn(ROOM_A, person, "青铜河马在哪里，绝密词语紫色海豹")
    assert "青铜河马在阁楼" in turn.injected
    assert "测试甲" not in turn.injected + turn.first.system
    told = [line for line in plugin_lines(rig.bot.logs()[start:]) if ROOM_A.umo in line]
    assert any("附上" in line and "测试甲" in line for line in told)
    await rig.recall(ROOM_A, person, "青铜河马 绝密词语")
    await rig.onebot.ask(ROOM_A, person, "/memory search 青铜河马")
    await rig.onebot.ask(ROOM_A, person, "/memory add 绝密词语白色鲸鱼喜欢唱歌")
    folder = rig.memory / "scopes" / "测试丙"
    folder.write_bytes(b"")  # nothing can be written below it, whoever runs the tests
    try:
        failed = await rig.remember(ROOM_C, person, "绝密词语灰色狐狸在门外")
        assert failed.split()[0] == "error"
        failed += await rig.onebot.ask(ROOM_C, person, "/memory add 绝密词语灰色狐狸在屋里")
        failed += str((await rig.panel.status())["warnings"])
    finally:
        folder.unlink()
    ours = "\n".join([*plugin_lines(rig.bot.logs()[start:]), failed])
    assert [words for words in SECRETS if words in ours] == []


async def test_the_log_tells_the_map_and_a_new_conversation_once_with_the_line_to_paste(
    rig: Rig, room: Place, person: Person
) -> None:
    for mapped in (ROOM_A, ROOM_B, ROOM_C, private(MEMBER)):
        await rig.turn(mapped, MEMBER, "早上好")
    ours = "\n".join(plugin_lines(rig.bot.logs(all_starts=True)))
    assert [one for both in MAP.items() for one in both if one not in ours] == []
    start = len(rig.bot.logs())
    for words in ("大家好", "又见面了"):
        await rig.turn(room, person, words)
        told = [line for line in plugin_lines(rig.bot.logs()[start:]) if room.umo in line]
        assert len(told) == 1
