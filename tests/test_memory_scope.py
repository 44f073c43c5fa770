"""Which scope a conversation has, and what an index is asked for.

From outside: what ``CognitiveService`` says and does, over a real vault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    ConversationKind,
    EnginePaths,
    Memory,
    Refused,
)
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import (
    export_store,
    restore_store,
)
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.models.scope import QUARANTINE_NAME, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, QUICK, group, private, running

pytestmark = pytest.mark.engine

NOW = datetime(2026, 11, 1, tzinfo=UTC)
TEXT = "书房的灯泡是三月换的"
DERIVED = {
    "a mapped group": (group(777), "家人"),
    "a mapped private chat": (private(1002), "家人"),
    "another group": (group(888), "公司"),
    "a group that no map names": (group(999), "public"),
    "a private chat that no map names": (private(1001), "public"),
    "a thread": (group("777#12"), "家人"),
    "a mapped persona": (group(998, persona="猫娘"), "猫"),
    "a mapped persona in a mapped group": (group(777, persona="猫娘"), "家人"),
}


async def test_the_map_comes_first_and_what_is_in_no_map_is_public(tmp_path: Path) -> None:
    async with running(tmp_path, {**MAP, "persona:猫娘": "猫"}, follow=False) as rig:
        for what, (where, scope) in DERIVED.items():
            report = await rig.engine.service.describe(conversation_id=where)
            stored = await rig.remember(f"{TEXT}，{what}", where)
            assert (report.resolution.name, stored.memory.scope.name) == (scope, scope), what
            assert (tmp_path / "memory" / "scopes" / scope / stored.memory.path).is_file()


NOWHERE = ConversationId("", None, "", ConversationKind.OTHER)
NONSENSE = replace(NOWHERE, umo="nonsense")


@pytest.mark.parametrize(
    ("where", "scope_map", "settings", "why"),
    [
        (group(5), {group(5).umo: "家 人"}, {}, "illegal_name"),
        (private(5), {}, {"dm_scope": None}, "unknown_policy"),
        (NONSENSE, {}, {}, "malformed_id"),
        (NOWHERE, {}, {}, "malformed_id"),
    ],
)
async def test_whatever_cannot_be_told_writes_nothing_and_sees_nothing_private(
    tmp_path: Path,
    where: ConversationId,
    scope_map: Mapping[str, object],
    settings: Mapping[str, object],
    why: str,
) -> None:
    changed = replace(QUICK, **settings)  # type: ignore[arg-type]
    async with running(tmp_path, {**MAP, **scope_map}, settings=changed, follow=False) as rig:
        await rig.remember("奶奶对花生过敏", group(777))
        report = await rig.engine.service.describe(conversation_id=where)
        assert (report.resolution.scope, report.resolution.code) == (None, why)
        assert report.resolution.refused is (why == "malformed_id")
        outcome = await rig.tell(TEXT, where)
        assert isinstance(outcome, Refused)
        assert outcome.reason in ("read_only", "refused")
        assert await rig.texts("奶奶能吃花生吗", where) == []


@pytest.mark.parametrize("restored", [False, True])
async def test_scopes_that_were_adopted_are_no_loss_and_ones_restored_without_their_map_are(
    tmp_path: Path, restored: bool
) -> None:
    async with running(tmp_path / "bot", {}) as rig:
        peanuts = Memory("m-01jd3q8z7k0000", "奶奶对花生过敏", NOW)
        assert await rig.engine.parts.handlers.take(Scope.parse("家人"), [peanuts])
    place = tmp_path / ("new" if restored else "bot")
    if restored:
        export_store(EnginePaths.under(tmp_path / "bot"), tmp_path / "store.jsonl", now=NOW)
        restore_store(EnginePaths.under(place), tmp_path / "store.jsonl")
    async with running(place, {}) as rig:
        report = await rig.engine.service.describe(conversation_id=group(5))
        assert (report.resolution.scope is None) is restored is bool(rig.notices)


def test_migration_mode_asks_for_unmarked_records_too_and_admits_no_more() -> None:
    strict = ScopeFilter.reading_as(Scope.parse("家人"))
    wide = replace(strict, migrating=True)
    assert scope_where(strict) == {"memory_scope": {"$in": ["家人", "public"]}}
    assert scope_where(wide) == {"$or": [scope_where(strict), {"has_scope": {"$ne": 1}}]}
    # What comes back by it is judged by its scope all the same.
    for name in ("家人", "public"):
        assert wide.admits(name)
    for name in (None, "", "公司", QUARANTINE_NAME, 7):
        assert not wide.admits(name)
    with pytest.raises(TypeError):
        scope_where(replace(strict, migrating="家人"))  # type: ignore[arg-type]
