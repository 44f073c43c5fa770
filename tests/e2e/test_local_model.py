"""A local sentence-transformers model, chosen in the panel of a running bot."""

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.index.embedding.embedder_bench import minilm_folder

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.model,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(420),
]

ROOM = group(444)
SPEAKER = Person(4444, "Anna")
FACT = "Anna is allergic to shellfish"
OTHER_WORDS = "may Anna eat shrimps and crab at the seafood restaurant"


async def test_a_chosen_model_takes_over_behind_and_nothing_is_lost(splitting: Rig) -> None:
    running = splitting
    assert (await running.remember(ROOM, SPEAKER, FACT)).startswith("ok")
    assert FACT in await running.recall(ROOM, SPEAKER, "Anna shellfish")
    before = await running.panel.indexed()
    await running.panel.save(embedding=str(minilm_folder()))
    await running.panel.ready()
    assert FACT in await running.recall(ROOM, SPEAKER, "Anna shellfish")

    async def taken_over() -> bool:
        status = await running.panel.status()
        return status["embedder"].startswith("local:") and status["index"] == "ready"

    await until(taken_over, within=300, what="the local model's index")
    assert FACT in await running.recall(ROOM, SPEAKER, OTHER_WORDS)
    status = await running.panel.status()
    assert status["memories"] == before["memories"]
    assert status["warnings"] == []
    await running.panel.save(embedding="lexical")
    await running.panel.ready()
