"""Reads ``weights.json``, which ``benchmarks/fit.py`` writes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..log import logger
from .rules.weights import Linear, Pair, Probe, RecallWeights

PATH: Final = Path(__file__).with_name("weights.json")

_ORDER: Final = Linear(
    {"near": 1.0, "covered": 3.0, "words": 1.5, "verbatim": 3.0, "time": 2.5, "stated": 1.0}
)
_SPEAK: Final = Linear({"covered": 6.0, "asks": 1.0}, bias=-4.0)
_NEWER: Final = Linear({"shared": 4.0, "cosine": 4.0, "speaker": 2.0}, bias=-7.0)
FIXED: Final = RecallWeights(
    Pair(_ORDER, _ORDER),
    Pair(_SPEAK, _SPEAK),
    floor=0.5,
    within=2.0,
    unknown=(0.0, 4.0),
    newer=_NEWER,
)
"""Stand in where the file is gone or broken: words decide."""


@cache
def shipped() -> RecallWeights:
    """The weights of the file, read once. Blocks. Never raises: ``FIXED`` where it is broken."""
    try:
        return read(json.loads(PATH.read_text("utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        logger.warning("weights_unread", error=error)
        return FIXED


def read(found: Mapping[str, Any]) -> RecallWeights:
    """Raises ValueError, TypeError, KeyError, AttributeError."""
    low, slope = (_number(value) for value in found["unknown"])
    return RecallWeights(
        order=_pair(found["order"]),
        speak=_pair(found["speak"]),
        floor=_number(found["floor"]),
        within=_number(found["within"]),
        unknown=(low, slope),
        beside=_number(found["beside"]),
        probes={
            str(name): Probe([_number(value) for value in probe["vector"]], _number(probe["bias"]))
            for name, probe in found["probes"].items()
        },
        newer=_linear(found["newer"]) if "newer" in found else _NEWER,
    )


def _pair(found: Mapping[str, Any]) -> Pair:
    return Pair(_linear(found["words"]), _linear(found["both"]))


def _linear(found: Mapping[str, Any]) -> Linear:
    weights = {str(name): _number(value) for name, value in found["weights"].items()}
    return Linear(weights, _number(found["bias"]))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"no number: {value!r}")
    return float(value)
