"""The owner's embedding provider fails, the process that holds the index dies, and the index itself
is broken: no turn stops, and the status says why."""

from collections.abc import AsyncGenerator, Callable

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.settings import EMBEDDING_PROVIDER
from astrbot_plugin_scoped_memory.tests.e2e.bots import through_a_kill
from astrbot_plugin_scoped_memory.tests.e2e.cast import stored, warned
from astrbot_plugin_scoped_memory.tests.support.vitals import index_processes

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]


async def test_the_provider_is_asked_and_when_it_fails_no_turn_stops_and_the_status_says_so(
    rig: Rig, room: Place, person: Person
) -> None:
    status = await rig.panel.indexed()
    assert EMBEDDING_PROVIDER in status["embedder"]
    await stored(rig, room, person, "会议室的投影仪遥控器在讲台下")
    turn = await rig.turn(room, person, "投影仪的遥控器在哪里")
    assert "遥控器在讲台下" in turn.injected
    assert any("投影仪的遥控器在哪里" in text for text in rig.model.embedded)
    rig.model.embeds = False
    try:
        await stored(rig, room, person, "折叠梯子靠在南墙边")
        assert "南墙边" in await rig.recall(room, person, "折叠梯子靠在哪面墙边")
        await warned(rig, "error: ")
    finally:
        rig.model.embeds = True
        await rig.panel.reload()  # it would be asked again by itself, but not so soon
    assert not any("error: " in one for one in (await rig.panel.indexed())["warnings"])


@through_a_kill
async def test_a_dead_index_process_is_no_news_and_a_broken_index_is_built_anew_after_a_kill(
    rig: Rig, room: Place, person: Person
) -> AsyncGenerator[Callable[[], object]]:
    sentences = [f"{number}号仓库的管理员姓{name}" for number, name in enumerate("赵钱孙李周")]
    for sentence in sentences:
        await stored(rig, room, person, sentence)
    await rig.panel.indexed()
    (worker,) = index_processes(rig.bot.pid)
    worker.kill()
    turn = await rig.turn(room, person, "3号仓库的管理员姓什么")
    assert sentences[3] in turn.injected
    await stored(rig, room, person, "消防栓的钥匙在门卫室")
    status = await rig.panel.indexed()
    assert not any("向量索引" in warning for warning in status["warnings"])
    (another,) = index_processes(rig.bot.pid)
    assert another != worker
    chroma = rig.bot.plugin_data / "index" / "chroma"

    def fill_with_rubbish() -> None:
        for file in (chroma / "chroma.sqlite3", *chroma.rglob("*.bin")):
            file.write_bytes(b"\xff" * file.stat().st_size)

    yield fill_with_rubbish
    turn = await rig.turn(room, person, "2号仓库的管理员姓什么")
    assert sentences[2] in turn.injected
    status = await rig.panel.indexed()
    assert not any("向量索引" in warning for warning in status["warnings"])
    for sentence in sentences:
        assert sentence in await rig.recall(room, person, sentence)
