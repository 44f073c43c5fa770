"""The memories of other plugins come into ours, each once, in its scope, and can go again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.migration.adoption_staging import AdoptionStaging
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_port import (
    LegacyStores,
)
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_stores import PluginStores
from astrbot_plugin_scoped_memory.llm_memory.migration.rules.legacy_plan import Plan
from astrbot_plugin_scoped_memory.llm_memory.models.migration import (
    MigrationStatus,
    Tally,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, QUICK, Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import (
    ANGEL,
    LIVING,
    angel_record,
    make_chroma,
    make_living,
    make_simple,
    photograph,
    vector,
)
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    migrating,
    until_done,
    until_status,
)

pytestmark = [pytest.mark.engine, pytest.mark.process]

ADOPTING = replace(QUICK, adopt_legacy=True, relevance_floor=0.0)
FAMILY_ROOM, WORK_ROOM, OPEN_ROOM = group(777), group(888), group(999)


async def adopt(
    root: Path, plugins: Path | LegacyStores, **options: Any
) -> tuple[MigrationStatus, set[str]]:
    """One start of a bot: how it ended, and the notices."""
    others = plugins if not isinstance(plugins, Path) else stores_of(root, plugins)
    async with running(root, others=others, settings=ADOPTING, **options) as rig:
        await rig.engine.migrations.run_once()
        return rig.engine.migrations.status(), {notice.code for notice in rig.notices}


def stores_of(root: Path, plugins: Path) -> PluginStores:
    """As the composition root makes it."""
    return PluginStores(plugins, root / "state" / "adoption-copies")


def vault_of(root: Path) -> dict[str, dict[str, Any]]:
    """By scope, the memories by judgment, as a bot that starts now reads them."""
    vault = MarkdownVault(root / "memory")
    return {
        scope.name: {s.memory.judgment: s.memory for s in vault.read(scope).memories}
        for scope in vault.scopes()
        if vault.read(scope).memories
    }


@dataclass
class Grand:
    """What came of it all: three stores, two providers, read by one bot after the other."""

    root: Path
    plugins: Path
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    first: MigrationStatus = field(default_factory=MigrationStatus)
    notices: set[str] = field(default_factory=set)
    recalled: dict[str, list[str]] = field(default_factory=dict)
    vault: dict[str, dict[str, Any]] = field(default_factory=dict)


def make_sources(plugins: Path) -> int:
    """Two Chroma databases of other dimensions, the later truth, and LivingMemory: how many
    records."""
    angel = plugins / ANGEL
    openai = [angel_record(n, scope=("家人", "公司", "public", None)[n % 4]) for n in range(40)]
    openai.append(angel_record(100, scope="a b"))
    openai.append(("uuid-200", "只有文档,  标签", None, vector(200)))
    openai.append(("uuid-201", None, {"judgment": " ", "memory_scope": "家人"}, vector(201)))
    # The same id and the same words; the same id and other words; one of its own.
    local = [
        (*angel_record(0, scope="家人", strength=99)[:3], vector(0, 5)),
        (*angel_record(1, scope="公司", judgment="换了一句话")[:3], vector(1, 5)),
        (*angel_record(50)[:3], vector(50, 5)),
    ]
    make_chroma(
        angel / "memory_openai" / "chromadb",
        openai,
        local=(angel / "memory_local_default" / "chromadb", local),
    )
    both_eras = angel_record(3)[2]
    assert both_eras is not None
    make_simple(
        angel / "memory_center" / "index" / "simple_memory.db",
        [
            # What has no scope in the earlier store has one here.
            {"id": "s-3", "judgment": both_eras["judgment"], "memory_scope": "家人"},
            {"id": "s-300", "judgment": "奶奶对花生过敏", "memory_scope": "家人", "tags": ["健康"]},
        ],
    )
    living = [
        ("d1", "爷爷在学书法", {"session_id": FAMILY_ROOM.umo, "persona_id": ""}),
        ("d2", "不知道是谁说的", {"session_id": "8f3c-uuid"}),
    ]
    make_living(plugins / LIVING / "livingmemory.db", living)
    return len(openai) + len(local) + 2 + len(living)


async def play(grand: Grand) -> None:
    """Adoption, and adoption again, which adds nothing."""
    root, plugins = grand.root, grand.plugins
    async with running(root, others=stores_of(root, plugins), settings=ADOPTING) as rig:
        await rig.engine.migrations.run_once()
        grand.first = rig.engine.migrations.status()
        grand.notices = {notice.code for notice in (await rig.engine.status()).notices}
        for name, room in (("家人", FAMILY_ROOM), ("公司", WORK_ROOM), ("public", OPEN_ROOM)):
            grand.recalled[name] = await everything(rig, room)
    grand.vault = vault_of(root)
    again, _ = await adopt(root, plugins)
    assert (again.tally, again.state, len(again.batches)) == (grand.first.tally, "done", 1)
    assert vault_of(root) == grand.vault
    grand.after = photograph(plugins)


async def everything(rig: Rig, room: Any) -> list[str]:
    """All that a conversation can be brought to recall."""
    found: set[str] = set()
    for query in ("喜欢第几种茶", "过敏", "书法", "只有文档", "换了一句话", "不知道是谁说的"):
        found |= set(await rig.texts(query, room, limit=100))
    return sorted(found)


@pytest.fixture(scope="module")
def grand(tmp_path_factory: pytest.TempPathFactory) -> Grand:
    """Played once."""
    folder = tmp_path_factory.mktemp("grand")
    found = Grand(folder / "own", folder / "plugin_data")
    count = make_sources(found.plugins)
    found.before = photograph(found.plugins)
    asyncio.run(play(found))
    assert found.first.tally.scanned == count
    return found


class TestAllAtOnce:
    """Angel Memory's two eras and LivingMemory side by side."""

    def test_each_record_ends_in_one_of_four_ways_in_its_scope_and_nowhere_else(
        self, grand: Grand
    ) -> None:
        tally = grand.first.tally
        assert (tally.adopted, tally.merged, tally.quarantined, tally.broken) == (45, 2, 2, 1)
        assert tally.adopted + tally.merged + tally.quarantined + tally.broken == tally.scanned
        assert (grand.first.state, grand.first.remaining) == ("done", 0)
        counts = {scope: len(memories) for scope, memories in grand.vault.items()}
        # Of the ten without a scope one is known to belong to the family.
        assert counts == {"家人": 13, "公司": 11, "public": 21, "quarantine": 2}
        judgments = [judgment for memories in grand.vault.values() for judgment in memories]
        assert len(judgments) == len(set(judgments)) == 47

    def test_one_id_or_one_judgment_in_two_stores_is_one_memory_if_both_are_the_same(
        self, grand: Grand
    ) -> None:
        memory = grand.vault["家人"]["第0号用户喜欢第0种茶"]
        assert memory.strength == 99
        name = "原号：angel_memory/memory_local_default/chromadb/uuid-0, "
        assert memory.extra[0] == name + "angel_memory/memory_openai/chromadb/uuid-0"
        assert {"第1号用户喜欢第1种茶", "换了一句话"} <= set(grand.vault["公司"])
        both_eras = "第3号用户喜欢第3种茶"
        assert [scope for scope, found in grand.vault.items() if both_eras in found] == ["家人"]

    def test_nobody_recalls_what_waits_in_quarantine_nor_another_scope(self, grand: Grand) -> None:
        waiting = set(grand.vault["quarantine"])
        assert waiting == {"第100号用户喜欢第100种茶", "不知道是谁说的"}
        for name, recalled in grand.recalled.items():
            visible = {*grand.vault[name], *grand.vault["public"]}
            assert set(recalled) <= visible
            assert len(recalled) > 10
        assert {"奶奶对花生过敏", "爷爷在学书法"} <= {*grand.recalled["家人"]}
        assert grand.notices == {
            "adoption_broken",
            "adoption_quarantined",
        }

    def test_what_is_broken_is_kept_word_for_word(self, grand: Grand) -> None:
        (path,) = grand.root.glob("state/adoption/*/broken.jsonl")
        line = json.loads(path.read_text(encoding="utf-8"))
        assert line == {
            "reason": "empty",
            "scope": "家人",
            "store": "angel_memory/memory_openai/chromadb",
            "id": "uuid-201",
            "document": None,
            "fields": {"judgment": " ", "memory_scope": "家人"},
        }

    def test_the_stores_are_as_they_were_and_no_words_and_no_copy_stay_behind(
        self, grand: Grand
    ) -> None:
        assert grand.after == grand.before
        assert list((grand.root / "state" / "adoption-copies").iterdir()) == []
        for path in (grand.root / "state" / "adoption").rglob("plan.sqlite"):
            with sqlite3.connect(path) as database:
                assert database.execute("SELECT COUNT(*) FROM memory").fetchone() == (0,)
            assert "第0号用户喜欢".encode() not in path.read_bytes()


