"""What a soak prints, and what it does not let pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.load.figures import Figures, Sample
from astrbot_plugin_scoped_memory.tests.support.load.ledger import Verdict

pytestmark = pytest.mark.unit


def figures() -> Figures:
    """Of a run with two engines, one after the other."""
    made = Figures("engine", seed=7)
    made.operations["remember stored"] = 30
    made.stall(12.5, 3.0, "somewhere")
    made.samples = [
        Sample(1, "open", 100.0, 20, 5, 10),
        Sample(1, "closed", 90.0, 7, 4, 10),
        Sample(1, "open", 110.0, 21, 5, 30),
        Sample(1, "closed", 95.0, 7, 4, 30),
    ]
    return made


def test_the_table_and_the_file_show_all_that_a_soak_is_for(tmp_path: Path) -> None:
    made = figures()
    summary = made.summary()
    assert (summary["operations"], summary["lost"], summary["leaked"]) == (30, 0, 0)
    assert summary["largest loop stall, ms"] == 12.5
    for what, values in (("RSS open, MiB", [100.0, 100.0, 110.0]), ("handles closed", [7, 7, 7])):
        assert summary[f"{what} (start, after a third, end)"] == values
    table = made.table()
    assert all(name in table for name in summary)
    kept = json.loads(made.save(tmp_path).read_text("utf-8"))
    assert summary.keys() <= kept.keys()


SPOILED: dict[str, Callable[[Figures], object]] = {
    "lost": lambda made: made.verdict.add(Verdict(lost=["1-1"])),
    "misplaced": lambda made: made.verdict.add(Verdict(misplaced=["1-1"])),
    "doubled": lambda made: made.verdict.add(Verdict(doubled=["1-1"])),
    "forgotten and back": lambda made: made.verdict.add(Verdict(risen=["1-1"])),
    "leaked": lambda made: made.failures.append({"event": "leak"}),
    "crashed": lambda made: setattr(made, "native_crashes", 1),
}


@pytest.mark.parametrize("what", SPOILED)
def test_nothing_of_that_kind_passes(what: str) -> None:
    made = figures()
    made.assert_sound()
    SPOILED[what](made)
    with pytest.raises(AssertionError):
        made.assert_sound()
    if what in made.summary():
        assert made.summary()[what] == 1


def test_handles_that_grow_from_reload_to_reload_do_not_pass() -> None:
    made = figures()
    made.assert_handles_stay()
    made.samples.append(Sample(1, "closed", 95.0, 70, 4, 30))
    with pytest.raises(AssertionError):
        made.assert_handles_stay()
