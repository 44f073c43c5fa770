"""What a person did to a memory that came from another plugin stands, whatever that plugin does to
its record afterwards."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ConversationId, DeedKind, is_changed
from astrbot_plugin_scoped_memory.llm_memory.migration.rules.legacy_records import adopted_id
from astrbot_plugin_scoped_memory.tests.migration.test_adoption import (
    FAMILY_ROOM,
    OPEN_ROOM,
    Simple,
    adopt,
    vault_of,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, person, running
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import (
    ANGEL,
    LIVING,
    angel_record,
    make_chroma,
    make_living,
)

pytestmark = pytest.mark.engine

ADMIN = person(1, admin=True)
SECRET = "奶奶的第1件事"


def touched(simple: Simple) -> None:
    """The other plugin goes on, and counts how often it used each of its records."""
    with sqlite3.connect(simple.path) as database:
        database.execute("UPDATE memory_records SET useful_count = useful_count + 1")


def places(root: Path) -> dict[str, list[str]]:
    """The judgments of each scope."""
    return {scope: sorted(found) for scope, found in vault_of(root).items()}


async def move(rig: Rig) -> None:
    """From public to the family."""
    memory_id = adopted_id("public", SECRET)
    moved = await rig.engine.service.move(memory_id, "家人", conversation_id=OPEN_ROOM, actor=ADMIN)
    assert is_changed(moved, DeedKind.MOVED)


async def forget(rig: Rig, where: ConversationId = OPEN_ROOM) -> None:
    """Where it came to, if nowhere else."""
    memory_id = adopted_id("public", SECRET)
    gone = await rig.engine.service.forget(memory_id, conversation_id=where, actor=ADMIN)
    assert is_changed(gone, DeedKind.FORGOTTEN)


async def move_and_forget(rig: Rig) -> None:
    """And there it is forgotten."""
    await move(rig)
    await forget(rig, FAMILY_ROOM)


@pytest.mark.parametrize(
    ("act", "family"), [(move, [SECRET]), (move_and_forget, None), (forget, None)]
)
@pytest.mark.parametrize("purged", [False, True], ids=["archive", "no archive"])
async def test_what_was_made_private_or_forgotten_is_not_published_again(
    simple: Simple, act: Callable[[Rig], Any], family: list[str] | None, purged: bool
) -> None:
    simple.make(3, scope="public")
    async with simple.adopted() as rig:
        await act(rig)
    if purged:
        for archive in (simple.root / "memory").rglob("archive"):
            shutil.rmtree(archive)
    for _ in range(2):
        touched(simple)
        status, _ = await adopt(simple.root, simple.plugins)
    tally = status.tally
    assert (tally.scanned, tally.adopted, tally.merged) == (9, 3, 6)
    found = places(simple.root)
    assert found["public"] == ["奶奶的第0件事", "奶奶的第2件事"]
    assert found.get("家人") == family


async def test_a_record_from_before_scopes_is_not_published_where_its_private_words_were_forgotten(
    simple: Simple,
) -> None:
    record = angel_record(1)
    assert record[2] is not None
    words = record[2]["judgment"]
    chroma = make_chroma(simple.plugins / ANGEL / "memory_openai" / "chromadb", [record])
    simple.make(0, more=[{"id": "s1", "judgment": words, "memory_scope": "家人"}])
    async with simple.adopted() as rig:
        assert words in await rig.texts(words, FAMILY_ROOM)
        await rig.engine.service.forget(
            adopted_id("家人", words), conversation_id=FAMILY_ROOM, actor=ADMIN
        )
    with sqlite3.connect(chroma / "chroma.sqlite3") as database:
        database.execute("UPDATE embedding_metadata SET int_value = 77 WHERE key = 'strength'")
    status, _ = await adopt(simple.root, simple.plugins)
    assert (status.tally.scanned, status.tally.merged) == (3, 2)
    assert places(simple.root) == {}


async def test_what_was_cut_out_of_quarantine_does_not_come_there_again(simple: Simple) -> None:
    simple.make(2, scope="a b")
    await adopt(simple.root, simple.plugins)
    (path,) = (simple.root / "memory").rglob("quarantine/entities.md")
    target = simple.root / "memory" / "scopes" / "家人" / path.name
    target.parent.mkdir(parents=True)
    path.rename(target)
    async with running(simple.root) as rig:
        await rig.engine.reconcile()
    touched(simple)
    status, notices = await adopt(simple.root, simple.plugins)
    assert (status.tally.quarantined, status.tally.merged, notices) == (2, 2, set())
    assert places(simple.root) == {"家人": ["奶奶的第0件事", SECRET]}


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("家人", "公司", "家人"),
        ("家人", "", "家人"),  # illegal: nobody can tell where it belongs now
        ("", "公司", "quarantine"),
    ],
)
async def test_a_document_keeps_its_scope_when_the_map_says_something_else_afterwards(
    simple: Simple, before: str, after: str, place: str
) -> None:
    path = simple.plugins / LIVING / "livingmemory.db"
    said: dict[str, Any] = {"session_id": FAMILY_ROOM.umo, "persona_id": ""}
    make_living(path, [("d1", "爷爷在学书法", said)])
    for number, name in enumerate((before, after, after)):
        content = json.dumps({**said, "last_access_time": number})
        with sqlite3.connect(path) as database:
            database.execute("UPDATE documents SET metadata = ?", (content,))
        async with simple.adopted({FAMILY_ROOM.umo: name}) as rig:
            tally = rig.engine.migrations.status().tally
        assert (tally.scanned, tally.merged) == (number + 1, number)
    assert places(simple.root) == {place: ["爷爷在学书法"]}


async def test_who_wants_it_all_anew_gets_it(simple: Simple) -> None:
    """As docs/migrate.md says."""
    simple.make(3)
    async with simple.adopted() as rig:
        (batch,) = rig.engine.migrations.status().batches
        await rig.engine.migrations.take_back(batch)
    shutil.rmtree(simple.root / "state" / "adoption")
    (simple.root / "state" / "migration.sqlite").unlink()
    await adopt(simple.root, simple.plugins)
    assert places(simple.root) == {}
    for path in (simple.root / "memory").rglob("archive/**/*.md"):
        assert "忘记者：迁移" in path.read_text("utf-8")
        path.unlink()
    shutil.rmtree(simple.root / "state" / "adoption")
    (simple.root / "state" / "migration.sqlite").unlink()
    status, _ = await adopt(simple.root, simple.plugins)
    assert (status.state, status.tally.adopted) == ("done", 3)
    assert len(places(simple.root)["家人"]) == 3
