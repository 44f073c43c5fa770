"""Fits the weights of recall to casts, and tells what they are worth on casts left out.

    python benchmarks/fit.py [--write] [--json OUT] [CAST ...]

Each cast is asked at its end: its questions in both wordings, its small talk and what is unrelated,
once with the questions that its memories answer and once without. The rows of features come from
the engine itself, whose weights are all 1 meanwhile, so that each term of a trace is a feature.

- ``order``: a conditional logit, the answers of each question against what else was found.
- ``speak``: a logistic regression, whether the first three hold the answer.
- ``probe``: a ridge logistic regression of the message's vector, questions against small talk.
- ``newer``: see fit_newer.py.

What is printed was fitted on all casts but the one that is asked. With ``--write`` the fit on all
of them goes to ``llm_memory/recall/weights.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

import numpy as np  # noqa: E402
from everyday_cast import Cast, read_cast  # noqa: E402
from fit_newer import PLAIN, fitted_newer  # noqa: E402
from retrieval_run import BenchClock, named_embedder, seconds_to_fill  # noqa: E402
from scipy.optimize import minimize  # noqa: E402
from without import without  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory import (  # noqa: E402
    EnginePaths,
    EngineSettings,
    IndexPace,
    MemoryDraft,
    MemoryKind,
    Rejected,
    Source,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.index.rules.common_part import (  # noqa: E402
    apart_from,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.features import Features  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.weights import (  # noqa: E402
    Linear,
    Pair,
    RecallWeights,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.weights_file import PATH  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reply import KINDS  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import language_of  # noqa: E402

CASTS = Path(__file__).resolve().parent / "casts"
ORDER = [one.name for one in fields(Features)]
BY_HAND = {"verbatim": 3.0, "time": 2.5, "salient": 0.3}
"""Casts ask for nothing word for word, name few times, and reinforce no memory."""
LEAST = {**BY_HAND, "speaker": 0.3}
"""Of the others what is fitted is at least 0."""
SPEAK = ["near", "covered", "covered_by_first", "asks", "length", "probe"]
OF_VECTORS = {"near", "probe"}
SHOWN = 3
SILENT = 0.88
"""Of what asks for nothing remembered, so much is to stay silent on casts left out."""
_UNIT = Linear(dict.fromkeys(ORDER, 1.0))
_RAW = RecallWeights(
    Pair(_UNIT, _UNIT), Pair(Linear({}), Linear({})), floor=0.0, within=100.0, unknown=(0.0, 0.0)
)


@dataclass
class Row:
    """One message: its candidates as features, shape ``(n, len(ORDER))``, which of them answer,
    the message's own features, and its vector."""

    kind: str
    features: np.ndarray
    answers: np.ndarray
    message: dict[str, float]
    vector: np.ndarray

    @property
    def asks(self) -> bool:
        return self.kind in ("original", "paraphrase")


async def rows_of(cast: Cast, asks: bool) -> tuple[str, list[Row]]:
    """The embedder's model, and the cast asked at its end.

    ``asks``: its memories have the questions that they answer.
    """
    settings = EngineSettings(
        scope_map=cast.scope_map,
        pace=IndexPace(pause_seconds=0.0, query_seconds=60.0),
        embed_query_seconds=60.0,
        embed_write_seconds=600.0,
    )
    clock = BenchClock(cast.start)
    with tempfile.TemporaryDirectory(prefix="fit-") as folder:
        engine = build_engine(
            EnginePaths.under(Path(folder)), settings, clock=clock, replacing={"weights": _RAW}
        )
        chosen = named_embedder("bundled", engine)
        await engine.open()
        running = asyncio.create_task(engine.run(chosen))
        try:
            await _learn(engine, cast, clock, asks)
            await seconds_to_fill(engine)
            # A row is of one question.
            with without(["parts"]):
                rows = [await _row(engine, *message) for message in _messages(cast)]
            return engine.rooms.trust.model, rows
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await engine.close()


async def _learn(engine: Any, cast: Cast, clock: BenchClock, asks: bool) -> None:
    """What the cast teaches, as it stands in the end."""
    lessons = [(talk, lesson) for talk in cast.talk for lesson in talk.learned]
    for at, (talk, lesson) in enumerate(lessons):
        later = (one.get("replaces", "") for _, one in lessons[at + 1 :])
        if any(words and words in lesson["judgment"] for words in later):
            continue
        clock.now = talk.at
        draft = MemoryDraft(
            lesson["judgment"],
            tags=tuple(lesson.get("tags", ())),
            asks=tuple(lesson.get("asks", ())) if asks else (),
            kind=KINDS.get(lesson.get("kind", ""), MemoryKind.KNOWLEDGE),
            strength=60,
            active=False,
            source=Source.REFLECTION,
            actor=cast.actor(talk.who),
            said_at=talk.at,
        )
        where = cast.places[talk.where].of(cast.actor(talk.who)).where
        outcome = await engine.service.remember(draft, conversation_id=where)
        if isinstance(outcome, Rejected):
            sys.stderr.write(f"  not stored ({outcome.reason}): {lesson['judgment']}\n")
    clock.now = cast.end + timedelta(hours=1)


