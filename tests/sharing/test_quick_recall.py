"""A recall without pydantic says what the other one says, and does not wait for an owner."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory.home.owned_store import OwnedStore
from astrbot_plugin_scoped_memory.llm_memory.home.settings import HomeSettings
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.levels import global_conversation
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Hit
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.sharing import quick_recall
from astrbot_plugin_scoped_memory.llm_memory.sharing.calls import as_agent
from astrbot_plugin_scoped_memory.llm_memory.sharing.endpoint import Endpoint, read_endpoint
from astrbot_plugin_scoped_memory.llm_memory.sharing.quick_recall import QuickRecall
from astrbot_plugin_scoped_memory.llm_memory.sharing.remote_memory import RemoteMemory

pytestmark = pytest.mark.engine

ENTRIES: Final = """\
## The harvest feast of the village is on 2026-09-20 ^m-feast111
> 知识记忆 · 主动 · 强度 50 · 2026-08-01T10:00:00+08:00
> 谁：Ann · 号：qq:1 · 在：qq:GroupMessage:1 · 来源：工具 · 可信：否
> 日期：2026-09-20

## The harvest feast is held in the barn ^m-feast222
> 知识记忆 · 主动 · 强度 50 · 2026-08-02T10:00:00+08:00
> 谁：Ann · 号：qq:1 · 在：qq:GroupMessage:1 · 来源：工具 · 可信：否

## The harvest feast is held in the barn ^m-feast333
> 知识记忆 · 主动 · 强度 50 · 2026-08-03T10:00:00+08:00
> 谁：Bob · 号：qq:2 · 在：qq:GroupMessage:1 · 来源：工具 · 可信：否
"""
NOTE: Final = "# Feast\n\n## Barn\n\nThe harvest feast needs forty chairs in the barn.\n"
HERE: Final = global_conversation()
WANTED: Final[dict[str, Any]] = {
    "query": "harvest feast in the barn",
    "limit": 9,
    "token_budget": 1500,
    "in_talk": True,
}


@pytest.fixture
async def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Path]:
    """The folder of state of a store that is open and shared."""
    monkeypatch.setattr(quick_recall, "SECONDS", 60.0)
    memory = tmp_path / "memory"
    for name, text in {"scopes/public/events.md": ENTRIES, "shared/FEAST.md": NOTE}.items():
        (memory / name).parent.mkdir(parents=True)
        (memory / name).write_text(text, "utf-8")
    settings = HomeSettings(tmp_path, embedding="lexical", language="en")
    store = OwnedStore(EnginePaths.under(tmp_path), settings, {}, "0.0.1")
    await store.open(vectors=False)
    yield tmp_path / "state"
    await store.close()


def undated(hit: Hit) -> Hit:
    """A hit without its relevance, which lessens from moment to moment."""
    return replace(hit, relevance=0.0, also=tuple(map(undated, hit.also)))


async def test_it_finds_what_a_follower_finds(state: Path) -> None:
    endpoint = read_endpoint(state)
    assert endpoint is not None
    remote = RemoteMemory(endpoint)
    recall = await remote.memory.recall(conversation_id=HERE, actor=as_agent(None), **WANTED)
    quick = await asyncio.to_thread(lambda: QuickRecall(state, HERE, WANTED).hits())
    assert list(map(undated, quick)) == list(map(undated, recall.hits))
    assert {hit.is_note for hit in quick} == {True, False}
    assert any(hit.also for hit in quick)
    assert any(hit.day for hit in quick)


async def test_it_passes_over_owners_that_are_not_there(state: Path, tmp_path: Path) -> None:
    endpoint = read_endpoint(state)
    assert endpoint is not None
    others = {
        "none": None,
        "dead": replace(endpoint, port=1),
        "another": replace(endpoint, token="x" * 43),
        "newer": replace(endpoint, protocol=99),
    }
    for name, other in others.items():
        folder = tmp_path / name
        folder.mkdir()
        if other is not None:
            other.write(folder)
        asked = await asyncio.to_thread(
            lambda where: QuickRecall(where, HERE, WANTED).hits(), folder
        )
        assert asked is None, name


def test_an_owner_that_hangs_has_found_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_recall, "SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Endpoint.at("127.0.0.1", listening.getsockname()[1]).write(tmp_path)
        assert QuickRecall(tmp_path, HERE, WANTED).hits() == []
