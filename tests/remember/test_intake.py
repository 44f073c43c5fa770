"""Many memories at once: into the vault as if each had been appended, whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Sequence
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


def mixed(count: int) -> list[tuple[Topic, Memory]]:
    """Entries for several files, days and lengths."""
    made = (memory(n, reasoning="长\n\n" * (n % 7)) for n in range(count))
    return [
        (TOPICS[n % 3], replace(one, created_at=NOW + timedelta(days=n % 4)))
        for n, one in enumerate(made)
    ]


def contents(root: Path) -> dict[str, bytes]:
    """Every file."""
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


LONG = [(Topic.ENTITIES, memory(n, reasoning="长" * 15_000)) for n in range(15)]
PARTS = {"entities.md", "entities-2.md", "entities-3.md"}


@pytest.mark.parametrize(("entries", "some"), [(mixed(60), 25), (LONG, 15)])
def test_many_stand_as_if_each_had_been_appended(
    tmp_path: Path, entries: Sequence[tuple[Topic, Memory]], some: int
) -> None:
    one, other = Tree(tmp_path / "one"), Tree(tmp_path / "other")
    for tree in (one, other):
        tree.write("entities.md", "# 我写的\r\n\r\n一段话\r\n")
    single = [one.vault.append(FAMILY, topic, m) for topic, m in entries]
    many = other.vault.append_many(FAMILY, entries[:some])
    assert [*many, *other.vault.append_many(FAMILY, entries[some:])] == single
    assert contents(one.root) == contents(other.root)
    assert max(map(len, contents(other.root).values())) <= SPLIT_BYTES + 50_000
    assert entries is not LONG or {stored.path for stored in single} == PARTS
    assert one.vault.ledger.files() == other.vault.ledger.files()


async def test_after_a_full_disk_the_same_batch_brings_the_rest_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [replace(m, kind=MemoryKind.EVENT) for _, m in mixed(30)]  # a file a day
    written = list[Path]()

    def write_one(path: Path, *more: Any) -> None:
        if written:
            raise VaultWriteFailed(os.strerror(errno.ENOSPC))
        written.append(path)
        files.replace_durably(path, *more)

    async with running(tmp_path) as rig:
        with monkeypatch.context() as patched:
            patched.setattr(vault_writer, "replace_durably", write_one)
            with pytest.raises(PartlyWritten) as failed:
                await rig.engine.parts.intake.take(FAMILY, batch)
        stands = MarkdownVault(tmp_path / "memory").read(FAMILY).memories
        assert {*stands} == {*failed.value.written}
        assert 0 < len(stands) < len(batch)
        status = await rig.engine.status()
        assert NoticeCode.VAULT_UNWRITABLE in {n.code for n in status.notices}
        rest = await rig.engine.parts.intake.take(FAMILY, batch)
        assert len(rest) == 30 - len(failed.value.written)
        assert (await rig.engine.status()).by_scope == {"家人": 30}
        more = [memory(n) for n in range(30, 50)]
        taking = asyncio.create_task(rig.engine.parts.intake.take(FAMILY, more))
        await asyncio.sleep(0)
        taking.cancel()
        await rig.engine.close()
        with pytest.raises(EngineClosed):
            await rig.engine.parts.intake.take(FAMILY, [memory(99)])
    found = MarkdownVault(tmp_path / "memory").read(FAMILY)
    assert (len(found.memories), found.broken) == (50, ())
