"""Calls of the vector store, each in a thread: what goes wrong with a thread stays there."""

from __future__ import annotations

import threading

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.store_calls import StoreCalls
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore

pytestmark = pytest.mark.unit


async def test_where_no_thread_starts_a_query_fails_and_the_next_ones_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = StoreCalls(InMemoryVectorStore(), query_seconds=5.0, on_fault=lambda _: None)

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refused)
        for _ in range(5):
            with pytest.raises(IndexUnavailable, match="thread"):
                await calls.query(lambda: 1)
    assert [await calls.query(lambda: 2) for _ in range(5)] == [2] * 5
    await calls.close()
