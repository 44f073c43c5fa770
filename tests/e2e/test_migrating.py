"""A bot takes in what plugins without scopes have left: in a Chroma server and in their own
folders. It is killed in it, its owner changes map and embedder meanwhile, and the server gets back
all that was changed there."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.harness.settings import EMBEDDING_PROVIDER
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import sees
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import ANGEL, make_simple, photograph
from astrbot_plugin_scoped_memory.tests.support.migrating import fields, legacy
from astrbot_plugin_scoped_memory.tests.support.programs.adopting import found
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import ServerProcess

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

HOME, ELSEWHERE = group(561), group(562)
OWNER = Person(5561, "阿丁")
COUNT = 300
RECORDS: dict[str, dict[str, Any]] = {
    **legacy(COUNT),
    "blank": fields("空白也是公共的", memory_scope=" ", ratio=0.25),
    "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
    "wild": fields("存折的密语是芝麻开门", memory_scope="../x"),
}
AUNTS = {f"外婆的第{number}件事": "家人" if number % 3 else "public" for number in range(9)}
"""In the other plugin's own folder, by scope."""
TOOL, SAVINGS = f"小明在第{COUNT - 1}号柜子放了什么工具", "奶奶的存折在哪里，密语是什么"
AUNT = "外婆的第7件事是什么"


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


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    server = ServerProcess(tmp_path / "server")
    await asyncio.to_thread(server.start)
    try:
        await asyncio.to_thread(leave_behind, server)
        yield server
    finally:
        await asyncio.to_thread(server.kill)


async def test_old_memories_come_once_each_to_their_scopes_and_the_source_gets_all_back(
    server: ServerProcess, tmp_path: Path
) -> None:
    snapshot = await asyncio.to_thread(held, server)
    root = tmp_path / "bot"
    theirs = root / "data" / "plugin_data" / ANGEL
    rows = [
        {"id": f"s{number}", "judgment": judgment, "memory_scope": scope}
        for number, (judgment, scope) in enumerate(AUNTS.items())
    ]
    make_simple(theirs / "memory_center" / "index" / "simple_memory.db", rows)
    files = photograph(theirs)
    config: JsonObject = {
        "adopt_legacy": True,
        "advanced": {"chroma_url": server.url, "migration_batch": 20},
        "conversation_scope_map": {HOME.umo: "家人"},
        "embedding": "lexical",
    }
    admins = [OWNER.user_id]
    async with Rig(root, config=config, admins=admins, embedding_dimensions=64) as rig:
        await migration(rig, lambda found: found["tally"]["scanned"] > 0, "a batch")
        await rig.crash()
        await rig.turn(ELSEWHERE, OWNER, TOOL)
        scope_map = {HOME.umo: "家人", ELSEWHERE.umo: "公司"}
        await rig.panel.save(conversation_scope_map=scope_map, embedding=EMBEDDING_PROVIDER)
        status = await migration(rig, lambda found: found["state"] in ("done", "failed"), "an end")
        ends = {
            "state": "done",
            "scanned": COUNT + 4 + len(AUNTS),
            "patched": COUNT + 2,
            "remaining": 0,
            "adopted": COUNT + 3 + len(AUNTS),
            "merged": 0,
            "quarantined": 1,
            "broken": 0,
        }
        assert {name: (status | status["tally"])[name] for name in ends} == ends
        wanted = {
            "public": {one["judgment"] for one in legacy(COUNT).values()}
            | {"空白也是公共的", "只有文本的一条"}
            | {text for text, scope in AUNTS.items() if scope == "public"},
            "家人": {"奶奶的存折在衣柜里"} | {t for t, scope in AUNTS.items() if scope == "家人"},
            "quarantine": {"存折的密语是芝麻开门"},
        }
        here = found(rig.bot.plugin_data)
        texts = {scope: Counter(one.judgment for one in here[scope]) for scope in wanted}
        assert texts == {scope: Counter(wanted[scope]) for scope in wanted}
        assert photograph(theirs) == files
        status = await rig.panel.indexed(within=200)
        assert EMBEDDING_PROVIDER in status["embedder"]
        assert "memory/scopes/quarantine/" in "\n".join(status["warnings"])
        for place, question, answer, there in (
            (ELSEWHERE, TOOL, f"工具{COUNT - 1}x", True),
            (HOME, SAVINGS, "在衣柜里", True),
            (HOME, AUNT, "外婆的第7件事", True),
            (HOME, SAVINGS, "芝麻开门", False),
            (ELSEWHERE, AUNT, "外婆的第7件事", False),
        ):
            assert await sees(rig, place, OWNER, question, answer) is there, answer

        now = await asyncio.to_thread(held, server)
        for name, (document, vector, metadata) in now.items():
            before = snapshot[name][2]
            marked = before if name in ("home", "wild") else before | {"memory_scope": "public"}
            assert (document, vector, metadata) == (*snapshot[name][:2], marked)
        await rig.turn(HOME, OWNER, "/memory migrate reverse")

        async def given_back() -> bool:
            return await asyncio.to_thread(held, server) == snapshot

        await until(given_back, within=200, what="the metadata from before, field by field")
        await migration(rig, lambda found: found["reversed"], "a reverse")
        assert await sees(rig, HOME, OWNER, "奶奶的存折在哪里", "在衣柜里")
