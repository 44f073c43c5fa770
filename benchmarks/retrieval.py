"""Does recall find what answers a question? The real engine, end to end, on labelled data.

    python benchmarks/retrieval.py --corpus C.jsonl --queries Q.jsonl --lang zh|en
        [--embedder bundled|NAME|PATH] [--context] --json OUT

CORPUS has rows ``{id, conv, scope, speaker, time, text}``, QUERIES ``{id, conv, lang, question,
gold_ids, category}``. Every conversation is a scope of its own, all of them lie in one store. Rows
come in past gate and deduplication, as memories of their speaker: the row before in the same
``scope`` is their context, the ``scope`` their session. Then every question is asked as the bot
asks it, by ``CognitiveService.recall``; the clock stands where the conversation ends, or where the
question's own ``time`` says.

- ``overall``, ``by_category``, ``arms``: the share of gold ids among the first k, the reciprocal
  rank of the first, NDCG; means over questions, those of category ``adversarial`` left out of all
  but their own line. Nothing is held back by the floor.
- ``session_any``: whether any gold session is among those of the first k.
- ``session_level``: hit@1, any@5, all@5 and MRR of sessions, overall and by category. A session
  ranks where its first turn does; the ranking goes on for ``SESSION_TURNS`` turns. Never compare
  these with the figures of turns above. Words in ``missing`` instead, where rows lack a session.
- ``published``: as others tell it, of questions with evidence in the corpus that are not
  adversarial: shares of evidence among the first 5 and 10 turns; and of how many questions some, or
  all, of the evidence stands in what is told in at most ``_TOLD`` tokens.
- ``nothing``: with the floor as shipped and the bot's own limits, how many questions inject nothing
  when they are asked in another conversation, and how many inject where gold is among the first 5.
  ``curve`` says the same for other floors.

Without ``--embedder`` there is no model: words alone, and for ``dense`` a scan.

What a part is worth: ``--without`` a mechanism or a feature (see ``without.py`` for the names),
``--without context`` (rows come without the one before), and ``--shuffle``, where nothing follows
on what stands before it. ``--order-only`` leaves out the arms alone, the floor and the curve.

Rows of a talk (``last``, and ``context``, its lines) are asked as one question, ``question``: all
that the person said. ``--context`` asks what was said ``last``, with the talk before it as the
bot's recall gets it; ``--without talk`` asks that alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import checkout  # (both folders are made visible by the lines above)

checkout.register()

from embedders import embedder_name  # noqa: E402
from labelled import Library, Question, shuffled  # noqa: E402
from labelled_rows import BadRows, corpus_rows, question_rows  # noqa: E402
from retrieval_run import BenchClock, Stuck, running, seconds_to_fill  # noqa: E402
from scores import means, scored, session_found, session_level, session_scored  # noqa: E402
from table import table  # noqa: E402
from without import WITHOUT, without  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory import Recall  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.composition.engine import Engine  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm  # noqa: E402
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by  # noqa: E402

ADVERSARIAL = "adversarial"
_TOP = 10
SESSION_TURNS = 50
"""Ten turns often lie in fewer than five sessions."""
_UNBOUNDED = 10**9
_TOLD = 200
_INJECTED, _BUDGET = 3, 600
_FLOORS = tuple(n / 100 for n in range(10, 75, 5))
CONTEXT, TALK = "context", "talk"
ARMS: dict[str, tuple[Arm, ...] | None] = {
    "lexical": (Arm.LEXICAL,),
    "dense": (Arm.DENSE,),
    "hybrid": None,
}


async def ask(
    engine: Engine,
    clock: BenchClock,
    library: Library,
    question: Question,
    conversation: str,
    *,
    limit: int = _TOP,
    budget: int = _UNBOUNDED,
    only: tuple[Arm, ...] | None = None,
    in_talk: bool = False,
) -> Recall:
    """One question in one conversation; ``in_talk``: as a message, which may inject nothing."""
    clock.now = question.asked_at or library.end(conversation)
    where = library.where(conversation)
    view = await engine.service.view(conversation_id=where)
    return await recall_by(
        engine,
        only,
        question.text,
        conversation_id=where,
        context=question.context(clock.now, view),
        limit=limit,
        token_budget=budget,
        in_talk=in_talk,
    )


async def sessions_found(
    engine: Engine, clock: BenchClock, library: Library, question: Question
) -> list[str]:
    """The session of each turn that recall finds at home, best first."""
    home = question.conversation
    recall = await ask(engine, clock, library, question, home, limit=SESSION_TURNS)
    return [library.row_of(hit).session for hit in recall.hits]


async def measure_sessions(
    engine: Engine, clock: BenchClock, library: Library, questions: list[Question]
) -> dict[str, Any]:
    """The figures at session level. Gold sessions are those of the gold rows; a gold row that the
    corpus lacks is a session that is never found."""
    rows = library.rows
    if lacking := sum(not row.session for row in rows.values()):
        return {"missing": f"{lacking} of {len(rows)} rows name no session ('scope')"}
    results = []
    for question in questions:
        gold = {rows[one].session if one in rows else one for one in question.gold}
        found = await sessions_found(engine, clock, library, question)
        results.append((question.category, session_scored(found, gold)))
    return session_level(results, apart=ADVERSARIAL)


async def measure_published(
    engine: Engine, clock: BenchClock, library: Library, questions: list[Question]
) -> dict[str, float]:
    """The figures that others publish."""
    results = []
    for question in questions:
        gold = question.gold & library.rows.keys()
        if question.category == ADVERSARIAL or not gold:
            continue
        home, row_of = question.conversation, library.row_of
        recall = await ask(engine, clock, library, question, home)
        told = await ask(engine, clock, library, question, home, budget=_TOLD)
        found, shown = ([row_of(hit).id for hit in one.hits] for one in (recall, told))
        turns = scored(found, gold)
        results.append(
            {
                "recall@5": turns["recall@5"],
                "recall@10": turns["recall@10"],
                "any_told": float(not gold.isdisjoint(shown)),
                "all_told": float(gold.issubset(shown)),
            }
        )
    return {"questions": len(results), **means(results)}


async def measure_order(
    engine: Engine,
    clock: BenchClock,
    library: Library,
    questions: list[Question],
    arms: Collection[str] = tuple(ARMS),
) -> tuple[dict[str, Any], dict[str, float], set[str]]:
    """All that no floor concerns; the best relevance of each question at home; and which of them
    are answered among the first five."""
    by_arm: dict[str, list[tuple[Question, dict[str, float]]]] = {name: [] for name in arms}
    sessions: list[dict[str, float]] = []
    milliseconds: list[float] = []
    relevance: dict[str, float] = {}
    answered: set[str] = set()
    for question in questions:
        for name in arms:
            only = ARMS[name]
            began = time.perf_counter()
            recall = await ask(engine, clock, library, question, question.conversation, only=only)
            took = (time.perf_counter() - began) * 1000
            found = [library.row_of(hit) for hit in recall.hits]
            result = scored([row.id for row in found], question.gold)
            by_arm[name].append((question, result))
            if name != "hybrid":
                continue
            milliseconds.append(took)
            relevance[question.id] = max((hit.relevance for hit in recall.hits), default=0.0)
            if question.category != ADVERSARIAL:
                # What the labels name and the corpus lacks is a miss, and has no session.
                gold = {library.rows[one].session for one in question.gold if one in library.rows}
                sessions.append(session_found([row.session for row in found], gold))
                if any(row.id in question.gold for row in found[:5]):
                    answered.add(question.id)
    report = {
        "overall": _mean_of(by_arm["hybrid"]),
        "by_category": {
            category: means([r for q, r in by_arm["hybrid"] if q.category == category])
            for category in sorted({question.category for question in questions})
        },
        "arms": {name: _mean_of(results) for name, results in by_arm.items()},
        "session_any": means(sessions),
        "session_level": await measure_sessions(engine, clock, library, questions),
        "published": await measure_published(engine, clock, library, questions),
        "latency_ms": {
            "p50": round(_quantile(milliseconds, 0.5), 1),
            "p95": round(_quantile(milliseconds, 0.95), 1),
        },
    }
    return report, relevance, answered


def _mean_of(results: list[tuple[Question, dict[str, float]]]) -> dict[str, float]:
    return means([result for question, result in results if question.category != ADVERSARIAL])


def _quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def foreign(questions: list[Question]) -> dict[str, str]:
    """For each question a conversation of its language in which nothing was said of it."""
    talks = sorted({question.conversation for question in questions})
    elsewhere = {}
    for number, question in enumerate(questions):
        others = [talk for talk in talks if talk != question.conversation]
        if others:
            elsewhere[question.id] = others[number % len(others)]
    return elsewhere


async def measure_curve(
    engine: Engine,
    clock: BenchClock,
    library: Library,
    questions: list[Question],
    at_home: dict[str, float],
    answered: set[str],
) -> list[dict[str, float]]:
    """For each floor, the percentage of questions elsewhere that inject nothing, and of answered
    ones that inject."""
    away = []
    elsewhere = foreign(questions)
    for question in questions:
        if question.id in elsewhere:
            recall = await ask(engine, clock, library, question, elsewhere[question.id])
            away.append(max((hit.relevance for hit in recall.hits), default=0.0))
    home = [at_home[name] for name in sorted(answered)]
    return [
        {
            "floor": floor,
            "silent": _percent(value < floor for value in away),
            "injected": _percent(value >= floor for value in home),
        }
        for floor in _FLOORS
    ]


async def measure_silence(
    engine: Engine,
    clock: BenchClock,
    library: Library,
    questions: list[Question],
    answered: set[str],
) -> dict[str, float]:
    """With the floor as shipped."""
    silent, injected = [], []
    elsewhere = foreign(questions)
    for question in questions:
        if question.id in elsewhere:
            there = await ask(
                engine, clock, library, question, elsewhere[question.id],
                limit=_INJECTED, budget=_BUDGET, in_talk=True,
            )  # fmt: skip
            silent.append(not there.hits)
        if question.id in answered:
            home = await ask(
                engine, clock, library, question, question.conversation,
                limit=_INJECTED, budget=_BUDGET, in_talk=True,
            )  # fmt: skip
            injected.append(bool(home.hits))
    return {
        "silent_elsewhere": _percent(silent),
        "injected_where_answered": _percent(injected),
        "questions_elsewhere": len(silent),
        "questions_answered": len(injected),
    }


def _percent(flags: Any) -> float | None:
    """None of nothing: JSON knows no NaN."""
    values = list(flags)
    return round(100 * sum(values) / len(values), 1) if values else None


async def measure(
    library: Library,
    questions: list[Question],
    embedder: str | None,
    *,
    context: bool = True,
    order_only: bool = False,
) -> dict[str, Any]:
    """Everything, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="retrieval-") as folder:
        root = Path(folder)
        began = time.perf_counter()
        library.write_vault(root / "memory", context=context)
        written = time.perf_counter() - began
        clock = BenchClock()
        begun = partial(running, root, library, clock, embedder)
        if order_only:
            async with begun(floor=0.0) as engine:
                await seconds_to_fill(engine)
                order, *_ = await measure_order(engine, clock, library, questions, ("hybrid",))
            return order
        asked = [question for question in questions if question.category != ADVERSARIAL]
        async with begun(floor=0.0) as engine:
            filled = await seconds_to_fill(engine)
            report, relevance, answered = await measure_order(engine, clock, library, questions)
            curve = await measure_curve(engine, clock, library, asked, relevance, answered)
            weights = {one: found.weight for one, found in engine.parts.trust.cohorts.items()}
        async with begun(floor=None) as engine:
            await seconds_to_fill(engine)
            silence = await measure_silence(engine, clock, library, asked, answered)
    return {
        **report,
        "nothing": silence,
        "curve": curve,
        "questions": len(questions),
        "rows": len(library.rows),
        "dense_weights": weights,
        "seconds": {"vault": round(written, 1), "indexes": round(filled, 1)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--lang", required=True, choices=("zh", "en"))
    parser.add_argument(
        "--embedder", type=embedder_name, help="lexical, bundled, or a model's folder or name"
    )
    known = sorted({*WITHOUT, CONTEXT})
    parser.add_argument("--without", action="append", choices=known, default=[])
    parser.add_argument(
        "--context", action="store_true", help="ask what was said last, in its talk"
    )
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--order-only", action="store_true")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    in_talk = options.context or TALK in options.without
    try:
        corpus = corpus_rows(options.corpus)
        asked = question_rows(options.queries, corpus, options.lang)
    except BadRows as error:
        parser.exit(2, f"{error}\n")
    library = Library.read(shuffled(corpus) if options.shuffle else corpus)
    questions = [Question.read(row) for row in asked]
    if in_talk:
        context = TALK not in options.without
        questions = [question.in_talk(context=context) for question in questions]
    swapped = {*options.without} - {CONTEXT}
    try:
        with without(swapped):
            report = asyncio.run(
                measure(
                    library,
                    questions,
                    options.embedder,
                    context=CONTEXT not in options.without,
                    order_only=options.order_only,
                )
            )
    except Stuck as error:
        parser.exit(1, f"{error}\n")
    options.json.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", "utf-8")
    sys.stdout.write(json.dumps({k: report.get(k) for k in ("overall", "arms", "nothing")}) + "\n")
    sys.stdout.write(f"\n{table({'session level': report['session_level']})}")


if __name__ == "__main__":
    main()
