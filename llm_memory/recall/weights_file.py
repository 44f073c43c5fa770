"""Reads ``weights.json``, which ``benchmarks/fit.py`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from .rules.weights import Linear, Pair, Probe, RecallWeights

PATH: Final = Path(__file__).with_name("weights.json")


@cache
def shipped() -> RecallWeights:
    """The weights of the file, read once. Blocks. It is as much a part of the plugin as the code
    beside it."""
    return read(json.loads(PATH.read_text("utf-8")))


def read(found: Mapping[str, Any]) -> RecallWeights:
    """Of a fit."""
    low, slope = found["unknown"]
    return RecallWeights(
        order=_pair(found["order"]),
        speak=_pair(found["speak"]),
        floor=found["floor"],
        within=found["within"],
        unknown=(low, slope),
        beside=found["beside"],
        probes={name: Probe(**probe) for name, probe in found["probes"].items()},
        newer=Linear(**found["newer"]),
    )


def _pair(found: Mapping[str, Any]) -> Pair:
    return Pair(Linear(**found["words"]), Linear(**found["both"]))
