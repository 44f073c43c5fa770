"""A running bot whose Chroma server holds what a plugin without scopes has left there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import PATIENCE, Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.settings import EMBEDDING_PROVIDER
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.support.migrating import fields, legacy
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import ServerProcess

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

HOME, ELSEWHERE = group(561), group(562)
OWNER = Person(5561, "阿丁")
COUNT = 300
RECORDS: dict[str, dict[str, Any]] = {
    **legacy(COUNT),
    "blank": fields("空白也是公共的", memory_scope=" ", ratio=0.25),
    "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
    "wild": fields("存折的密语是芝麻开门", memory_scope="../x"),
}


@contextlib.contextmanager
def client_of(server: ServerProcess) -> Iterator[Any]:
    """Of whoever looks after the server."""
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    try:
        yield client
    finally:
        client.close()


def leave_behind(server: ServerProcess) -> None:
    """What the other plugin wrote."""
    with client_of(server) as client:
        collection = client.create_collection("personal_memory_v1", embedding_function=None)
        collection.add(
            ids=list(RECORDS),
            documents=[f"{one['judgment']},  日常" for one in RECORDS.values()],
            metadatas=list(RECORDS.values()),
            embeddings=[[float(number), 1.0] for number in range(len(RECORDS))],
        )
        collection.add(ids=["bare"], documents=["只有文本的一条,  日常"], embeddings=[[0.5, 1.0]])


def held(server: ServerProcess) -> dict[str, tuple[Any, ...]]:
    """Document, metadata and vector of each record there."""
    with client_of(server) as client:
        found = client.get_collection("personal_memory_v1", embedding_function=None).get(
            include=["documents", "metadatas", "embeddings"]
        )
    parts = (found[name] for name in ("ids", "documents", "metadatas", "embeddings"))
    return {
        name: (document, metadata, tuple(vector))
        for name, document, metadata, vector in zip(*parts, strict=True)
    }


class Watched:
    """How far the bot's migration is, as its owner sees it."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    async def got_on(self) -> None:
        """It has listed what is left, and brought a batch of it, and there is more."""
        over = ("done", "failed")
        found = await self.until(lambda m: m["remaining"] or m["state"] in over, "a list")
        first = found["scanned"]
        found = await self.until(lambda m: m["scanned"] > first or m["state"] in over, "a batch")
        assert (found["state"], found["remaining"] > 0) == ("running", True), found

    async def until(self, reached: Callable[[JsonObject], bool], what: str) -> JsonObject:
        """The status, then."""

        async def probe() -> JsonObject | None:
            found: JsonObject = (await self._rig.panel.ready())["migration"]
            return found if reached(found) else None

        return await until(probe, within=200, what=what)


async def test_old_memories_come_whatever_the_owner_does_meanwhile_and_the_source_gets_all_back(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A kill -9, a reload, another map, off and on, another embedder; then the reverse."""
    server = ServerProcess(tmp_path_factory.mktemp("old-server") / "data")
    await asyncio.to_thread(server.start)
    try:
        await asyncio.to_thread(leave_behind, server)
        snapshot = await asyncio.to_thread(held, server)
        advanced = {**PATIENCE["advanced"], "chroma_url": server.url, "migration_batch": 2}
        config: JsonObject = {
            "advanced": advanced,
            "conversation_scope_map": {HOME.umo: "家人"},
            "embedding": "lexical",
        }
        async with Rig(
            tmp_path_factory.mktemp("migrating-bot"),
            config=config,
            admins=[OWNER.user_id],
            embedding_dimensions=64,
        ) as rig:
            migration = Watched(rig)
            await migration.got_on()
            await rig.crash()
            turn = await rig.turn(ELSEWHERE, OWNER, f"小明在第{COUNT - 1}号柜子放了什么工具")
            await migration.got_on()
            await rig.panel.reload()
            await migration.got_on()
            await rig.panel.map_scopes({HOME.umo: "公司"})
            await migration.got_on()
            await rig.panel.enable(enabled=False)
            stopped = await asyncio.to_thread(held, server)
            await asyncio.sleep(1)
            assert await asyncio.to_thread(held, server) == stopped
            await rig.panel.enable(enabled=True)
            await rig.panel.activated()
            await migration.got_on()
            await rig.panel.save(embedding=EMBEDDING_PROVIDER)
            await migration.got_on()
            await rig.panel.map_scopes({HOME.umo: "家人"})

            status = await migration.until(lambda found: found["state"] == "done", "its end")
            assert status == {
                "state": "done", "mode": "auto", "mode_on": False, "scanned": COUNT + 4,
                "patched": COUNT + 2, "skipped": 2,
                "remaining": 0, "adopted": COUNT + 3, "merged": 0, "quarantined": 1, "broken": 0,
            }  # fmt: skip
            found = await rig.panel.indexed(within=200)
            assert EMBEDDING_PROVIDER in found["embedder"]
            assert found["memories"]["by_scope"] == {
                "public": COUNT + 2, "家人": 1, "quarantine": 1,
            }  # fmt: skip
            turn = await rig.turn(ELSEWHERE, OWNER, f"小明在第{COUNT - 1}号柜子放了什么工具")
            assert f"工具{COUNT - 1}x" in turn.injected
            turn = await rig.turn(HOME, OWNER, "奶奶的存折在哪里")
            assert "奶奶的存折在衣柜里" in turn.injected
            assert "芝麻开门" not in turn.injected
            turn = await rig.turn(ELSEWHERE, OWNER, "奶奶的存折在哪里，密语是什么")
            assert "存折" not in turn.injected

            async def told() -> bool:
                return "收进旧记忆：已全部收进来" in rig.bot.logs(all_starts=True)

            await until(told, within=30, what="the log's last word")
            patched = await asyncio.to_thread(held, server)
            for name, (document, metadata, vector) in patched.items():
                before = dict(snapshot[name][1] or {})
                wanted = before if name in ("home", "wild") else before | {"memory_scope": "public"}
                assert (document, metadata, vector) == (
                    snapshot[name][0],
                    wanted,
                    snapshot[name][2],
                )

            await rig.turn(HOME, OWNER, "/memory migrate reverse")

            async def given_back() -> bool:
                return await asyncio.to_thread(held, server) == snapshot

            await until(given_back, within=200, what="the metadata from before, field by field")
            status = await migration.until(lambda found: "reversed" in found, "a reverse")
            assert (status["state"], status["remaining"]) == ("idle", 0)
            turn = await rig.turn(HOME, OWNER, "奶奶的存折在哪里")
            assert "奶奶的存折在衣柜里" in turn.injected
    finally:
        await asyncio.to_thread(server.kill)
