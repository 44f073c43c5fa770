"""Many memories at once: into the vault as if each had been appended, whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.errors import EngineClosed, VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, MemoryKind, Topic
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.llm_memory.vault.models import PartlyWritten
from astrbot_plugin_scoped_memory.llm_memory.vault.vault_writer import SPLIT_BYTES
from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.vault.test_vault import FAMILY, NOW, Tree, memory

pytestmark = [pytest.mark.engine, pytest.mark.process]

TOPICS = (Topic.ENTITIES, Topic.JOURNAL, Topic.TASKS)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty vault."""
    return Tree(tmp_path / "memory")


def mixed(count: int) -> list[tuple[Topic, Memory]]:
    """Entries for several files, days and lengths."""
    return [
        (
            TOPICS[n % 3],
            replace(
                memory(n, reasoning="长\n\n" * (n % 7)), created_at=NOW + timedelta(days=n % 4)
            ),
        )
        for n in range(count)
    ]


def rows(vault: MarkdownVault) -> list[tuple[object, ...]]:
    """What the ledger knows, apart from the order in which the files came."""
    known = vault.ledger.entries_in(list(vault.ledger.files()))
    entries = [(e.scope, e.path, e.memory, e.digest, e.before, e.after) for e in known]
    return [*sorted(entries, key=repr), *sorted(vault.ledger.files().values(), key=repr)]


def contents(root: Path) -> dict[str, bytes]:
    """Every file."""
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_many_stand_as_if_each_had_been_appended(tmp_path: Path) -> None:
    one, other = Tree(tmp_path / "one"), Tree(tmp_path / "other")
    for tree in (one, other):
        tree.write("entities.md", "# 我写的\r\n\r\n一段话\r\n")
    entries = mixed(60)
    single = [one.vault.append(FAMILY, topic, m) for topic, m in entries]
    assert other.vault.append_many(FAMILY, entries[:25]) == single[:25]
    assert other.vault.append_many(FAMILY, entries[25:]) == single[25:]
    assert contents(one.root) == contents(other.root)
    assert rows(one.vault) == rows(other.vault)


def test_many_are_split_where_a_file_is_full(tmp_path: Path) -> None:
    one, other = Tree(tmp_path / "one"), Tree(tmp_path / "other")
    entries = [(Topic.ENTITIES, memory(n, reasoning="长" * 15_000)) for n in range(15)]
    single = [one.vault.append(FAMILY, topic, m).path for topic, m in entries]
    assert [s.path for s in other.vault.append_many(FAMILY, entries)] == single
    assert set(single) == {"entities.md", "entities-2.md", "entities-3.md"}
    assert contents(one.root) == contents(other.root)
    assert max(map(len, contents(other.root).values())) <= SPLIT_BYTES + 50_000


def failing_from(call: int, put: Callable[..., None]) -> Callable[..., None]:
    """A disk that is full from a certain write on."""
    calls = 0

    def full(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise VaultWriteFailed(os.strerror(errno.ENOSPC))
        put(*arguments)

    return full


def test_a_failed_call_has_changed_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.add(memory(99))
    before = contents(tree.root)
    monkeypatch.setattr(
        vault_writer, "replace_durably", failing_from(1, vault_writer.replace_durably)
    )
    with pytest.raises(VaultWriteFailed) as failed:
        tree.vault.append_many(FAMILY, mixed(10))
    assert not isinstance(failed.value, PartlyWritten)
    assert contents(tree.root) == before


def test_a_call_that_fails_half_way_says_what_stands(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        vault_writer, "replace_durably", failing_from(3, vault_writer.replace_durably)
    )
    with pytest.raises(PartlyWritten) as failed:
        tree.vault.append_many(FAMILY, mixed(30))
    stands = MarkdownVault(tree.root).read(FAMILY).memories
    assert set(failed.value.written) == set(stands)
    assert 0 < len(stands) < 30
    assert len(tree.vault.ledger.entries_named({m.memory_id for _, m in mixed(30)})) == len(stands)


def test_what_a_person_saves_meanwhile_is_not_written_over(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = []
    refuse = files.refuse_another

    def meanwhile(path: Path, stamp: files.Stamp) -> None:
        if not saved:
            saved.append(path)
            tree.write("entities.md", "我刚刚写的\n")
        refuse(path, stamp)

    monkeypatch.setattr(files, "refuse_another", meanwhile)
    tree.vault.append_many(FAMILY, [(Topic.ENTITIES, memory(1)), (Topic.ENTITIES, memory(2))])
    text = (tree.folder() / "entities.md").read_text(encoding="utf-8")
    assert text.startswith("我刚刚写的\n\n## 第1件事")
    assert tree.texts() == ["第1件事", "第2件事"]


async def test_after_a_full_disk_the_same_batch_brings_the_rest_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [replace(m, kind=MemoryKind.EVENT) for _, m in mixed(30)]  # a file a day
    async with running(tmp_path) as rig:
        with monkeypatch.context() as patched:
            patched.setattr(vault_writer, "replace_durably", failing_from(2, files.replace_durably))
            with pytest.raises(PartlyWritten) as failed:
                await rig.engine.parts.intake.take(FAMILY, batch)
        status = await rig.engine.status()
        assert NoticeCode.VAULT_UNWRITABLE in {n.code for n in status.notices}
        rest = await rig.engine.parts.intake.take(FAMILY, batch)
        assert len(rest) == 30 - len(failed.value.written)
        assert (await rig.engine.status()).by_scope == {"家人": 30}
    found = MarkdownVault(tmp_path / "memory").read(FAMILY)
    assert (len(found.memories), found.broken) == (30, ())


async def test_a_batch_that_began_is_ended_before_the_engine_is_closed(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        taking = asyncio.create_task(
            rig.engine.parts.intake.take(FAMILY, [memory(n) for n in range(50)])
        )
        await asyncio.sleep(0)
        taking.cancel()
        await rig.engine.close()
        with pytest.raises(EngineClosed):
            await rig.engine.parts.intake.take(FAMILY, [memory(99)])
    async with running(tmp_path) as rig:
        assert (await rig.engine.status()).by_scope == {"家人": 50}
