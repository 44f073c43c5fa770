"""A real disk of some kilobytes under a vault that takes in another plugin's memories: it is full
half-way, and grows.

Runs in a process of its own, as small_disk.py:

    python run.py small_disk_adoption.py FOLDER

prints a JSON object with what was found.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory import WalkPace
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_stores import PluginStores
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, group, running
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import ANGEL, make_simple
from astrbot_plugin_scoped_memory.tests.support.programs.small_disk import mount, own_mounts

COUNT = 600


def entries(memory: Path) -> list[tuple[str, bool]]:
    """The judgments, and whether each is whole."""
    vault = MarkdownVault(memory)
    found = []
    for scope in vault.scopes():
        content = vault.read(scope)
        assert not content.broken
        for stored in content.memories:
            whole = any(piece.startswith("原号：") for piece in stored.memory.extra)
            found.append((stored.memory.judgment, whole))
    return found


async def play(root: Path) -> dict[str, Any]:
    """Full, and then not."""
    own, plugins, memory = root / "own", root / "plugin_data", root / "own" / "memory"
    memory.mkdir(parents=True)
    rows = [
        {"id": f"s{n}", "judgment": f"奶奶的第{n}件事", "memory_scope": "家人"}
        for n in range(COUNT)
    ]
    make_simple(plugins / ANGEL / "memory_center" / "index" / "simple_memory.db", rows)
    own_mounts()
    mount("-t", "tmpfs", "-o", "size=128k", "tmpfs", str(memory))
    stores = PluginStores(plugins, own / "state" / "adoption-copies")
    pace = WalkPace(batch=50, least_pause=0.0, most_pause=0.0, retry_seconds=(0.05,))
    settings = replace(QUICK, adopt_legacy=True, walk_pace=pace, relevance_floor=0.0)
    found: dict[str, Any] = {}
    async with running(own, others=stores, settings=settings, follow=False) as rig:
        task = asyncio.create_task(rig.engine.migrations.run_once())
        async with asyncio.timeout(60):
            while not rig.engine.migrations.status().waiting:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        half = entries(memory)
        found["half"] = len(half)
        found["half_is_whole"] = all(whole for _, whole in half)
        found["state"] = rig.engine.migrations.status().state.value
        found["warned"] = [n.code.value for n in (await rig.engine.status()).notices]
        found["recalled"] = await rig.texts("奶奶的第3件事", group(777), limit=1)
        mount("-o", "remount,size=8m", str(memory))
        async with asyncio.timeout(60):
            await task
        found["end"] = rig.engine.migrations.status().state.value
        found["warned_then"] = [n.code.value for n in (await rig.engine.status()).notices]
    found["all"] = sorted(entries(memory)) == sorted((row["judgment"], True) for row in rows)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(play(Path(sys.argv[1]))), ensure_ascii=False))
