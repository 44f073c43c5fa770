"""Engines over a real Chroma in a process of its own: a vault of some size, found by vectors."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory import Memory
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.vector_store import (
    ChromaConnection,
    ChromaStore,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running_on_vectors

FAMILY, WORK = group(777), group(888)
COUNT = 60
"""In one scope, and as many in another: a graph has files of its own from 100 records on."""
_FIRST = datetime(2026, 11, 1, 8, tzinfo=UTC)
_THINGS = ("旧书", "毛线", "钉子", "相册", "茶叶", "灯泡", "雨伞", "棋盘")


def chroma_in(root: Path) -> ChromaStore:
    """Chroma as bots have it."""
    return ChromaStore(ChromaConnection.in_folder(root / "index" / "chroma"))


def words(number: int, place: str) -> str:
    """What one of the memories says."""
    return f"{place}{number}号柜子里放着{_THINGS[number % len(_THINGS)]}"


def write_files(memory: Path) -> None:
    """The vault, written by hand: the engine would sync each entry."""
    for scope, place, base in (("家人", "家里", 0), ("公司", "公司", COUNT)):
        folder = memory / "scopes" / scope
        folder.mkdir(parents=True)
        entries = [
            render(
                Memory(f"m-{base + n:014d}", words(n, place), _FIRST + timedelta(minutes=base + n))
            )
            for n in range(COUNT)
        ]
        (folder / "entities.md").write_text("\n".join(entries), encoding="utf-8")


def indexed(root: Path, **options: Any) -> AbstractAsyncContextManager[Rig]:
    """An engine over ``root`` that has no index of words, and Chroma as bots have it."""
    return running_on_vectors(root, **{"store": chroma_in(root), **options})


async def build(root: Path) -> Path:
    """A data folder whose index is complete, closed in order."""
    write_files(root / "memory")
    async with indexed(root) as rig:
        await rig.until_indexed()
    return root


def copied(root: Path, target: Path) -> Path:
    """Files with their times."""
    return shutil.copytree(root, target, symlinks=True)


async def answered(rig: Rig, text: str, *, only: Collection[Arm] | None = None) -> tuple[Arm, str]:
    """Who answered a question of the family's in the memory's own words, and the best answer."""
    recall = await recall_by(
        rig.engine, only, text, conversation_id=FAMILY, limit=5, token_budget=5000
    )
    return recall.trace.arm, recall.hits[0].preview if recall.hits else ""


async def assert_whole(rig: Rig, *more: str) -> None:
    """The index alone finds what the family remembers; the other scope sees nothing of it."""
    for text in (*(words(number, "家里") for number in range(0, COUNT, 6)), *more):
        assert await answered(rig, text, only=(Arm.DENSE,)) == (Arm.DENSE, text)
    recall = await rig.recall(words(7, "家里"), WORK, limit=9)
    assert {hit.scope_name for hit in recall.hits} == {"公司"}


async def assert_recovered(rig: Rig, *more: str) -> None:
    """As ``assert_whole``, once everything is indexed; and no notice is left to stand."""
    await rig.until_indexed()
    async with asyncio.timeout(60):
        while await standing(rig):
            await answered(rig, words(3, "家里"))  # an index is well once it has answered
            await asyncio.sleep(0.02)
    await assert_whole(rig, *more)


async def standing(rig: Rig) -> set[str]:
    """What the status shows, but for the words that these engines do without."""
    codes = {notice.code for notice in (await rig.engine.status()).notices}
    return codes - {"lexical_off"}


async def until_said(rig: Rig, code: str) -> dict[str, str]:
    """Wait for a notice to stand. What it says."""
    async with asyncio.timeout(60):
        while True:
            for notice in (await rig.engine.status()).notices:
                if notice.code == code:
                    return dict(notice.params)
            await asyncio.sleep(0.01)
