"""The ledger that soaks are judged by tells loss, leak and doubles."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.load.cast import Mark, marks_in
from astrbot_plugin_scoped_memory.tests.support.load.ledger import (
    Fate,
    Found,
    Ledger,
    Line,
    Verdict,
)

pytestmark = pytest.mark.unit


def ledger(*serials: str) -> Ledger:
    return Ledger(Line(serial, "家人", "q:GroupMessage:1", f"m-{serial}") for serial in serials)


def found(serial: str, scope: str = "家人", mark: str = "家人") -> Found:
    return Found(serial, scope, mark, f"m-{serial}", "q:GroupMessage:1")


def test_what_is_there_as_acknowledged_is_sound() -> None:
    assert ledger("1-1", "1-2").settle([found("1-1"), found("1-2")]) == Verdict()


def test_an_acknowledged_text_that_is_gone_is_lost() -> None:
    assert ledger("1-1", "1-2").settle([found("1-2")]) == Verdict(lost=["1-1"])


def test_a_text_in_a_folder_that_it_does_not_name_is_misplaced() -> None:
    told = Ledger().settle([found("1-1", scope="公司")])
    assert told == Verdict(misplaced=["1-1"])


def test_a_text_that_stands_there_twice_is_told() -> None:
    assert ledger("1-1").settle([found("1-1"), found("1-1")]) == Verdict(doubled=["1-1"])


def test_a_forgotten_text_that_is_there_is_told() -> None:
    told = ledger("1-1")
    told.becomes("1-1", Fate.FORGOTTEN)
    assert told.settle([found("1-1")]) == Verdict(risen=["1-1"])


def test_a_change_cut_short_may_end_either_way_and_stays_so() -> None:
    told = ledger("1-1")
    told.becomes("1-1", Fate.UNSURE)
    assert told.settle([]) == Verdict()
    assert told.settle([found("1-1")]) == Verdict(risen=["1-1"])


def test_a_write_never_acknowledged_may_be_there_and_then_has_to_stay() -> None:
    told = Ledger()
    assert told.settle([found("1-1")]) == Verdict()
    assert told.settle([]) == Verdict(lost=["1-1"])


def test_a_ledger_reads_what_it_saved(tmp_path: Path) -> None:
    told = ledger("1-1", "1-2")
    told.becomes("1-2", Fate.FORGOTTEN)
    told.save(tmp_path / "ledger.json")
    assert list(Ledger.load(tmp_path / "ledger.json")) == list(told)


def test_marks_are_read_out_of_whatever_shows_them() -> None:
    shown = "1. [2026-11-22 · 小明 · a.md#m-1] 〔a-a〕3-14 小明养猫\n2. 〔家人〕3-15 奶奶"
    assert marks_in(shown) == [Mark("a-a", "3-14"), Mark("家人", "3-15")]
