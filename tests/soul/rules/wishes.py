"""Wishes for a manner, harmless and hostile ones; half of each by a writer who had not seen the
rules."""

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
