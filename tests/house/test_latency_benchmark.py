"""benchmarks/latency.py runs, at a size that takes seconds; its figures are nobody's promise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPREAD = {"p50", "p95", "max"}
STALLS = {"largest_ms", "held_ms", "p99_ms", "over_30_ms", "over_100_ms"}
pytestmark = pytest.mark.timeout(300)  # the first test waits for all parts


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    target = tmp_path_factory.mktemp("latency") / "figures.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "latency.py"), "--json", str(target)]
    command += ["--sizes", "120", "--only", "engine,recall,reconcile,probe"]
    command += ["--queries", "8", "--writes", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert "engine, 120 memories" in done.stdout
    read: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return read


def test_the_engine_is_measured_by_stage_with_the_stalls_of_the_loop(
    figures: dict[str, Any],
) -> None:
    engine = figures["engine"][0]
    assert engine["memories"] == 120
    assert {"read", "index", "choose", "inject", "total"} <= set(engine["recall_ms"])
    assert set(engine["recall_in_talk_ms"]) == set(engine["recall_ms"])
    for stages in (engine["recall_ms"], engine["recall_in_talk_ms"]):
        assert all(set(stage) == SPREAD for stage in stages.values())
    for stalls in (engine["build"]["stalls"], engine["write"]["stalls"]):
        assert set(stalls) == {*STALLS, "by_noise"}
    assert engine["build"]["a_second"] > 0
    assert engine["write"]["a_second"] > 0
    assert engine["write"]["acknowledged_by_append_p95"] > 0
    assert set(figures["noise"]) == STALLS


def test_recall_is_compared_with_full_text_and_a_tiny_scope_with_itself_alone(
    figures: dict[str, Any],
) -> None:
    recall = figures["recall"][0]
    assert recall["scopes"] == 50
    assert set(recall["recall_ms"]) == {"hybrid", "both arms", "words", "vectors"}
    assert set(recall["full_text_ms"]) == SPREAD
    assert recall["tiny_scope_same_as_alone"] == {"lexical": 1, "dense": 1}
    assert recall["rebuild"]["embedded_again"] == 0
    assert set(recall["rebuild"]["stalls"]) == {*STALLS, "by_noise"}
    assert recall["hybrid_by_full_text_p95"] > 0


def test_a_start_over_unchanged_files_is_compared_with_reading_them(
    figures: dict[str, Any],
) -> None:
    reconcile = figures["reconcile"][0]
    assert reconcile["memories"] == 120
    assert {"read", "start", "look", "one_file_edited", "all_files_edited"} <= set(
        reconcile["seconds"]
    )
    assert reconcile["start_to_read"] > 0


def test_the_store_is_compared_with_the_filter_and_with_brute_force(
    figures: dict[str, Any],
) -> None:
    probe = figures["probe"][0]
    for way in ("store", "filter", "brute"):
        assert set(probe[way]["ms"]) == SPREAD
    assert probe["brute"]["recall_at_10"] == 1
    assert probe["store"]["recall_at_10"] > 0.9  # so few records are found by any way
    assert probe["filter_by_store"] > 0
    assert probe["brute_by_store"] > 0
    assert probe["adds_a_second"] > 0
    assert probe["adding_by_embedding"] > 0


def test_an_unknown_part_is_refused_by_name() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "latency.py"), "--only", "weather"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode != 0
    assert "weather" in done.stderr
