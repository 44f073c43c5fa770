"""Wishes for a manner. ``HOSTILE`` and ``BENIGN`` were written before the rules (author ``rules``),
or by somebody who had not seen them (``blind``), and are kept as they came. ``TURNED`` and
``ORDINARY`` came while the rules were made: what known words can be turned to, and what people may
wish. ``FRESH`` and ``SOFT`` were written before their author had read the lists of words; with each
stands how it may be worded plainly, written before anything was tried."""

from __future__ import annotations

import json
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"


def wishes(name: str, author: str = "") -> list[str]:
    """Returns the texts of ``soul_<name>.jsonl``, of one author or of all."""
    lines = (DATA / f"soul_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows if author in {"", row["author"]}]


HOSTILE = wishes("hostile")
BENIGN = wishes("benign")
TURNED = wishes("turned")
ORDINARY = wishes("ordinary")


def with_wordings(kind: str) -> list[tuple[str, str]]:
    """Returns the wishes of ``soul_fresh.jsonl``, each with a plain line for it."""
    lines = (DATA / "soul_fresh.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["text"], row["worded"]) for row in rows if row["kind"] == kind]


FRESH = with_wordings("wish")
SOFT = with_wordings("soft")