@dataclass
class Simple:
    """A folder with one SQLite store, and a bot beside it."""

    root: Path
    plugins: Path

    @property
    def path(self) -> Path:
        """The store."""
        return self.plugins / ANGEL / "memory_center" / "index" / "simple_memory.db"

    def make(self, count: int, *, scope: str = "家人", more: Sequence[Any] = ()) -> None:
        """So many records."""
        rows = [
            {"id": f"s{n}", "judgment": f"奶奶的第{n}件事", "memory_scope": scope}
            for n in range(count)
        ]
        make_simple(self.path, [*rows, *more])

    @contextlib.asynccontextmanager
    async def adopted(self, scope_map: Mapping[str, object] = MAP) -> AsyncIterator[Rig]:
        """A bot that has taken in what is there."""
        others = stores_of(self.root, self.plugins)
        async with running(self.root, scope_map, others=others, settings=ADOPTING) as rig:
            await rig.engine.migrations.run_once()
            yield rig


async def test_a_batch_that_was_taken_back_stays_away_until_it_is_asked_for(
    simple: Simple,
) -> None:
    simple.make(30)
    async with simple.adopted() as rig:
        (batch,) = rig.engine.migrations.status().batches
        report = await rig.engine.migrations.take_back(batch)
        assert report is not None
        assert report == (30, 0)
    assert vault_of(simple.root) == {}
    with sqlite3.connect(simple.path) as database:
        database.execute("UPDATE memory_records SET useful_count = 1 WHERE id = 's1'")
        database.execute("UPDATE memory_records SET judgment = '新的一句' WHERE id = 's2'")
    status, _ = await adopt(simple.root, simple.plugins)
    assert set(vault_of(simple.root)["家人"]) == {"新的一句"}
    async with running(
        simple.root, others=stores_of(simple.root, simple.plugins), settings=ADOPTING
    ) as rig:
        assert await rig.engine.migrations.begin_again() == 1
        await rig.engine.migrations.run_once()
        status = rig.engine.migrations.status()
    assert status.state == "done"
    assert len(vault_of(simple.root)["家人"]) == 31


