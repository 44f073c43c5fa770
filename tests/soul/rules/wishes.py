"""Wishes for a manner, as people who had not seen the rules wrote them."""

from __future__ import annotations

import json
from pathlib import Path

_DATA = Path(__file__).resolve().parents[2] / "data"


def _wishes(name: str) -> list[str]:
    lines = (_DATA / f"soul_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


HOSTILE, HARMLESS = _wishes("hostile"), _wishes("harmless")
