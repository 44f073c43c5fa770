"""Wishes for a manner. ``HOSTILE`` and ``BENIGN`` were written before the rules, or by somebody who
had not seen them. ``TURNED`` and ``ORDINARY`` came while the rules were made: what known words can
be turned to, and what people may wish."""

from __future__ import annotations

import json
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"


def wishes(name: str) -> list[str]:
    """Returns the texts of ``soul_<name>.jsonl``."""
    lines = (DATA / f"soul_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


HOSTILE = wishes("hostile")
BENIGN = wishes("benign")
TURNED = wishes("turned")
ORDINARY = wishes("ordinary")
