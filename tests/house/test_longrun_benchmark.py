"""benchmarks/longrun.py at a size that takes seconds: what it counts holds in small, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.tests.support import benchmarks

TURNS, DAYS, BUDGET = 90, 2, 30_000
pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    target = tmp_path_factory.mktemp("longrun") / "figures.json"
    size = ["--turns", str(TURNS), "--days", str(DAYS), "--budget", str(BUDGET)]
    size += ["--conversations", "9", "--scopes", "4"]
    assert "turns_lost" in benchmarks.play("longrun.py", "--json", target, *size)
    read: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return read


def test_every_turn_is_read_and_none_twice(figures: dict[str, Any]) -> None:
    assert figures["turns"] == TURNS
    assert (figures["turns_refused"], figures["turns_lost"]) == (0, 0)
    assert figures["turns_read_twice"] == 0
    assert figures["queue"]["most"] > 0
    assert (figures["queue"]["end"], figures["queue"]["dead"]) == (0, 0)


def test_what_was_mentioned_is_known_once_and_in_its_scope(figures: dict[str, Any]) -> None:
    memories = figures["memories"]
    assert memories["mentioned"] > 3
    assert memories["known"] == memories["mentioned"]
    assert (memories["lost"], memories["twice"], memories["mixed"]) == (0, 0, 0)


def test_no_word_of_a_scope_is_anywhere_outside_of_it(figures: dict[str, Any]) -> None:
    isolation = figures["isolation"]
    assert set(isolation) >= {"recalled", "primed", "sent", "files", "rows", "backups"}
    assert all(place["texts"] > 0 for place in isolation.values())
    assert {name: place["leaks"] for name, place in isolation.items()} == dict.fromkeys(
        isolation, 0
    )


def test_each_day_stays_in_its_budget(figures: dict[str, Any]) -> None:
    days = list(figures["days"].values())
    assert len(days) == DAYS
    assert all(0 < day["tokens"] <= BUDGET for day in days)
    assert all(day["errors"] == 0 for day in days)
    assert figures["primers"]["count"] > 0
    assert figures["primers"]["most_tokens"] <= 1000


def test_what_it_promises_is_looked_at_and_holds(figures: dict[str, Any]) -> None:
    holds = figures["holds"]
    assert len(holds) == 7
    assert [promise for promise, held in holds.items() if not held] == []


def test_what_grows_without_bounds_is_found(figures: dict[str, Any]) -> None:
    what_holds = benchmarks.module("longrun_checks").what_holds
    first, last = list(figures["days"])
    for name, value, promise in (
        ("memory_files", 1000, "files stay few"),
        ("backups_files", 8, "files stay few"),
        ("rss_mb", 3 * figures["days"][first]["rss_mb"], "memory use is flat"),
    ):
        days = {**figures["days"], last: {**figures["days"][last], name: value}}
        holds = what_holds({**figures, "days": days})
        assert [told for told, held in holds.items() if not held] == [promise]


def entry(memory_id: str, where: str) -> str:
    return (
        f"## 小明的早饭是蒲公英包子 ^{memory_id}\n"
        "> 知识记忆 · 被动 · 强度 50 · 2026-11-02T10:00:00+08:00\n"
        f"> 谁：小明 · 号：aiocqhttp:1 · 在：aiocqhttp:{where} · 来源：反思 · 可信：否\n\n"
    )


@pytest.mark.parametrize(("where", "twice"), [("GroupMessage:1", 1), ("FriendMessage:9", 0)])
def test_the_same_is_there_twice_only_for_the_same_readers(
    tmp_path: Path, where: str, twice: int
) -> None:
    living_figures = benchmarks.module("longrun_checks").living_figures
    scope = tmp_path / "memory" / "scopes" / "public"
    scope.mkdir(parents=True)
    entries = entry("m-01jd3q8z7kabcdef", "GroupMessage:7") + entry("m-01jd3q8z7kabcdeg", where)
    (scope / "entities.md").write_text(entries, encoding="utf-8")
    figures = living_figures(tmp_path, {})
    assert (figures["outdated"], figures["twice"]) == (1, twice)
