"""While old memories come, everybody goes on: nobody sees another's, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_stores import PluginStores
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    running,
    with_pace,
)
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import ANGEL, make_simple
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    fields,
    filled,
    migrating,
    until_done,
)

pytestmark = pytest.mark.engine

SCOPES = ("public", "家人", "公司", "猫")
MAP = {
    f"aiocqhttp:GroupMessage:{number}": scope
    for number, scope in zip((2, 3, 4), SCOPES[1:], strict=True)
}
ROOMS = dict(zip(SCOPES, (group(1), group(2), group(3), group(4)), strict=True))
COUNT = 120


def mark(scope: str) -> str:
    """A word that is said in this scope only."""
    return {"public": "橘子", "家人": "存折", "公司": "合同", "猫": "罐头"}[scope]


def scoped_records() -> dict[str, dict[str, Any]]:
    """As many in each scope; those of public name none."""
    return {
        f"old-{number}-{scope}": fields(
            f"旧的第{number}份{mark(scope)}在柜子里",
            **({} if scope == "public" else {"memory_scope": scope}),
        )
        for number in range(COUNT // 4)
        for scope in SCOPES
    }


def on_a_server(_: Path) -> dict[str, Any]:
    """A pre-scope plugin's collection, as options of an engine."""
    return {"legacy": filled(scoped_records())}


def beside_us(root: Path) -> dict[str, Any]:
    """Another plugin's database, likewise."""
    rows = [
        {"id": name, "judgment": one["judgment"], "memory_scope": one.get("memory_scope", "")}
        for name, one in scoped_records().items()
    ]
    plugins = root / "plugin_data"
    make_simple(plugins / ANGEL / "memory_center" / "index" / "simple_memory.db", rows)
    return {"others": PluginStores(plugins, root / "state" / "adoption-copies")}


@pytest.mark.parametrize("arriving", [on_a_server, beside_us])
async def test_four_scopes_are_written_and_read_all_the_while_without_a_leak_or_a_loss(
    tmp_path: Path, arriving: Callable[[Path], dict[str, Any]]
) -> None:
    paced = with_pace(QUICK, rest_seconds=(0.02, 0.02))
    settings = replace(paced, migration_batch=8, adopt_legacy=True)
    asked = "、".join(mark(other) for other in SCOPES)
    written: dict[str, list[str]] = {scope: [] for scope in SCOPES}

    async def write_and_read(rig: Rig, scope: str, room: ConversationId) -> None:
        others = {mark(other) for other in SCOPES} - {mark(scope), mark("public")}
        for number in range(6):
            text = f"新的第{number}份{mark(scope)}放在桌上"
            await rig.remember(text, room, person(1))
            written[scope].append(text)
            for told in await rig.texts(f"{asked}在哪里", room, limit=20):
                assert not [word for word in others if word in told]

    options = arriving(tmp_path)
    async with running(tmp_path, MAP, settings=settings, **options) as rig, migrating(rig):
        await asyncio.gather(*(write_and_read(rig, *one) for one in ROOMS.items()))
        assert (await until_done(rig)).tally.adopted == COUNT
        by_scope = (await rig.engine.status()).by_scope
        assert by_scope == {scope: COUNT // 4 + len(written[scope]) for scope in SCOPES}
        for scope, room in ROOMS.items():
            best = (await rig.texts(f"旧的第7份{mark(scope)}在哪里", room))[0]
            assert best == f"旧的第7份{mark(scope)}在柜子里"
            for text in written[scope]:
                assert text in await rig.texts(text, room)
