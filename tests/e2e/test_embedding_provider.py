"""An AstrBot embedding provider that works, and then fails in four ways."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.settings import EMBEDDING_PROVIDER
from astrbot_plugin_scoped_memory.harness.vectors import Embedding
from astrbot_plugin_scoped_memory.harness.waiting import until

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

ROOM = group(333)
SPEAKER = Person(3333, "阿丙")
FAILURES = {
    Embedding.FAIL: "error: ",
    Embedding.NAN: "not_finite",
    Embedding.WRONG_DIMENSIONS: "wrong_dimension",
    Embedding.HANG: "timeout: ",
}
"""And what the status says of each."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(vectors: Rig) -> AsyncIterator[Rig]:
    """Its owner has configured an embedding provider. One that hangs uses all of the deadline."""
    shorter = {"recall_deadline_ms": 3_000}
    held = (await vectors.panel.config())["advanced"]
    await vectors.panel.save(advanced=held | shorter)
    await vectors.panel.indexed()  # the embedder is chosen when AstrBot's own start is over
    yield vectors
    await vectors.panel.save(advanced=held)
    await vectors.panel.indexed()


async def test_the_provider_is_chosen_and_asked(running: Rig) -> None:
    status = await running.panel.ready()
    assert EMBEDDING_PROVIDER in status["embedder"]
    await running.remember(ROOM, SPEAKER, "会议室的投影仪遥控器在讲台下")
    turn = await running.turn(ROOM, SPEAKER, "投影仪的遥控器在哪里")
    assert "遥控器在讲台下" in turn.injected
    assert any("投影仪的遥控器在哪里" in text for text in running.model.embedded)


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failing_provider_stops_no_turn_and_the_status_says_so(
    running: Rig, failure: Embedding
) -> None:
    running.model.embedding = failure
    try:
        judgment = f"{failure.name}号梯子靠在南墙边"
        result = await running.remember(ROOM, SPEAKER, judgment)
        assert result.split()[0] == "ok"
        assert judgment in await running.recall(ROOM, SPEAKER, judgment)
        turn = await running.turn(ROOM, SPEAKER, f"{failure.name}号梯子靠在哪面墙边")
        assert turn.reply != ""

        async def told() -> bool:
            warnings = (await running.panel.status())["warnings"]
            return any(FAILURES[failure] in warning for warning in warnings)

        await until(told, within=30, what="a warning that says why")
    finally:
        running.model.embedding = Embedding.FINE


async def test_the_warning_goes_when_the_provider_is_well_again(running: Rig) -> None:
    running.model.embedding = Embedding.FAIL
    await running.recall(ROOM, SPEAKER, "梯子靠在哪里")
    assert (await running.panel.status())["warnings"] != []
    running.model.embedding = Embedding.FINE

    async def quiet() -> bool:
        await running.recall(ROOM, SPEAKER, "梯子靠在哪里")
        return not (await running.panel.status())["warnings"]

    # What could not be written is tried again a minute after the last failure at the latest.
    await until(quiet, within=300, what="a status without warnings")
