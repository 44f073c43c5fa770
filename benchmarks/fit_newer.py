"""Fits the model that tells a newer statement of one thing from another matter.

    python benchmarks/fit_newer.py [--write] [CAST.json | TALK.corpus.jsonl ...]

The pairs are those of fit_pairs.py; plain ones count as one more cast. Those of
``newer_pairs.held_out.json`` are never fitted: they only tell what the weights are worth.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

import numpy as np  # noqa: E402
from everyday_cast import read_cast  # noqa: E402
from fit_models import least_loss  # noqa: E402
from fit_pairs import (  # noqa: E402
    CORPUS,
    HELD_OUT,
    Pairs,
    pairs_of,
    pairs_of_talk,
    plain_pairs,
)

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.tell_once import FEATURES  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.recall.weights import PATH  # noqa: E402

CASTS = Path(__file__).resolve().parent / "casts"
TALKS = Path(__file__).resolve().parent / "talks"
PENALTY = 2e-3
WRONG = 3.0
"""A wrong pair counts so much beside an update that was missed."""
BEHIND = 0.2
"""Answers of a cast left out that may be put behind another matter, on average. Of a talk any may:
recall asks more of lines."""


def told() -> list[Path]:
    """All casts and talks that a fit reads."""
    talks, kinds = (folder.glob(f"*{CORPUS}") for folder in (TALKS, TALKS / "kinds"))
    return [*sorted(CASTS.glob("*.json")), *sorted(talks), *sorted(kinds)]


def fit(casts: Sequence[Pairs]) -> np.ndarray:
    """A logistic regression, its bias last, no weight below 0: each cast counts the same, a
    wrong pair ``WRONG`` times as much as one that was missed."""
    x = np.concatenate([one.rows for one in casts])
    y = np.concatenate([one.updates for one in casts]).astype(float)
    importance = np.concatenate(
        [
            np.where(one.updates, 1 / one.updates.sum(), WRONG / (~one.updates).sum())
            for one in casts
        ]
    ) / len(casts)
    told, first = np.unique(np.c_[x, np.ones(len(x)), y], axis=0, return_inverse=True)
    importance = np.bincount(first.ravel(), importance)
    rows, y = told[:, :-1], told[:, -1]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = rows @ weights
        own = np.r_[weights[:-1], 0]
        total = float(importance @ (np.logaddexp(0, odds) - y * odds))
        slope = (importance * (1 / (1 + np.exp(-odds)) - y)) @ rows
        return total + PENALTY * own @ own / 2, slope + PENALTY * own

    free = [*[(0.0, None)] * len(FEATURES), (None, None)]
    return least_loss(loss, np.zeros(len(free)), free)


def figures(pairs: Pairs, weights: np.ndarray, *, asks: bool) -> tuple[int, int, int, int]:
    """Updates found, updates, other pairs that were taken for one, and those of them that put an
    answer behind. ``asks``: with the questions written for the memories, else without."""
    half = len(pairs.keys) // 2
    part = slice(0, half) if asks else slice(half, None)
    rows, updates, keys = pairs.rows[part], pairs.updates[part], pairs.keys[part]
    said = np.c_[rows, np.ones(len(rows))] @ weights > 0

    def count(which: np.ndarray) -> int:
        return len({key for key, one in zip(keys, which, strict=True) if one})

    wrong = said & ~updates
    return count(said & updates), pairs.of, count(wrong), count(wrong & pairs.hurts[part])


def left_out(
    casts: dict[str, Pairs], talks: dict[str, Pairs]
) -> tuple[float, dict[str, list[tuple[int, int, int, int]]]]:
    """What is taken off the bias, such that casts left out have on average at most ``BEHIND``
    answers put behind another matter; and the figures of each cast and talk, with the questions of
    its memories and without."""
    every = casts | talks
    plain = plain_pairs()
    fits = {
        name: fit([plain, *(pairs for other, pairs in every.items() if other != name)])
        for name in every
    }
    for step in range(-30, 60):
        shift = np.r_[np.zeros(len(FEATURES)), step / 10]
        found = {
            name: [figures(every[name], fits[name] - shift, asks=asks) for asks in (True, False)]
            for name in every
        }
        behind = [sum(found[name][way][3] for name in casts) for way in (0, 1)]
        if max(behind) <= BEHIND * len(casts):
            break
    return step / 10, found


def fitted_newer(paths: Sequence[Path]) -> dict[str, Any]:
    """What ``weights.json`` holds of it; prints what it is worth on what is left out. ``paths``: of
    casts and talks."""
    casts: dict[str, Pairs] = {}
    talks: dict[str, Pairs] = {}
    for path in paths:
        if path.name.endswith(CORPUS):
            talks[path.name.removesuffix(CORPUS)] = pairs_of_talk(path)
        else:
            casts[path.stem] = pairs_of(read_cast(path))
    shift, found = left_out(casts, talks)
    sys.stdout.write("newer: updates found, of, wrong pairs, answers put behind; without asks\n")
    for name, both in found.items():
        sys.stdout.write(f"  {name:14}{both[0]!s:>22}{both[1]!s:>22}\n")
    for kind, names in (("casts", casts), ("talks", talks)):
        if names:
            total = np.array([found[name] for name in names]).sum(axis=0).tolist()
            sys.stdout.write(f"  {kind:14}{total[0]!s:>22}{total[1]!s:>22}\n")
    weights = fit([plain_pairs(), *casts.values(), *talks.values()])
    weights[-1] -= shift
    held_out = plain_pairs(HELD_OUT)
    said = np.c_[held_out.rows, np.ones(len(held_out.rows))] @ weights > 0
    right, wrong = (int((said & one).sum()) for one in (held_out.updates, ~held_out.updates))
    sys.stdout.write(f"  plain pairs held out: {right} of {held_out.of} updates, {wrong} wrong\n")
    kept = zip(FEATURES, weights.round(3), strict=False)
    return {
        "weights": {name: float(value) for name, value in kept if value},
        "bias": round(float(weights[-1]), 3),
    }


def main() -> None:
    """Fit and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="casts, and talks (*.corpus.jsonl)")
    parser.add_argument("--write", action="store_true", help="write its part of weights.json")
    options = parser.parse_args()
    newer = fitted_newer(options.paths or told())
    if options.write:
        known = json.loads(PATH.read_text("utf-8")) | {"newer": newer}
        PATH.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
