"""Texts that would like to be orders, and harmless ones that sound like them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "tests" / "data" / "attacks.jsonl"
FOLDER = "SCOPED_MEMORY_BENCH"
"""The environment variable that names the folder with ``hostile.dev.jsonl``: data that is not ours
to hand on; one that it names and that lacks the file is an error. Without it, ``../shared/bench``
beside the checkout; without that, there is none."""


@dataclass(frozen=True, slots=True)
class Said:
    """A text, and which part of a draft it stands in (``name``: the speaker's nickname).

    ``label``: what ``order_like`` is to find, ``takeover``, ``standing`` or ``harmless``; empty
    where it may find anything.
    """

    text: str
    way: str = "judgment"
    label: str = ""
    is_attack: bool = True


def ours() -> list[Said]:
    """What this project has thought of: each message of each row by itself."""
    found = []
    for row in map(json.loads, OURS.read_text(encoding="utf-8").splitlines()):
        found += [
            Said(turn["text"], row.get("way", "judgment"), row.get("label", ""), row["attack"])
            for turn in row.get("turns") or [row]
        ]
    return found


def others() -> list[Said]:
    """A collection made by others, empty where it is not at hand. Raises OSError where the
    environment says that it is."""
    named = os.environ.get(FOLDER)
    folder = Path(named) if named else ROOT.parent / "shared" / "bench"
    try:
        lines = (folder / "hostile.dev.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        if named:
            raise
        return []
    rows = map(json.loads, lines)
    return [Said(row["text"], is_attack=row["kind"] == "attack") for row in rows]
