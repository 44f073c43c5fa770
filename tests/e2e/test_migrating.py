"""A bot takes in what plugins without scopes have left: in a Chroma server and in their own
folders. It is killed in it, its owner changes map and embedder meanwhile, and the server gets back
all that was changed there."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.settings import EMBEDDING_PROVIDER
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import saves, sees
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import ANGEL, photograph
from astrbot_plugin_scoped_memory.tests.support.migrating import fields, legacy
from astrbot_plugin_scoped_memory.tests.support.programs.adopting import found, make_sources
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import ServerProcess

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

HOME, ELSEWHERE = group(561), group(562)
OWNER = Person(5561, "阿丁")
COUNT = 100
RECORDS: dict[str, dict[str, Any]] = {
    **legacy(COUNT),
    "blank": fields("空白也是公共的", memory_scope=" ", ratio=0.25),
    "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
    "wild": fields("存折的密语是芝麻开门", memory_scope="../x"),
}
TOOL, TEA = f"小明在第{COUNT - 1}号柜子放了什么工具", "第3号用户喜欢第几种茶"
SAVINGS, AUNT = "奶奶的存折在哪里，密语是什么", "外婆的第235件事是什么"


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
    """Document, vector and metadata of each record there."""
    with client_of(server) as client:
        found = client.get_collection("personal_memory_v1", embedding_function=None).get(
            include=["documents", "metadatas", "embeddings"]
        )
    parts = (found[name] for name in ("ids", "documents", "embeddings", "metadatas"))
    return {
        name: (document, tuple(vector), dict(metadata or {}))
        for name, document, vector, metadata in zip(*parts, strict=True)
    }


async def migration(rig: Rig, reached: Callable[[JsonObject], bool], what: str) -> JsonObject:
    """The status, once it says so."""

    async def probe() -> JsonObject | None:
        status: JsonObject = (await rig.panel.ready())["migration"]
        return status if reached(status) else None

    return await until(probe, within=200, what=what)


async def test_old_memories_come_once_each_to_their_scopes_and_the_source_gets_all_back(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    server = ServerProcess(tmp_path_factory.mktemp("old-server") / "data")
    await asyncio.to_thread(server.start)
    try:
        await comes_and_goes(server, tmp_path_factory)
    finally:
        await asyncio.to_thread(server.kill)


async def comes_and_goes(server: ServerProcess, folders: pytest.TempPathFactory) -> None:
    await asyncio.to_thread(leave_behind, server)
    snapshot = await asyncio.to_thread(held, server)
    root = folders.mktemp("migrating-bot")
    plugins = root / "data" / "plugin_data"
    expected = await asyncio.to_thread(make_sources, plugins, 300)
    theirs = photograph(plugins / ANGEL)
    config: JsonObject = {
        "adopt_legacy": True,
        "advanced": {"chroma_url": server.url, "migration_batch": 20},
        "conversation_scope_map": {HOME.umo: "家人"},
        "embedding": "lexical",
    }
    admins = [OWNER.user_id]
    async with Rig(root, config=config, admins=admins, embedding_dimensions=64) as rig:
        await migration(rig, lambda found: found["scanned"] > 0, "a batch")
        await rig.crash()
        await rig.turn(ELSEWHERE, OWNER, TOOL)
        scope_map = {HOME.umo: "家人", ELSEWHERE.umo: "公司"}
        await saves(rig, conversation_scope_map=scope_map, embedding=EMBEDDING_PROVIDER)

        status = await migration(rig, lambda found: found["state"] in ("done", "failed"), "an end")
        adopted, merged, quarantined, broken = expected.tally
        assert status == {
            "state": "done",
            "mode": "auto",
            "mode_on": False,
            "scanned": COUNT + 4 + sum(expected.tally),
            "patched": COUNT + 2,
            "skipped": 2,
            "remaining": 0,
            "adopted": COUNT + 3 + adopted,
            "merged": merged,
            "quarantined": 1 + quarantined,
            "broken": broken,
        }
        wanted = {scope: Counter(texts) for scope, texts in expected.judgments.items()}
        wanted["public"].update(
            [one["judgment"] for one in legacy(COUNT).values()]
            + ["空白也是公共的", "只有文本的一条"]
        )
        wanted["家人"]["奶奶的存折在衣柜里"] += 1
        wanted["quarantine"]["存折的密语是芝麻开门"] += 1
        here = found(rig.bot.plugin_data)
        assert {scope: Counter(one.judgment for one in here[scope]) for scope in here} == wanted
        assert photograph(plugins / ANGEL) == theirs, "the other plugin's files"
        status = await rig.panel.indexed(within=200)
        assert EMBEDDING_PROVIDER in status["embedder"]
        warnings = "\n".join(status["warnings"])
        assert "memory/scopes/quarantine/" in warnings
        for place, question, answer, there in (
            (ELSEWHERE, TOOL, f"工具{COUNT - 1}x", True),
            (ELSEWHERE, TEA, "第3号用户喜欢第3种茶", True),
            (HOME, SAVINGS, "在衣柜里", True),
            (HOME, AUNT, "外婆的第235件事", True),
            (HOME, SAVINGS, "芝麻开门", False),
            (ELSEWHERE, SAVINGS, "存折", False),
            (ELSEWHERE, AUNT, "外婆的第235件事", False),
        ):
            assert await sees(rig, place, OWNER, question, answer) is there, answer

        for name, (document, vector, metadata) in (await asyncio.to_thread(held, server)).items():
            before = snapshot[name][2]
            marked = before if name in ("home", "wild") else before | {"memory_scope": "public"}
            assert (document, vector, metadata) == (*snapshot[name][:2], marked)
        await rig.turn(HOME, OWNER, "/memory migrate reverse")

        async def given_back() -> bool:
            return await asyncio.to_thread(held, server) == snapshot

        await until(given_back, within=200, what="the metadata from before, field by field")
        await migration(rig, lambda found: "reversed" in found, "a reverse")
        assert await sees(rig, HOME, OWNER, "奶奶的存折在哪里", "在衣柜里")
