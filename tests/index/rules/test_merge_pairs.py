"""Constant thresholds, or words alone, propose whom the guards look at: over pairs made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.benchmarks import calibrate
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import ANY, CAUTIOUS

pytestmark = pytest.mark.unit

PAIRS = calibrate.load_pairs()


def test_words_propose_what_the_guards_would_merge_and_nothing_is_merged_wrongly() -> None:
    figures = calibrate.report(PAIRS, calibrate.shares_by_words(PAIRS), ANY)
    assert figures["wrongly_merged"] == 0
    assert figures["paraphrases_merged"] >= 0.5
    rows = [row for row in figures["classes"] if row["should_merge"]]
    merged, possible = (sum(r[n] * r["pairs"] for r in rows) for n in ("merged", "guards_alone"))
    assert merged >= 0.9 * possible


@pytest.mark.parametrize("similarity", [CAUTIOUS.replace, 1.0])
def test_no_similarity_merges_what_the_guards_keep_apart(similarity: float) -> None:
    figures = calibrate.report(PAIRS, [similarity] * len(PAIRS), CAUTIOUS)
    assert figures["wrongly_merged"] == 0


def test_the_page_about_calibration_tells_the_numbers_that_are_used() -> None:
    page = (Path(__file__).parents[3] / "docs/dev/calibration.md").read_text("utf-8")
    assert f"are {CAUTIOUS.reinforce} and {CAUTIOUS.replace}" in page
    assert f"our {len(PAIRS)} pairs" in page
    assert f"0 of {sum(not pair.should_merge for pair in PAIRS)}" in page