def _messages(cast: Cast) -> list[tuple[str, str, Any, Any, tuple[str, ...]]]:
    """Kind, text, place, speaker, and words that an answer holds."""
    found: list[tuple[str, str, Any, Any, tuple[str, ...]]] = []
    for question in cast.questions:
        place, who = cast.places[question.where], cast.actor(question.who)
        found.append(("original", question.original, place, who, question.must))
        found.append(("paraphrase", question.paraphrase, place, who, question.must))
    asker, place = cast.first
    found += [("unrelated", text, place, asker, ()) for text in cast.unrelated]
    for talk in cast.talk:
        if talk.small_talk:
            who = cast.actor(talk.who)
            found.append(("small talk", talk.said, cast.places[talk.where].of(who), who, ()))
    return found


async def _row(engine: Any, kind: str, text: str, place: Any, who: Any, must: Sequence[str]) -> Row:
    recall = await engine.service.recall(
        text, conversation_id=place.where, limit=30, token_budget=100_000, actor=who
    )
    texts = {hit.memory_id: hit.preview for hit in recall.hits}
    considered = [one for one in recall.trace.considered if one.terms]
    features = np.array([[one.terms[name] for name in ORDER] for one in considered])
    held = np.array(
        [[word in texts.get(one.memory_id, "") for word in must] for one in considered], dtype=bool
    ).reshape(len(considered), len(must))
    answers = held.all(axis=1) if must else np.zeros(len(considered), dtype=bool)
    if must and not answers.any():  # told by two memories together
        answers = held.any(axis=1)
    common = engine.rooms.trust.found.common(language_of(text))
    vector = apart_from(await engine.rooms.indexing.embed(text), common)
    features = features.reshape(len(considered), len(ORDER))
    return Row(kind, features, answers, dict(recall.trace.values), np.asarray(vector, float))


def fit_order(rows: Sequence[Row], *, vectors: bool) -> np.ndarray:
    """Weights of ``ORDER``, none below 0: ``P(i) = exp(w x_i) / sum exp(w x)``, an L2 penalty."""
    asked = [row for row in rows if row.asks and row.answers.any()]
    used = np.array([vectors or name != "near" for name in ORDER], dtype=float)
    least = np.array([LEAST.get(name, 0.0) for name in ORDER])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = 0.0, np.zeros(len(ORDER))
        for row in asked:
            x = row.features * used
            scores = x @ weights
            chances = np.exp(scores - scores.max())
            right = chances * row.answers
            total -= np.log(max(right.sum() / chances.sum(), 1e-30))
            slope -= (right / max(right.sum(), 1e-30) - chances / chances.sum()) @ x
        size = len(asked)
        return total / size + 0.005 * weights @ weights, slope / size + 0.01 * weights

    bounds = [
        (low, low if name in BY_HAND else None) for name, low in zip(ORDER, least, strict=True)
    ]
    found = minimize(loss, np.maximum(least, 0.1), jac=True, bounds=bounds, method="L-BFGS-B")
    return np.asarray(found.x * np.maximum(used, least > 0)).round(3)


def speak_values(row: Row, weights: np.ndarray, probe: float, *, vectors: bool) -> np.ndarray:
    """As ``of_answer`` tells them, under these weights of the order."""
    x = row.features
    if not vectors:
        x = x * np.array([name != "near" for name in ORDER])
    near, covered = x[:, ORDER.index("near")], x[:, ORDER.index("covered")]
    found = {
        **row.message,
        "near": near.max(initial=0.0),
        "covered": covered.max(initial=0.0),
        "covered_by_first": covered[int(np.argmax(x @ weights))] if len(x) else 0.0,
        "probe": probe,
    }
    return np.array([found.get(name, 0.0) for name in SPEAK])


def logistic(
    x: np.ndarray, y: np.ndarray, importance: np.ndarray, bounds: Sequence[Any], penalty: float
) -> np.ndarray:
    """Weights and, last, the bias, of standardised columns, told for the columns as they are."""
    importance = importance / importance.sum()
    mean, deviation = x.mean(axis=0), x.std(axis=0) + 1e-9
    rows = np.c_[(x - mean) / deviation, np.ones(len(x))]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = rows @ weights
        total = float(importance @ (np.logaddexp(0, odds) - y * odds))
        slope = (importance * (1 / (1 + np.exp(-odds)) - y)) @ rows
        own = np.r_[weights[:-1], 0]
        return total + penalty * own @ own / 2, slope + penalty * own

    start = np.zeros(rows.shape[1])
    found = minimize(loss, start, jac=True, bounds=[*bounds, (None, None)], method="L-BFGS-B").x
    weights = found[:-1] / deviation
    return np.r_[weights, found[-1] - weights @ mean]


