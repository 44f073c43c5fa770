"""Each embedder carries the similarities from which on the guards look at a neighbour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.benchmarks import calibrate
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.languages import (
    PROBE_MEMORIES,
    PROBE_QUERIES,
    Language,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.merge_calibration import (
    MERGE_PROBES,
    merge_thresholds,
)
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import (
    ANY,
    CAUTIOUS,
    Append,
    MergeThresholds,
    decide,
)

pytestmark = pytest.mark.unit

PAIRS = calibrate.load_pairs()


def vectors(similarity: list[float]) -> np.ndarray:
    """Old and new by turns, each pair with that cosine."""
    rows = [
        row
        for cosine in similarity
        for row in ((1.0, 0.0), (cosine, float(np.sqrt(1 - cosine**2))))
    ]
    return np.array(rows, dtype=np.float32)


def test_the_thresholds_lie_just_below_the_least_similar_probes() -> None:
    probes = vectors([0.97, 0.95, 0.96, 0.98, 0.97, 0.95, 0.96, 0.98, 0.93, 0.9, 0.93, 0.94])
    thresholds = merge_thresholds(probes, ())
    assert thresholds.reinforce == pytest.approx(0.93, abs=1e-4)
    assert thresholds.replace == pytest.approx(0.88, abs=1e-4)


def test_a_language_that_the_model_cannot_read_has_no_say() -> None:
    probes = vectors([0.2, 0.3, 0.2, 0.1, 0.97, 0.95, 0.96, 0.98, 0.1, 0.2, 0.93, 0.94])
    assert merge_thresholds(probes, {Language.CHINESE}).replace == pytest.approx(0.91, abs=1e-4)
    assert merge_thresholds(probes, set(Language)) == CAUTIOUS


@pytest.mark.parametrize("cosine", [-1.0, 0.0, 1.0])
def test_a_model_without_sense_still_has_thresholds(cosine: float) -> None:
    thresholds = merge_thresholds(vectors([cosine] * 12), ())
    assert 0.5 <= thresholds.replace <= thresholds.reinforce < 1.0


def test_the_guards_would_merge_every_probe() -> None:
    """Else a threshold would be measured on pairs that never merge."""
    for old, new in zip(MERGE_PROBES[0::2], MERGE_PROBES[1::2], strict=True):
        pair = calibrate.pair_of({"lang": "", "class": "", "old": old, "new": new})
        decision = decide(pair.new, [(pair.old, 1.0)], MergeThresholds(0.9, 0.8))
        assert not isinstance(decision, Append), (old, new)


def test_words_propose_what_the_guards_would_merge_and_nothing_is_merged_wrongly() -> None:
    figures = calibrate.report(PAIRS, calibrate.shares_by_words(PAIRS), ANY)
    assert figures["wrongly_merged"] == 0
    assert figures["paraphrases_merged"] >= 0.5
    rows = [row for row in figures["classes"] if row["should_merge"]]
    merged, possible = (sum(r[n] * r["pairs"] for r in rows) for n in ("merged", "guards_alone"))
    assert merged >= 0.9 * possible


def test_the_page_about_calibration_tells_the_numbers_that_are_used() -> None:
    page = (Path(__file__).parents[3] / "docs" / "dev" / "calibration.md").read_text(
        encoding="utf-8"
    )
    assert f"are {CAUTIOUS.reinforce} and {CAUTIOUS.replace}" in page
    assert f"{len(PROBE_QUERIES) + len(PROBE_MEMORIES)} for the languages" in page
    assert f"{len(MERGE_PROBES)} for the thresholds" in page
    assert f"our {len(PAIRS)} pairs" in page
    assert f"0 of {sum(not pair.should_merge for pair in PAIRS)}" in page