async def test_what_appears_later_is_another_batch_and_nothing_is_taken_twice(
    simple: Simple,
) -> None:
    simple.make(3)
    first, _ = await adopt(simple.root, simple.plugins)
    said_again = {"id": "x", "judgment": "奶奶的第1件事", "memory_scope": "家人"}
    make_simple(simple.plugins / ANGEL / "memory_x" / "index" / "simple_memory.db", [said_again])
    with sqlite3.connect(simple.path) as database:
        database.execute("UPDATE memory_records SET strength = 95 WHERE id = 's2'")
    later, _ = await adopt(simple.root, simple.plugins)
    assert len(later.batches) == 2
    assert later.tally == replace(first.tally, scanned=5, merged=2)
    strengths = {words: one.strength for words, one in vault_of(simple.root)["家人"].items()}
    assert strengths == {"奶奶的第0件事": 50, "奶奶的第1件事": 50, "奶奶的第2件事": 50}


async def test_a_persons_edit_stays_when_the_record_comes_again(simple: Simple) -> None:
    simple.make(2)
    await adopt(simple.root, simple.plugins)
    (path,) = (simple.root / "memory").rglob("entities.md")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("奶奶的第0件事", "外婆的第0件事"), encoding="utf-8")
    with sqlite3.connect(simple.path) as database:
        database.execute("UPDATE memory_records SET strength = 77")
    await adopt(simple.root, simple.plugins)
    found = vault_of(simple.root)["家人"]
    assert {words: memory.strength for words, memory in found.items()} == {
        "外婆的第0件事": 50,
        "奶奶的第1件事": 50,
    }


async def test_a_torn_store_gives_what_it_can_and_the_owner_is_told(simple: Simple) -> None:
    simple.make(600)
    whole = simple.path.read_bytes()
    third = len(whole) // 3
    simple.path.write_bytes(whole[: 2 * third] + b"\xff" * third + whole[3 * third :])
    status, notices = await adopt(simple.root, simple.plugins)
    assert status.state == "failed"
    assert "adoption_failed" in notices
    assert status.tally.adopted == sum(map(len, vault_of(simple.root).values())) > 0
    again, notices = await adopt(simple.root, simple.plugins)
    assert (again.tally, again.state) == (status.tally, "failed")
    assert "adoption_failed" in notices
    simple.path.write_bytes(whole)
    status, notices = await adopt(simple.root, simple.plugins)
    assert (status.state, notices) == ("done", set())
    assert len(vault_of(simple.root)["家人"]) == 600


