"""Said again: the neighbour proposes, guards decide, and only inside the scope that is written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    DeedKind,
    How,
    RememberOutcome,
    Stored,
    is_changed,
    is_stored,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vector
from astrbot_plugin_scoped_memory.llm_memory.index.ports import Neighbours
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    running,
    with_pace,
)
from astrbot_plugin_scoped_memory.tests.support.nights import OneDirection

pytestmark = pytest.mark.engine

HERE, OFFICE, SQUARE = group(777), group(888), group(999)
ME = person(10001)
OLD, NEW = "我非常喜欢喝乌龙茶", "我爱喝乌龙茶"
PATIENT = with_pace(replace(QUICK, embed_draft_seconds=60.0), query_seconds=60.0)
"""What is not compared in time is stored as it is: a slow moment would look like that."""


async def say(rig: Rig, text: str, where: ConversationId, who: Actor = ME) -> RememberOutcome:
    """What becomes of it, once everything before it is in the index."""
    await rig.until_indexed()
    return await rig.tell(text, where, who)


type Play = Callable[..., AbstractAsyncContextManager[Rig]]


@pytest.fixture(params=["vectors", "words"])
def play(request: pytest.FixtureRequest) -> Play:
    """An engine whose neighbours are proposed by the one or the other index."""
    if request.param == "words":
        return partial(running, words_alone=True, settings=PATIENT)
    return partial(running, embedder=OneDirection(), settings=PATIENT)


AGAIN = ((ME, OLD, How.NEW), (ME, NEW, How.AGAIN))
STALLS = [(ME, f"广场上第 {number} 个摊位是空的", How.NEW) for number in range(15)]
HONG, ADMIN = person(10002, "小红"), replace(ME, admin=True)
type Said = tuple[ConversationId, Actor, str, How]
SAID: dict[str, list[Said]] = {
    "a denial, and what another says": [
        (HERE, ME, "小明对猫毛过敏", How.NEW),
        (HERE, HONG, "小明对猫毛不过敏", How.NEW),
    ],
    "in each scope for itself, not even beside a busy public one": [
        *((SQUARE, *one) for one in (*AGAIN, *STALLS)),
        *((where, *one) for where in (OFFICE, HERE) for one in AGAIN),
    ],
    "what is vouched for and what is not": [
        (HERE, ME, OLD, How.NEW),
        (HERE, ADMIN, NEW, How.NEW),
    ],
}


@pytest.mark.parametrize("name", SAID)
async def test_what_becomes_of_what_is_said(tmp_path: Path, play: Play, name: str) -> None:
    async with play(tmp_path) as rig:
        known: dict[str, Stored] = {}
        for where, who, text, how in SAID[name]:
            found = await say(rig, text, where, who)
            assert is_stored(found, how), (text, found)
            if how is How.AGAIN:
                before = known[where.umo].memory.memory
                assert found.memory.memory == replace(before, strength=before.strength + 5)
            known[where.umo] = found
        stored = [text for *_, text, how in SAID[name] if how is How.NEW]
        assert sorted(one.memory.judgment for one in rig.living()) == sorted(stored)


async def test_who_tells_more_replaces_what_they_said_and_can_have_it_back(
    tmp_path: Path, play: Play
) -> None:
    async with play(tmp_path) as rig:
        first = await rig.remember("我住在苏州", HERE, ME)
        more = await say(rig, "我住在苏州，小区叫听雨轩", HERE)
        assert is_stored(more, How.REPLACED)
        assert more.former == first.memory
        assert await rig.newest(HERE) == [more.memory.memory.judgment]
        archive = tmp_path / "memory/scopes/家人/archive" / first.memory.path
        assert f"被 {more.memory.memory.memory_id} 取代" in archive.read_text("utf-8")
        back = await rig.restore(first.memory.memory.memory_id, HERE, ME)
        assert is_changed(back, DeedKind.REPLACED, undone=True)
        assert await rig.newest(HERE) == ["我住在苏州"]


class Talkative(InMemoryVectorStore):
    """A store that forgets to look at the filter."""

    def query(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        return super().query(vector, replace(scope_filter, everything=True), k)


async def test_a_store_that_answers_from_elsewhere_is_not_believed(tmp_path: Path) -> None:
    store = Talkative()
    async with running(tmp_path, embedder=OneDirection(), store=store, settings=PATIENT) as rig:
        await say(rig, OLD, OFFICE)
        await say(rig, OLD, SQUARE)
        assert is_stored(await say(rig, NEW, HERE), How.NEW)
