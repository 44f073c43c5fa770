"""A running bot whose Chroma server holds what a plugin without scopes has left there."""

from __future__ import annotations

import asyncio

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import PATIENCE, Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.support.chroma_server import ServerProcess
from astrbot_plugin_scoped_memory.tests.support.migrating import fields, legacy

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(400),
]

HOME, ELSEWHERE = group(561), group(562)
SPEAKER = Person(5561, "阿丁")
RECORDS = {
    **legacy(600),
    "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
    "wild": fields("存折的密语是芝麻开门", memory_scope="../x"),
}


def leave_behind(server: ServerProcess) -> None:
    """What the other plugin wrote."""
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    collection = client.create_collection("personal_memory_v1", embedding_function=None)
    collection.add(
        ids=list(RECORDS),
        documents=[f"{one['judgment']},  日常" for one in RECORDS.values()],
        metadatas=list(RECORDS.values()),
        embeddings=[[float(number), 1.0] for number in range(len(RECORDS))],
    )
    client.close()


def scopes_on(server: ServerProcess) -> dict[str, object]:
    """What each record there says its scope is."""
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    found = client.get_collection("personal_memory_v1", embedding_function=None).get()
    client.close()
    return {
        name: (metadata or {}).get("memory_scope")
        for name, metadata in zip(found["ids"], found["metadatas"], strict=True)
    }


async def test_old_memories_come_behind_the_bot_through_a_kill_9_and_a_reload(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    server = ServerProcess(tmp_path_factory.mktemp("old-server") / "data")
    await asyncio.to_thread(server.start)
    try:
        await asyncio.to_thread(leave_behind, server)
        advanced = {**PATIENCE["advanced"], "chroma_url": server.url, "migration_batch": 20}
        config: JsonObject = {
            "advanced": advanced,
            "conversation_scope_map": {HOME.umo: "家人"},
        }
        root = tmp_path_factory.mktemp("migrating-bot")
        async with Rig(root, config=config) as rig:

            async def begun() -> JsonObject | None:
                found: JsonObject = (await rig.panel.status())["migration"]
                return found if found["scanned"] >= 20 else None

            async def done() -> JsonObject | None:
                found: JsonObject = (await rig.panel.ready())["migration"]
                return found if found["state"] == "done" else None

            at = await until(begun, within=120, what="a migration that runs")
            assert at["state"] == "running"
            await rig.crash()
            turn = await rig.turn(ELSEWHERE, SPEAKER, "小明在第599号柜子放了什么工具")
            at = await until(begun, within=120, what="a migration that goes on")
            await rig.panel.reload()
            status = await until(done, within=120, what="the end of a migration")
            assert status == {
                "state": "done", "scanned": 602, "patched": 600, "skipped": 2, "remaining": 0,
                "adopted": 601, "merged": 0, "quarantined": 1, "broken": 0,
            }  # fmt: skip
            turn = await rig.turn(ELSEWHERE, SPEAKER, "小明在第599号柜子放了什么工具")
            assert "工具599x" in turn.injected
            turn = await rig.turn(HOME, SPEAKER, "奶奶的存折在哪里")
            assert "奶奶的存折在衣柜里" in turn.injected
            assert "芝麻开门" not in turn.injected
            turn = await rig.turn(ELSEWHERE, SPEAKER, "奶奶的存折在哪里，密语是什么")
            assert "存折" not in turn.injected

            async def told() -> bool:
                return "旧记忆已全部收进来" in rig.bot.logs(all_starts=True)

            await until(told, within=30, what="the log's last word")
        left = await asyncio.to_thread(scopes_on, server)
        assert left == dict.fromkeys(legacy(600), "public") | {"home": "家人", "wild": "../x"}
    finally:
        await asyncio.to_thread(server.kill)