def fit_probe(rows: Sequence[Row]) -> np.ndarray:
    """Weights of a message's vector, and the bias."""
    kept = [row for row in rows if row.kind != "unrelated"]
    x = np.stack([row.vector for row in kept])
    y = np.array([row.asks for row in kept], dtype=float)
    importance = np.where(y > 0, 1 / y.sum(), 1 / (1 - y).sum())
    free = [(None, None)] * x.shape[1]
    return logistic(x, y, importance, free, 3e-2).round(3)


def fit_speak(
    rows: Sequence[Row], order: np.ndarray, probes: Sequence[float], *, vectors: bool
) -> np.ndarray:
    """Weights of ``SPEAK``, and the bias."""
    pairs = zip(rows, probes, strict=True)
    x = np.stack([speak_values(row, order, probe, vectors=vectors) for row, probe in pairs])
    y = np.array([holds(row, order, vectors=vectors) for row in rows], dtype=float)
    asked = np.array([row.asks for row in rows])
    importance = np.where(y > 0, 1.0, np.where(asked, 0.3, 0.7))
    if not vectors:
        x[:, [name in OF_VECTORS for name in SPEAK]] = 0.0
    bounds = [(None, None) if name == "length" else (0, None) for name in SPEAK]
    return logistic(x, y, importance, bounds, 1e-3).round(3)


def holds(row: Row, order: np.ndarray, *, vectors: bool, within: float = np.inf) -> bool:
    """True if an answer is among the first, and not further than ``within`` behind the best."""
    if not row.answers.any():
        return False
    x = row.features
    if not vectors:
        x = x * np.array([name != "near" for name in ORDER])
    scores = x @ order
    first = np.argsort(-scores, kind="stable")[:SHOWN]
    return bool(any(row.answers[i] and scores[i] >= scores[first[0]] - within for i in first))


@dataclass
class Fit:
    """All models of one set of casts. ``True`` stands for words and vectors."""

    order: dict[bool, np.ndarray]
    speak: dict[bool, np.ndarray]
    probe: np.ndarray

    def log_odds(self, row: Row, *, vectors: bool) -> float:
        """That something answers, by one model alone."""
        probe = float(row.vector @ self.probe[:-1] + self.probe[-1]) if vectors else 0.0
        values = speak_values(row, self.order[vectors], probe, vectors=vectors)
        return float(values @ self.speak[vectors][:-1] + self.speak[vectors][-1])


def fit(casts: Sequence[Sequence[Row]]) -> Fit:
    """``casts``: the rows of each. The probe that a cast is shown has not seen it."""
    rows = [row for cast in casts for row in cast]
    probe = fit_probe(rows)
    unseen: list[float] = []
    for cast in casts:
        rest = [row for other in casts if other is not cast for row in other]
        inner = fit_probe(rest) if rest else probe
        unseen += [float(row.vector @ inner[:-1] + inner[-1]) for row in cast]
    order = {vectors: fit_order(rows, vectors=vectors) for vectors in (False, True)}
    speak = {
        vectors: fit_speak(rows, order[vectors], unseen, vectors=vectors)
        for vectors in (False, True)
    }
    return Fit(order, speak, probe)


def left_out(casts: dict[str, dict[bool, list[Row]]]) -> dict[str, Any]:
    """Each cast asked of a fit on the others: by mode, by cast."""
    fits = {
        name: fit([rows[True] + rows[False] for other, rows in casts.items() if other != name])
        for name in casts
    }
    modes = {"both, asks": (True, True), "both": (True, False), "words, asks": (False, True),
             "words": (False, False)}  # fmt: skip
    quiet = [
        [fits[name].log_odds(row, vectors=vectors) for vectors in (True, False)]
        for name, rows in casts.items()
        for row in rows[True] + rows[False]
        if not row.asks
    ]
    floors = floors_of(np.array(quiet))
    report: dict[str, Any] = {"floors": asdict(floors), "modes": {}}
    for mode, (vectors, asks) in modes.items():
        report["modes"][mode] = {
            name: _figures(fits[name], rows[asks], floors, vectors=vectors)
            for name, rows in casts.items()
        }
    return report


@dataclass(frozen=True)
class Floors:
    """Log-odds: ``words`` of words alone, ``both`` of words and vectors, and what is added to
    ``words`` beside an embedder."""

    words: float
    both: float
    beside: float

    def speaks(self, fitted: Fit, row: Row, *, vectors: bool) -> bool:
        """As ``RecallWeights.chance`` decides."""
        words = fitted.log_odds(row, vectors=False) - self.words
        if not vectors:
            return words >= 0
        return max(words - self.beside, fitted.log_odds(row, vectors=True) - self.both) >= 0


