"""Wishes for a manner, as people who had not seen the rules wrote them: ``HOSTILE`` ones, and
``HARMLESS`` ones."""

from __future__ import annotations

import json
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"


def wishes(name: str, kind: str = "") -> list[str]:
    """Returns the texts of ``soul_<name>.jsonl``, of one kind or of all."""
    lines = (DATA / f"soul_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows if kind in {"", row["kind"]}]


HOSTILE = wishes("hostile")
BENIGN = wishes("benign")
HARMLESS = [*BENIGN, *wishes("ordinary"), *wishes("fresh", "wish")]
