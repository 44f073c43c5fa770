"""A bot whose owner has an embedding provider: it works, and fails in four ways; the index is
damaged, deleted, and its process killed; and another program has the folder."""

import shutil
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.logs import parse_log
from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.settings import EMBEDDING_PROVIDER
from astrbot_plugin_scoped_memory.harness.vectors import Embedding
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import EnginePaths, EngineSettings, build_engine
from astrbot_plugin_scoped_memory.tests.e2e.bots import bot, through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import saves, stored
from astrbot_plugin_scoped_memory.tests.support.vitals import index_processes

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

rig = bot("vectors")
ROOM, SPEAKER = group(555), Person(5555, "阿丁")
FAILURES = {
    Embedding.FAIL: "error: ",
    Embedding.NAN: "not_finite",
    Embedding.WRONG_DIMENSIONS: "wrong_dimension",
    Embedding.HANG: "timeout: ",
}
"""And what the status says of each."""


async def test_the_provider_is_asked_and_when_it_fails_no_turn_stops_and_the_status_says_so(
    rig: Rig, room: Place
) -> None:
    status = await rig.panel.indexed()
    assert EMBEDDING_PROVIDER in status["embedder"]
    await stored(rig, room, SPEAKER, "会议室的投影仪遥控器在讲台下")
    turn = await rig.turn(room, SPEAKER, "投影仪的遥控器在哪里")
    assert "遥控器在讲台下" in turn.injected
    assert any("投影仪的遥控器在哪里" in text for text in rig.model.embedded)
    await saves(rig, advanced={"recall_deadline_ms": 3_000})  # what hangs uses all of it
    await rig.panel.indexed()  # the embedder is chosen when AstrBot's own start is over
    try:
        for failure, words in FAILURES.items():
            rig.model.embedding = failure
            judgment = f"{failure.name}号梯子靠在南墙边"
            await stored(rig, room, SPEAKER, judgment)
            assert judgment in await rig.recall(room, SPEAKER, judgment)
            turn = await rig.turn(room, SPEAKER, f"{failure.name}号梯子靠在哪面墙边")
            assert turn.reply != ""

            async def told(words: str = words) -> bool:
                warnings = (await rig.panel.status())["warnings"]
                return any(words in warning for warning in warnings)

            await until(told, within=30, what="a warning that says why")
    finally:
        rig.model.embedding = Embedding.FINE
        await saves(rig, advanced={"recall_deadline_ms": 15_000})

    async def quiet() -> bool:
        return not (await rig.panel.indexed())["warnings"]

    await until(quiet, within=120, what="a status without warnings")


async def test_the_first_unmapped_private_stranger_brings_one_warning(rig: Rig) -> None:
    first, second = Person(71, "路甲"), Person(72, "路乙")
    before = (await rig.panel.ready())["warnings"]
    await rig.turn(private(first), first, "你好，我是第一个")
    after = (await rig.panel.status())["warnings"]
    assert len(after) == len(before) + 1
    await rig.turn(private(second), second, "你好，我是第二个")
    assert len((await rig.panel.status())["warnings"]) == len(after)
    records = [record for record in parse_log(rig.bot.logs()) if record.ours]
    loud = [one for one in records if one.level == "WARN" and "dm_scope" in one.text]
    assert len(loud) == 1


async def test_the_death_of_the_process_that_holds_the_index_is_no_news_to_the_bot(
    rig: Rig,
) -> None:
    await rig.remember(ROOM, SPEAKER, "电梯的检修电话贴在一楼")
    await rig.panel.indexed()
    (worker,) = index_processes(rig.bot.pid)
    worker.kill()
    turn = await rig.turn(ROOM, SPEAKER, "电梯的检修电话贴在哪里")
    assert "电梯的检修电话贴在一楼" in turn.injected
    await rig.remember(ROOM, SPEAKER, "消防栓的钥匙在门卫室")
    status = await rig.panel.indexed()
    assert not any("向量索引" in warning for warning in status["warnings"])
    (another,) = index_processes(rig.bot.pid)
    assert another != worker
    assert "消防栓的钥匙在门卫室" in await rig.recall(ROOM, SPEAKER, "消防栓的钥匙在哪")


async def test_a_bot_whose_folder_another_has_says_so_and_stays_off_until_it_is_free(
    rig: Rig,
) -> None:
    await rig.panel.indexed()
    await rig.panel.enable(enabled=False)
    paths = EnginePaths.under(rig.bot.plugin_data)
    other = build_engine(paths, EngineSettings(scope_map={ROOM.umo: "重启"}))
    await other.open()
    try:
        await rig.panel.enable(enabled=True)
        await rig.panel.activated()
        turn = await rig.turn(ROOM, SPEAKER, "第二个机器人也要回话")
        assert turn.reply != ""
        result = await rig.remember(ROOM, SPEAKER, "第二个机器人不该写下这句")
        assert result.split()[0] == "error"
        status = await rig.panel.status()
        assert status["ready"] is False
        assert status["warnings"] != []
    finally:
        await other.close()
    assert files_with(rig.memory, "第二个机器人不该写下这句") == []
    await rig.panel.reload()
    await rig.panel.ready()
    await stored(rig, ROOM, SPEAKER, "第一个机器人照常记事")


def fill_with_rubbish(index: Path) -> None:
    chroma = index / "chroma"
    for file in (chroma / "chroma.sqlite3", *chroma.rglob("*.bin")):
        file.write_bytes(b"\xff" * file.stat().st_size)


@through_a_kill
async def test_killed_and_its_index_broken_it_answers_at_once_and_builds_it_anew(
    rig: Rig,
) -> AsyncGenerator[Callable[[], object]]:
    sentences = [f"{number}号仓库的管理员姓{name}" for number, name in enumerate("赵钱孙李周")]
    for sentence in sentences:
        await stored(rig, ROOM, SPEAKER, sentence)
    await rig.panel.indexed()
    index = rig.bot.plugin_data / "index"
    yield partial(fill_with_rubbish, index)
    turn = await rig.turn(ROOM, SPEAKER, "3号仓库的管理员姓什么")
    assert sentences[3] in turn.injected
    status = await rig.panel.indexed()
    assert not any("向量索引" in warning for warning in status["warnings"])
    assert [folder.name for folder in index.glob("chroma.broken-*")] != []
    for sentence in sentences:
        assert sentence in await rig.recall(ROOM, SPEAKER, sentence)
    ours = [record.text for record in parse_log(rig.bot.logs()) if record.ours]
    assert any("按记忆文件重建" in text for text in ours), ours

    # An owner stops it, edits a file by hand, and deletes the folder of the index.
    await stored(rig, ROOM, SPEAKER, "天台的门锁换成了铜锁")
    rig.bot.sigterm()
    (file,) = files_with(rig.memory, "天台的门锁换成了铜锁")
    text = (rig.memory / file).read_text(encoding="utf-8")
    (rig.memory / file).write_text(text.replace("换成了铜锁", "换成了指纹锁"), encoding="utf-8")
    shutil.rmtree(index)
    await rig.start()
    assert sentences[0] in await rig.recall(ROOM, SPEAKER, sentences[0])  # not yet rebuilt
    status = await rig.panel.ready()
    assert status["memories"]["by_scope"]["重启"] >= len(sentences)
    turn = await rig.turn(ROOM, SPEAKER, "天台的门锁换成了什么锁")
    assert "换成了指纹锁" in turn.injected
    assert "铜锁" not in turn.injected
    await rig.panel.indexed()
    for sentence in sentences:
        assert sentence in await rig.recall(ROOM, SPEAKER, sentence)
