"""Fits the model that tells a newer statement of one thing from another matter.

    python benchmarks/fit_newer.py [--write] [CAST ...]

Pairs are of the memories that share most with a question of a cast. A pair is positive where the
older one holds what the question says is outdated, and the newer one what answers it, or where the
cast says that it takes the older one's place; every other pair is negative. Beside the casts,
``newer_pairs.json`` holds plain pairs that casts lack: a value, a negation, a correction, and two
things in like words. They count as one more cast. No engine is asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

import numpy as np  # noqa: E402
from everyday_cast import Cast, Question, read_cast  # noqa: E402
from scipy.optimize import minimize  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (  # noqa: E402
    Memory,
    Provenance,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.newer import (  # noqa: E402
    FEATURES,
    Statement,
    features,
    may_follow,
    weight,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.weights_file import PATH  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.text.overlap import content  # noqa: E402

CASTS = Path(__file__).resolve().parent / "casts"
PLAIN = Path(__file__).resolve().parent / "newer_pairs.json"
FOUND = 15
PENALTY = 2e-3
WRONG = 3.0
"""A wrong pair counts so much beside an update that was missed."""
BEHIND = 0.5
"""Answers of a cast left out that may be put behind another matter, on average."""


@dataclass(frozen=True)
class Pairs:
    """Of one cast: rows of ``FEATURES``, which are updates, and which are answers of a question
    that a wrong mark would put behind another matter."""

    rows: np.ndarray
    updates: np.ndarray
    hurts: np.ndarray
    keys: list[tuple[str, str]]
    of: int
    """All updates, with those that the rules leave out."""


def pairs_of(cast: Cast) -> Pairs:
    """Each pair of memories once a question whose candidates both are; and once more as if they
    had no questions written for them."""
    known: list[tuple[Memory, str, tuple[str, ...]]] = []
    lessons = [(talk, lesson) for talk in cast.talk for lesson in talk.learned]
    for number, (talk, lesson) in enumerate(lessons):
        origin = Provenance(talk.who, person=cast.actor(talk.who).person)
        memory = Memory(
            f"m-{number:04d}",
            lesson["judgment"],
            talk.at,
            asks=tuple(lesson.get("asks", ())),
            provenance=origin,
        )
        known.append((memory, cast.places[talk.where].scope or talk.where, lesson.get("replaces")))
    rows, hurts, keys, known_updates = [], [], [], set()
    for question in cast.questions:
        for asked in (question.original, question.paraphrase):
            for old, new, where in _found(known, asked, question):
                key = old.memory.memory_id, new.memory.memory_id
                if _is_update(old.memory, new.memory, question, where):
                    known_updates.add(key)
                if may_follow(old, new):
                    rows.append(_row(old, new))
                    hurts.append(_holds(old.memory, question) and not _holds(new.memory, question))
                    keys.append(key)
    told = np.array(rows)
    without = told.copy()
    without[:, FEATURES.index("asks")] = 0.0
    return Pairs(
        np.concatenate([told, without]),
        np.array([key in known_updates for key in keys] * 2),
        np.array(hurts * 2),
        keys * 2,
        len(known_updates),
    )


def plain_pairs() -> Pairs:
    """Of ``newer_pairs.json``: each told by one person, and by two."""
    rows, updates, keys = [], [], []
    told = json.loads(PLAIN.read_text("utf-8"))
    for is_update, old, new in [(k == "updates", *pair) for k in told for pair in told[k]]:
        for who in ("one", "two"):
            before, after = (
                Statement.of(Memory("", text, at, provenance=Provenance(by)), frozenset())
                for text, at, by in ((old, _THEN, "one"), (new, _THEN + _LATER, who))
            )
            if may_follow(before, after):
                rows.append(_row(before, after))
                updates.append(is_update)
                keys.append((old, new))
    return Pairs(np.array(rows), np.array(updates), np.zeros(len(rows), bool), keys, 0)


_THEN, _LATER = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=7)


def _row(old: Statement, new: Statement) -> list[float]:
    told = features(old, new)
    return [told[name] for name in FEATURES]


def _found(known: Sequence[Any], asked: str, question: Question) -> list[tuple[Any, Any, str]]:
    """The pairs among what shares most with a question, and what it is judged by."""
    words = content(asked)

    def near(one: tuple[Memory, str, str]) -> tuple[bool, int]:
        told = any(word in one[0].judgment for word in (*question.must, *question.must_not))
        return told, weight(words & content(f"{one[0].judgment} {' '.join(one[0].asks)}"))

    nearest = sorted(known, key=near, reverse=True)[:FOUND]
    names = frozenset(memory.provenance.who for memory, _, _ in nearest)
    said = [
        (Statement.of(memory, names), place, replaces)
        for memory, place, replaces in sorted(nearest, key=lambda one: one[0].created_at)
    ]
    return [
        (old, new, replaces)
        for (old, place, _), (new, other, replaces) in combinations(said, 2)
        if place == other and old.memory.created_at < new.memory.created_at
    ]


def _is_update(old: Memory, new: Memory, question: Question, replaces: str | None) -> bool:
    outdated = any(word in old.judgment for word in question.must_not)
    answers = all(word in new.judgment for word in question.must)
    return (outdated and answers) or bool(replaces and replaces in old.judgment)


def _holds(memory: Memory, question: Question) -> bool:
    return any(word in memory.judgment for word in question.must)


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
    start = np.zeros(len(free))
    return np.asarray(minimize(loss, start, jac=True, bounds=free, method="L-BFGS-B").x)


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


def left_out(casts: dict[str, Pairs]) -> tuple[float, dict[str, list[tuple[int, int, int, int]]]]:
    """What is taken off the bias, such that casts left out have on average at most ``BEHIND``
    answers put behind another matter; and the figures of each, with the questions of its memories
    and without."""
    plain = plain_pairs()
    fits = {
        name: fit([plain, *(pairs for other, pairs in casts.items() if other != name)])
        for name in casts
    }
    for step in range(-30, 60):
        shift = np.r_[np.zeros(len(FEATURES)), step / 10]
        found = {
            name: [figures(casts[name], fits[name] - shift, asks=asks) for asks in (True, False)]
            for name in casts
        }
        behind = [sum(both[way][3] for both in found.values()) for way in (0, 1)]
        if max(behind) <= BEHIND * len(casts):
            break
    return step / 10, found


def fitted_newer(casts: dict[str, Cast]) -> dict[str, Any]:
    """What ``weights.json`` holds of it; prints what it is worth on casts left out."""
    pairs = {name: pairs_of(cast) for name, cast in casts.items()}
    shift, found = left_out(pairs)
    sys.stdout.write("newer: updates found, of, wrong pairs, answers put behind; without asks\n")
    for name, both in found.items():
        sys.stdout.write(f"  {name:14}{both[0]!s:>22}{both[1]!s:>22}\n")
    total = np.array(list(found.values())).sum(axis=0).tolist()
    sys.stdout.write(f"  {'sum':14}{total[0]!s:>22}{total[1]!s:>22}\n")
    weights = fit([plain_pairs(), *pairs.values()])
    kept = zip(FEATURES, weights.round(3), strict=False)
    return {
        "weights": {name: float(value) for name, value in kept if value},
        "bias": round(float(weights[-1] - shift), 3),
    }


def main() -> None:
    """Fit and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("casts", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="write its part of weights.json")
    options = parser.parse_args()
    paths = options.casts or sorted(CASTS.glob("*.json"))
    newer = fitted_newer({path.stem: read_cast(path) for path in paths})
    if options.write:
        known = json.loads(PATH.read_text("utf-8")) | {"newer": newer}
        PATH.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