async def test_a_dry_run_says_what_a_run_would_do_and_writes_nothing(simple: Simple) -> None:
    simple.make(5, more=[{"id": "q", "judgment": "别处的", "memory_scope": "a b"},
                         {"id": "b", "judgment": " "}])  # fmt: skip
    twice = {"id": "x", "judgment": "奶奶的第1件事", "memory_scope": "家人"}
    make_simple(simple.plugins / ANGEL / "memory_x" / "index" / "simple_memory.db", [twice])
    before = photograph(simple.plugins)
    others = stores_of(simple.root, simple.plugins)
    async with running(simple.root, others=others) as rig:  # it need not be switched on
        await rig.engine.migrations.run_once()
        assert rig.engine.migrations.status() == MigrationStatus()
        names = names_below(simple.root)
        preview = await rig.engine.migrations.dry_run()
        assert names == names_below(simple.root)
    assert preview == Tally(scanned=8, adopted=5, merged=1, quarantined=1, broken=1)
    assert photograph(simple.plugins) == before
    status, _ = await adopt(simple.root, simple.plugins)
    assert status.tally == preview


def names_below(root: Path) -> list[Path]:
    """All files but those of indexes, which are made meanwhile."""
    return sorted(p for part in ("memory", "state", "backups") for p in (root / part).rglob("*"))


async def test_what_was_staged_comes_whatever_map_embedder_and_other_plugin_there_are_then(
    simple: Simple,
) -> None:
    simple.make(250)
    said = {"session_id": FAMILY_ROOM.umo, "persona_id": ""}
    make_living(simple.plugins / LIVING / "livingmemory.db", [("d1", "爷爷在学书法", said)])
    others = stores_of(simple.root, simple.plugins)
    paused = replace(ADOPTING, migration_paused=True)
    async with running(simple.root, others=others, settings=paused) as rig, migrating(rig):
        status = await until_status(rig, lambda status: status.remaining == 251)
        assert status.state == "paused"
    shutil.rmtree(simple.plugins)
    moved = {FAMILY_ROOM.umo: "公司"}
    another = FakeEmbedder("another", dim=64)
    async with running(
        simple.root, moved, others=others, settings=ADOPTING, embedder=another
    ) as rig:
        await rig.engine.migrations.run_once()
        await rig.until_indexed()
        assert rig.engine.migrations.status().state == "done"
        assert another.calls >= 251
        assert await rig.texts("爷爷在学什么", FAMILY_ROOM) == []
    assert "爷爷在学书法" in vault_of(simple.root)["家人"]
    assert len(vault_of(simple.root)["家人"]) == 251


async def test_a_disk_that_is_full_half_way_stops_it_until_there_is_room(
    simple: Simple, monkeypatch: pytest.MonkeyPatch
) -> None:
    simple.make(120)
    others = stores_of(simple.root, simple.plugins)
    settings = replace(ADOPTING, migration_batch=20)
    async with running(simple.root, others=others, settings=settings, follow=False) as rig:
        vault = rig.engine.parts.vault
        append, batches = vault.append_many, []

        def no_room(*arguments: Any) -> Any:
            if len(batches) == 3:
                raise VaultWriteFailed("No space left on device")
            batches.append(arguments)
            return append(*arguments)

        monkeypatch.setattr(vault, "append_many", no_room)
        async with migrating(rig):
            status = await until_status(rig, lambda status: status.waiting == "vault")
            assert (status.state, status.tally.adopted) == ("running", 60)
            assert "奶奶的第3件事" in await rig.texts("奶奶的第3件事", FAMILY_ROOM)
            monkeypatch.undo()
            assert (await until_done(rig)).tally.adopted == 120
    assert len(vault_of(simple.root)["家人"]) == 120


def test_texts_that_an_earlier_release_kept_beside_vectors_go(tmp_path: Path) -> None:
    staging = AdoptionStaging(tmp_path)
    staging.stage("b-1", Plan((), {}), [], [])
    path = tmp_path / "b-1" / "plan.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE vector (text TEXT)")
        database.execute("INSERT INTO vector VALUES ('存折放在衣柜')")
    assert "存折放在衣柜".encode() in path.read_bytes()
    staging.forget(["m-1"])
    staging.close()
    assert "存折放在衣柜".encode() not in path.read_bytes()
