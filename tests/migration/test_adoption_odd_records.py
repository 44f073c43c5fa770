"""Whatever stands in the records of another plugin's database: by way of the copy, the child that
reads it, the plan and the vault, each of them ends where it should, and says what it said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.models.migration import MigrationState, Tally
from astrbot_plugin_scoped_memory.tests.migration.test_adoption import (
    ADOPTING,
    FAMILY_ROOM,
    OPEN_ROOM,
    adopt,
    everything,
    stores_of,
    vault_of,
)
from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import (
    ANGEL,
    Row,
    angel_record,
    make_chroma,
    photograph,
    vector,
)

pytestmark = pytest.mark.engine

THEN = datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)
NOW = datetime(2026, 11, 21, 18, tzinfo=UTC)
"""The day on which the clock of these tests begins."""
MEGABYTE = "很长的一条" + "长" * 350_000
ODD: dict[str, Mapping[str, Any]] = {
    "scope is a number": {"memory_scope": 7},
    "scope is empty": {"memory_scope": ""},
    "scope is illegal": {"memory_scope": "../家人"},
    "no time": {"created_at": None},
    "time is a text": {"created_at": "2025-06-15T15:06:40Z"},
    "time in milliseconds": {"created_at": 1_750_000_000_000},
    "time to come": {"created_at": 9_750_000_000.0},
    "strength is a text": {"strength": "80"},
    "broken JSON": {"associations": '{"u2": 0.5', "state_snapshot": "["},
}


def rows() -> list[Row]:
    """Each with words of its own."""
    found: list[Row] = []
    for number, (name, odd) in enumerate(ODD.items()):
        _, _, fields, numbers = angel_record(number, judgment=words(name), created_at=1.75e9)
        kept = {key: value for key, value in {**(fields or {}), **odd}.items() if value is not None}
        found.append((name, f"{words(name)},  茶, 喜好", kept, numbers))
    return [
        *found,
        ("no metadata", f"{words('no metadata')},  标签", None, vector(20)),
        ("empty document", "", angel_record(21, judgment=words("empty document"))[2], vector(21)),
        ("nothing at all", "", {"judgment": "", "strength": 5}, vector(22)),
        ("a megabyte", f"{MEGABYTE},  标签", {"judgment": MEGABYTE}, vector(23)),
        ("in two databases", words("here"), {"judgment": words("here")}, vector(24)),
    ]


def words(name: str) -> str:
    """What a record says."""
    return f"第二天喝茶的人说的是：{name}"


@dataclass
class Came:
    """What became of them."""

    root: Path
    tally: Tally = field(default_factory=Tally)
    vault: dict[str, dict[str, Memory]] = field(default_factory=dict)
    recalled: dict[str, list[str]] = field(default_factory=dict)


async def play(came: Came, plugins: Path) -> None:
    others = stores_of(came.root, plugins)
    async with running(came.root, others=others, settings=ADOPTING) as rig:
        await rig.engine.migrations.run_once()
        status = rig.engine.migrations.status()
        assert (status.state, status.remaining, status.detail) == (MigrationState.DONE, 0, "")
        came.tally = status.tally
        for name, room in (("家人", FAMILY_ROOM), ("public", OPEN_ROOM)):
            texts = await everything(rig, room)
            came.recalled[name] = [*texts, *await rig.texts("第二天喝茶的人", room, limit=50)]


@pytest.fixture(scope="module")
def came(tmp_path_factory: pytest.TempPathFactory) -> Came:
    """Played once, over databases of eight and of five dimensions."""
    folder = tmp_path_factory.mktemp("odd")
    plugins = folder / "plugin_data"
    angel = plugins / ANGEL
    twice = ("in two databases", words("there"), {"judgment": words("there")}, vector(24, 5))
    local = angel / "memory_local_default" / "chromadb"
    make_chroma(angel / "memory_openai" / "chromadb", rows(), local=(local, [twice]))
    before = photograph(plugins)
    found = Came(folder / "own")
    asyncio.run(play(found, plugins))
    assert photograph(plugins) == before
    found.vault = vault_of(found.root)
    return found


def test_the_four_numbers_add_up_to_what_was_there(came: Came) -> None:
    tally = came.tally
    assert tally.scanned == len(rows()) + 1
    ends = (tally.adopted, tally.merged, tally.quarantined, tally.broken)
    assert ends == (len(rows()) + 1 - 3, 0, 2, 1)
    assert {scope: len(found) for scope, found in came.vault.items()} == {
        "public": tally.adopted,
        "quarantine": 2,
    }


def test_an_illegal_scope_is_shown_to_nobody_and_an_empty_one_to_all(came: Came) -> None:
    waiting = {words("scope is a number"), words("scope is illegal")}
    assert set(came.vault["quarantine"]) == waiting
    for recalled in came.recalled.values():
        assert len(recalled) > 5
        assert not waiting & set(recalled)
    assert words("scope is empty") in came.vault["public"]


@pytest.mark.parametrize("name", ["time is a text", "time in milliseconds", "broken JSON"])
def test_a_time_is_kept_however_it_was_written(came: Came, name: str) -> None:
    assert came.vault["public"][words(name)].created_at == THEN


def test_a_time_that_is_none_is_unknown_and_one_to_come_is_that_of_the_adoption(came: Came) -> None:
    assert came.vault["public"][words("no time")].undated
    memory = came.vault["public"][words("time to come")]
    assert 0 <= (memory.created_at - NOW).total_seconds() < 3600
    assert "原时间：9750000000.0" in memory.extra


def test_a_strength_that_is_a_text_is_a_number(came: Came) -> None:
    assert came.vault["public"][words("strength is a text")].strength == 80


def test_json_that_is_broken_stands_as_it_stood(came: Came) -> None:
    extra = came.vault["public"][words("broken JSON")].extra
    assert '关联："{\\"u2\\": 0.5"' in extra
    assert '心境："["' in extra


def test_what_lacks_a_part_is_read_from_the_other(came: Came) -> None:
    assert came.vault["public"][words("no metadata")].tags == ("标签",)
    memory = came.vault["public"][words("empty document")]
    assert (memory.tags, memory.reasoning) == (("茶", "喜好"), "他在第21天说过")
    (path,) = came.root.glob("state/adoption/*/broken.jsonl")
    (line,) = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert (line["id"], line["fields"]) == ("nothing at all", {"judgment": "", "strength": 5})


def test_a_megabyte_has_a_short_heading_and_loses_no_word(came: Came) -> None:
    assert len(MEGABYTE.encode()) > 1 << 20
    (memory,) = [m for j, m in came.vault["public"].items() if j.startswith("很长的一条")]
    assert len(memory.judgment) <= 200
    assert memory.reasoning.startswith(MEGABYTE)


def test_an_id_in_two_databases_is_two_records(came: Came) -> None:
    assert {words("here"), words("there")} <= set(came.vault["public"])


async def test_it_all_comes_once(came: Came) -> None:
    status, _ = await adopt(came.root, came.root.parent / "plugin_data")
    assert status.tally == came.tally
    assert vault_of(came.root) == came.vault
