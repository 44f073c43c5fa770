"""Fits the weights of recall to casts and talks, and tells what they are worth where left out.

    python benchmarks/fit.py [--write] [--json OUT] [CAST.json | TALK.corpus.jsonl ...]

The rows are those of fit_rows.py, the models those of fit_models.py and fit_newer.py. Casts have
rows once with the questions that their memories answer and once without.

What is printed was fitted on all but the cast or the talk that is asked. With ``--write`` the fit
on all of them goes to ``llm_memory/recall/weights.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

import numpy as np  # noqa: E402
from everyday_cast import read_cast  # noqa: E402
from fit_models import ORDER, SPEAK, Fit, alone, fit, holds, recall_at, used  # noqa: E402
from fit_newer import fitted_newer, told  # noqa: E402
from fit_pairs import CORPUS, PLAIN, beside_of  # noqa: E402
from fit_rows import TOLD, Row, rows_of, rows_of_talk  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory.recall.weights import PATH  # noqa: E402

SILENT = 0.87
"""Of what asks for nothing remembered, so much is to stay silent on casts left out."""


def left_out(
    casts: dict[str, dict[bool, list[Row]]], talks: dict[str, list[Row]]
) -> dict[str, Any]:
    """Each cast and each talk asked of a fit on the others: by mode, by name."""
    fits = {
        left: fit(
            [rows[True] + rows[False] for name, rows in casts.items() if name != left],
            [rows for name, rows in talks.items() if name != left],
        )
        for left in (*casts, *talks)
    }
    modes = {"both, asks": (True, True), "both": (True, False), "words, asks": (False, True),
             "words": (False, False)}  # fmt: skip
    quiet = [
        [fits[name].log_odds(row, vectors=vectors) for vectors in (True, False)]
        for name, rows in casts.items()
        for row in rows[True] + rows[False]
        if row.is_quiet
    ]
    # Of each model alone, in log-odds, such that it keeps silent of so many.
    floors = dict(zip((True, False), np.quantile(quiet, SILENT, axis=0).tolist(), strict=True))
    report: dict[str, Any] = {"floors": floors, "modes": {}}
    for mode, (vectors, asks) in modes.items():
        report["modes"][mode] = {
            name: _figures(fits[name], rows[asks], floors[vectors], vectors=vectors)
            for name, rows in casts.items()
        }
    report["talks"] = {name: _talk_figures(fits[name], rows) for name, rows in talks.items()}
    return report


def _talk_figures(fitted: Fit, rows: Sequence[Row]) -> dict[str, float]:
    """Recall at 5, in percent: of the whole, of words alone, and of each arm alone."""
    found = {
        name: recall_at(rows, fitted.order[vectors], vectors=vectors)
        for name, vectors in (("both", True), ("words", False))
    }
    for arm in ("near", "text"):
        found[arm] = recall_at(rows, alone(arm), vectors=True, of_all=True)
    return {name: round(value, 1) for name, value in found.items()}


def _figures(fitted: Fit, rows: Sequence[Row], floor: float, *, vectors: bool) -> dict[str, float]:
    speaks = {id(row): fitted.log_odds(row, vectors=vectors) >= floor for row in rows}
    order = fitted.order[vectors]

    def found(kind: str, test: Callable[[Row], bool]) -> int:
        return sum(row.kind == kind and test(row) for row in rows)

    def silent(test: Callable[[Row], bool]) -> float:
        return round(float(np.mean([not speaks[id(row)] for row in rows if test(row)])), 3)

    return {
        "original": found("original", lambda r: speaks[id(r)] and holds(r, order, vectors=vectors)),
        "paraphrase": found(
            "paraphrase", lambda r: speaks[id(r)] and holds(r, order, vectors=vectors)
        ),
        "in_order_original": found("original", lambda r: holds(r, order, vectors=vectors)),
        "in_order_paraphrase": found("paraphrase", lambda r: holds(r, order, vectors=vectors)),
        "silent": silent(lambda row: row.is_quiet),
        "silent_small_talk": silent(lambda row: row.kind == "small talk"),
        "silent_told": silent(lambda row: row.kind == TOLD),
    }


def written(
    fitted: Fit, report: dict[str, Any], newer: dict[str, Any], model: str, digest: str
) -> str:
    """The text of ``weights.json``. Each floor is in its model's bias: what remains is 0.5."""

    def linear(names: Sequence[str], weights: np.ndarray, bias: float) -> dict[str, Any]:
        kept = {n: float(w) for n, w in zip(names, weights, strict=True) if w}
        return {"weights": kept, "bias": round(bias, 3)}

    def speak(*, vectors: bool) -> dict[str, Any]:
        weights = fitted.speak[vectors]
        return linear(SPEAK, weights[:-1], float(weights[-1]) - report["floors"][vectors])

    def order(*, is_long: bool) -> dict[str, Any]:
        kept = {v: fitted.order[v] * used(vectors=v, is_long=is_long) for v in (False, True)}
        return {"words": linear(ORDER, kept[False], 0.0), "both": linear(ORDER, kept[True], 0.0)}

    found = {
        "data": digest,
        "order": order(is_long=False),
        "order_of_long": order(is_long=True),
        "speak": {"words": speak(vectors=False), "both": speak(vectors=True)},
        "floor": 0.5,
        "within": report["within"],
        "unknown": report["unknown"],
        "probes": {
            model: {
                "vector": [float(value) for value in fitted.probe[:-1]],
                "bias": float(fitted.probe[-1]),
            }
        },
        "newer": newer,
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def within(fitted: Fit, rows: Sequence[Row]) -> float:
    """The least distance behind the best at which hardly an answer (1 %) is lost."""
    whole = sum(holds(row, fitted.order[True], vectors=True) for row in rows)
    for step in range(1, 80):
        distance = step / 10
        kept = sum(holds(r, fitted.order[True], vectors=True, within=distance) for r in rows)
        if kept >= 0.99 * whole:
            return distance
    return 8.0


def unknown(rows: Sequence[Row]) -> list[float]:
    """Least squares of how near a candidate is by how much of the question it covers."""
    found = np.concatenate([row.features for row in rows if len(row.features)])
    x = np.c_[np.ones(len(found)), found[:, ORDER.index("covered")]]
    low, slope = np.linalg.lstsq(x, found[:, ORDER.index("near")], rcond=None)[0]
    return [round(float(low), 3), round(float(slope), 3)]


def _rows(path: Path) -> tuple[str, dict[bool, list[Row]] | list[Row]]:
    """Of a cast with its embedder's model, with and without questions; or of a talk."""
    if path.name.endswith(CORPUS):
        return "", asyncio.run(rows_of_talk(path))
    cast = read_cast(path)
    told = {asks: asyncio.run(rows_of(cast, asks)) for asks in (True, False)}
    return told[True][0], {asks: rows for asks, (_, rows) in told.items()}


def digest_of(paths: Sequence[Path]) -> str:
    """Of all that the fit reads."""
    beside = [one for path in paths for one in (path, *beside_of(path))]
    return hashlib.sha256(b"".join(one.read_bytes() for one in (*beside, PLAIN))).hexdigest()


def _tell(title: str, figures: dict[str, dict[str, float]]) -> None:
    sys.stdout.write(f"{title}\n")
    if not figures:
        return
    names = list(next(iter(figures.values())))
    means = {name: float(np.mean([one[name] for one in figures.values()])) for name in names}
    sys.stdout.write(f"  {'':14}" + "".join(f"{name:>21}" for name in names) + "\n")
    for row, values in (*figures.items(), ("mean", means)):
        sys.stdout.write(f"  {row:14}" + "".join(f"{values[n]:>21.5g}" for n in names) + "\n")


def main() -> None:
    """Fit and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="casts, and talks (*.corpus.jsonl)")
    parser.add_argument("--write", action="store_true", help="write weights.json")
    parser.add_argument("--json", type=Path, help="write what was found on casts left out")
    options = parser.parse_args()
    paths = options.paths or told()
    casts: dict[str, dict[bool, list[Row]]] = {}
    talks: dict[str, list[Row]] = {}
    model = ""
    with ProcessPoolExecutor() as pool:
        for path, (embedder, rows) in zip(paths, pool.map(_rows, paths), strict=True):
            model = embedder or model
            if isinstance(rows, dict):
                casts[path.stem] = rows
            else:
                talks[path.name.removesuffix(CORPUS)] = rows
            sys.stderr.write(f"  {path.name}\n")
    report = left_out(casts, talks)
    whole = [rows[True] + rows[False] for rows in casts.values()]
    fitted = fit(whole, list(talks.values()))
    flat = [row for rows in whole for row in rows if row.kind != TOLD]
    report |= {"within": within(fitted, flat), "unknown": unknown(flat)}
    for mode, by_cast in report["modes"].items():
        _tell(f"{mode}: each cast asked of a fit on the others", by_cast)
    _tell("talks: recall at 5, each asked of a fit on the others", report["talks"])
    if options.json:
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False), "utf-8")
    if options.write:
        newer = fitted_newer(paths)
        PATH.write_text(written(fitted, report, newer, model, digest_of(paths)), "utf-8")


if __name__ == "__main__":
    main()
