"""The bot ended in every way, and what is there afterwards."""

import shutil
from pathlib import Path

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.logs import parse_log
from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.support.vitals import index_processes

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(240),
]

ROOM = group(555)
SPEAKER = Person(5555, "阿丁")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(vectors: Rig) -> Rig:
    """These tests stop it."""
    await vectors.panel.indexed()
    return vectors


async def test_the_first_unmapped_private_stranger_brings_one_warning(running: Rig) -> None:
    first, second = Person(71, "路甲"), Person(72, "路乙")
    before = (await running.panel.ready())["warnings"]
    await running.turn(private(first), first, "你好，我是第一个")
    after = (await running.panel.status())["warnings"]
    assert len(after) == len(before) + 1
    await running.turn(private(second), second, "你好，我是第二个")
    assert len((await running.panel.status())["warnings"]) == len(after)
    records = [record for record in parse_log(running.bot.logs()) if record.ours]
    loud = [r for r in records if r.level == "WARN" and "dm_scope" in r.text]
    assert len(loud) == 1


async def test_memories_survive_sigterm_and_an_edit_by_hand_is_picked_up(running: Rig) -> None:
    await running.remember(ROOM, SPEAKER, "锅炉的年检在九月中旬")
    await running.remember(ROOM, SPEAKER, "天台的门锁换成了铜锁")
    running.bot.sigterm()
    (file,) = files_with(running.memory, "天台的门锁换成了铜锁")
    path = running.memory / file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("换成了铜锁", "换成了指纹锁"), encoding="utf-8")
    await running.start()
    turn = await running.turn(ROOM, SPEAKER, "锅炉的年检在几月")
    assert "锅炉的年检在九月中旬" in turn.injected
    await running.panel.ready()
    turn = await running.turn(ROOM, SPEAKER, "天台的门锁换成了什么锁")
    assert "换成了指纹锁" in turn.injected
    assert "铜锁" not in turn.injected
    assert "换成了指纹锁" in await running.recall(ROOM, SPEAKER, "天台的门锁")


async def test_recall_finds_everything_after_the_index_folder_is_deleted(running: Rig) -> None:
    sentences = [f"{number}号仓库的管理员姓{name}" for number, name in enumerate("赵钱孙李周")]
    for sentence in sentences:
        assert (await running.remember(ROOM, SPEAKER, sentence)).split()[0] == "ok"
    await running.panel.indexed()
    running.bot.kill9()
    shutil.rmtree(running.bot.plugin_data / "index")
    await running.start()
    assert sentences[0] in await running.recall(ROOM, SPEAKER, sentences[0])  # not yet rebuilt
    status = await running.panel.ready()
    assert status["memories"]["by_scope"]["重启"] >= len(sentences)
    for sentence in sentences:
        assert sentence in await running.recall(ROOM, SPEAKER, sentence)


async def test_a_broken_index_stops_nothing_and_is_rebuilt(running: Rig) -> None:
    await running.remember(ROOM, SPEAKER, "水塔的备用钥匙在值班室")
    await running.panel.indexed()
    running.bot.kill9()
    index = running.bot.plugin_data / "index"
    files = [index / "chroma" / "chroma.sqlite3", *(index / "chroma").rglob("*.bin")]
    for file in files:
        file.write_bytes(b"\xff" * file.stat().st_size)
    await running.start()
    turn = await running.turn(ROOM, SPEAKER, "水塔的备用钥匙在哪里")
    assert "水塔的备用钥匙在值班室" in turn.injected
    status = await running.panel.indexed()
    assert not any("向量索引" in warning for warning in status["warnings"])
    assert [folder.name for folder in index.glob("chroma.broken-*")] != []
    assert "水塔的备用钥匙在值班室" in await running.recall(ROOM, SPEAKER, "水塔的备用钥匙")
    ours = [record.text for record in parse_log(running.bot.logs()) if record.ours]
    assert any("按记忆文件重建" in text for text in ours), ours


async def test_the_death_of_the_process_that_holds_the_index_is_no_news_to_the_bot(
    running: Rig,
) -> None:
    await running.remember(ROOM, SPEAKER, "电梯的检修电话贴在一楼")
    await running.panel.indexed()
    (worker,) = index_processes(running.bot.pid)
    worker.kill()
    turn = await running.turn(ROOM, SPEAKER, "电梯的检修电话贴在哪里")
    assert "电梯的检修电话贴在一楼" in turn.injected
    await running.remember(ROOM, SPEAKER, "消防栓的钥匙在门卫室")
    status = await running.panel.indexed()
    assert not any("向量索引" in warning for warning in status["warnings"])
    (another,) = index_processes(running.bot.pid)
    assert another != worker
    assert "消防栓的钥匙在门卫室" in await running.recall(ROOM, SPEAKER, "消防栓的钥匙在哪")


async def test_a_second_bot_on_the_same_data_says_so_and_stays_off(
    running: Rig, tmp_path: Path
) -> None:
    await running.panel.ready()
    data = tmp_path / "data" / "plugin_data"
    data.mkdir(parents=True)
    (data / PLUGIN).symlink_to(running.bot.plugin_data, target_is_directory=True)
    config = {"conversation_scope_map": {ROOM.umo: "重启"}}
    async with Rig(tmp_path, config=config) as second:
        turn = await second.turn(ROOM, SPEAKER, "第二个机器人也要回话")
        assert turn.reply != ""
        result = await second.remember(ROOM, SPEAKER, "第二个机器人不该写下这句")
        assert result.split()[0] == "error"
        status = await second.panel.status()
        assert status["ready"] is False
        assert status["warnings"] != []
        assert "Traceback" not in second.bot.logs()
    assert files_with(running.memory, "第二个机器人不该写下这句") == []
    assert (await running.remember(ROOM, SPEAKER, "第一个机器人照常记事")).split()[0] == "ok"
    assert "照常记事" in await running.recall(ROOM, SPEAKER, "第一个机器人记事")