def floors_of(quiet: np.ndarray) -> Floors:
    """Such that each model, and both together, keep silent of the share ``SILENT`` of what asks for
    nothing. ``quiet``: its log-odds by both, by words, shape ``(n, 2)``."""
    alone = np.quantile(quiet, SILENT, axis=0)
    more = float(np.quantile((quiet - alone).max(axis=1), SILENT))
    return Floors(*(round(float(value), 3) for value in (alone[1], alone[0] + more, more)))


def _figures(
    fitted: Fit, rows: Sequence[Row], floors: Floors, *, vectors: bool
) -> dict[str, float]:
    speaks = {id(row): floors.speaks(fitted, row, vectors=vectors) for row in rows}
    order = fitted.order[vectors]

    def found(kind: str, test: Callable[[Row], bool]) -> int:
        return sum(row.kind == kind and test(row) for row in rows)

    quiet = [not speaks[id(row)] for row in rows if not row.asks]
    small = [not speaks[id(row)] for row in rows if row.kind == "small talk"]
    return {
        "original": found("original", lambda r: speaks[id(r)] and holds(r, order, vectors=vectors)),
        "paraphrase": found(
            "paraphrase", lambda r: speaks[id(r)] and holds(r, order, vectors=vectors)
        ),
        "in_order_original": found("original", lambda r: holds(r, order, vectors=vectors)),
        "in_order_paraphrase": found("paraphrase", lambda r: holds(r, order, vectors=vectors)),
        "silent": round(float(np.mean(quiet)), 3),
        "silent_small_talk": round(float(np.mean(small)), 3),
    }


def written(
    fitted: Fit, report: dict[str, Any], newer: dict[str, Any], model: str, digest: str
) -> str:
    """The text of ``weights.json``. Each floor is in its model's bias: what remains is 0.5."""

    def linear(names: Sequence[str], weights: np.ndarray, bias: float) -> dict[str, Any]:
        kept = {n: float(w) for n, w in zip(names, weights, strict=True) if w}
        return {"weights": kept, "bias": round(bias, 3)}

    def speak(vectors: bool, floor: float) -> dict[str, Any]:
        weights = fitted.speak[vectors]
        return linear(SPEAK, weights[:-1], float(weights[-1]) - floor)

    found = {
        "data": digest,
        "order": {
            "words": linear(ORDER, fitted.order[False], 0.0),
            "both": linear(ORDER, fitted.order[True], 0.0),
        },
        "speak": {
            "words": speak(False, report["floors"]["words"]),
            "both": speak(True, report["floors"]["both"]),
        },
        "beside": report["floors"]["beside"],
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


def main() -> None:
    """Fit and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("casts", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="write weights.json")
    parser.add_argument("--json", type=Path, help="write what was found on casts left out")
    options = parser.parse_args()
    paths = options.casts or sorted(CASTS.glob("*.json"))
    model = ""
    read = b"".join(path.read_bytes() for path in (*paths, PLAIN))
    digest = hashlib.sha256(read).hexdigest()
    casts: dict[str, dict[bool, list[Row]]] = {}
    for path in paths:
        cast = read_cast(path)
        casts[path.stem] = {}
        for asks in (True, False):
            model, casts[path.stem][asks] = asyncio.run(rows_of(cast, asks))
        sys.stderr.write(f"  {path.stem}\n")
    report = left_out(casts)
    whole = [rows[True] + rows[False] for rows in casts.values()]
    fitted = fit(whole)
    flat = [row for rows in whole for row in rows]
    report |= {"within": within(fitted, flat), "unknown": unknown(flat)}
    for mode, by_cast in report["modes"].items():
        sys.stdout.write(f"{mode}: each cast asked of a fit on the others\n")
        names = list(next(iter(by_cast.values())))
        sys.stdout.write(f"  {'':14}" + "".join(f"{name:>21}" for name in names) + "\n")
        for cast_name, figures in by_cast.items():
            sys.stdout.write(
                f"  {cast_name:14}" + "".join(f"{figures[name]:>21}" for name in names) + "\n"
            )
        means = [float(np.mean([one[name] for one in by_cast.values()])) for name in names]
        sys.stdout.write(f"  {'mean':14}" + "".join(f"{mean:>21.2f}" for mean in means) + "\n")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False), "utf-8")
    if options.write:
        newer = fitted_newer({path.stem: read_cast(path) for path in paths})
        PATH.write_text(written(fitted, report, newer, model, digest), "utf-8")


if __name__ == "__main__":
    main()
