"""Rows for the fit: casts and talks, asked of the engine itself.

A cast is asked at its end: its questions in both wordings, its small talk and what is unrelated.
What its people tell is asked as they tell it, before anything is made of it. A talk is stored line
by line, as a journal is, and asked its own questions. The engine's weights are all 1 meanwhile, so
that each term of a trace is a feature.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from embedders import embedder_named
from everyday_cast import Cast, Place, Talk
from fit_pairs import beside_of, language_in
from labelled import Library, Question
from labelled_rows import corpus_rows, question_rows
from retrieval_run import BenchClock, seconds_to_fill
from without import without

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    EnginePaths,
    EngineSettings,
    MemoryDraft,
    MemoryKind,
    Pace,
    Recall,
    Refused,
    Source,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.recall import memory_manager
from astrbot_plugin_scoped_memory.llm_memory.recall.afterwards import UseCounts
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import FEATURES
from astrbot_plugin_scoped_memory.llm_memory.recall.weights import (
    Linear,
    Pair,
    RecallWeights,
)
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reply import KINDS
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import language_of
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import MemoryStore

ORDER = [*FEATURES]
_UNIT = Linear(dict.fromkeys(ORDER, 1.0))
_RAW = RecallWeights(
    Pair(_UNIT, _UNIT),
    Pair(_UNIT, _UNIT),
    Pair(Linear({}), Linear({})),
    floor=0.0,
    within=100.0,
    unknown=(0.0, 0.0),
    probes={},
    newer=Linear({}, bias=-1.0),
)
DECIMALS = 4
TOLD = "told"
"""Of a cast's messages those that teach something and ask for nothing."""
_ALL = 10_000
"""Hits, and candidates of a trace: no order has been fitted yet that could choose some."""


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
        return self.kind != TOLD and not self.is_quiet

    @property
    def is_quiet(self) -> bool:
        """Whether nothing that is remembered answers it."""
        return self.kind in ("unrelated", "small talk")

    @property
    def is_long(self) -> bool:
        return self.message.get("length", 0.0) >= 1


@asynccontextmanager
async def _engine(root: Path, scope_map: Any, clock: BenchClock) -> AsyncIterator[Any]:
    settings = EngineSettings(
        scope_map=scope_map,
        pace=Pace(pause_seconds=0.0, query_seconds=60.0),
        embed_query_seconds=60.0,
        embed_write_seconds=600.0,
    )
    # Exact neighbours: Chroma's graph finds now one, now another of the furthest.
    parts = {"weights": _RAW, "store": MemoryStore()}
    engine = build_engine(EnginePaths.under(root), settings, clock=clock, replacing=parts)
    chosen = embedder_named("bundled", root / "embedder")
    await engine.open()
    running = asyncio.create_task(engine.run(chosen))
    try:
        # A row is of one question, and what is asked for it is no use of what it finds.
        unused, traced = (UseCounts, "show"), (memory_manager, "TRACED", _ALL)
        with without(["parts"]), mock.patch.object(*unused), mock.patch.object(*traced):
            yield engine
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await engine.close()


async def rows_of(cast: Cast, asks: bool) -> tuple[str, list[Row]]:
    """The embedder's model, and the cast asked at its end.

    ``asks``: its memories have the questions that they answer.
    """
    clock = BenchClock(cast.start)
    with tempfile.TemporaryDirectory(prefix="fit-") as folder:
        async with _engine(Path(folder), cast.scope_map, clock) as engine:
            rows = await _learn(engine, cast, clock, asks)
            await seconds_to_fill(engine)
            rows += [await _message_row(engine, *message) for message in _messages(cast)]
            return engine.parts.trust.model, rows


async def rows_of_talk(path: Path) -> list[Row]:
    """``path``: ``NAME.corpus.jsonl``, beside which lies ``NAME.queries.jsonl``. Raises BadRows."""
    corpus = corpus_rows(path)
    queries, _ = beside_of(path)
    asked = question_rows(queries, corpus, language_in(path))
    library, clock = Library.read(corpus), BenchClock()
    with tempfile.TemporaryDirectory(prefix="fit-") as folder:
        library.write_vault(Path(folder) / "memory")
        async with _engine(Path(folder), library.scope_map, clock) as engine:
            await seconds_to_fill(engine)
            return [await _talk_row(engine, clock, library, Question.read(one)) for one in asked]


async def _learn(engine: Any, cast: Cast, clock: BenchClock, asks: bool) -> list[Row]:
    """What the cast teaches, as it stands in the end; and a row of each message that teaches."""
    replaced = [lesson.get("replaces", "") for talk in cast.talk for lesson in talk.learned]
    rows: list[Row] = []
    at = 0
    for talk in cast.talk:
        clock.now, who = talk.at, cast.actor(talk.who)
        place = cast.places[talk.where].of(who)
        if talk.learned and not (talk.small_talk or {*talk.said} & {*"?？"}):
            await seconds_to_fill(engine)
            rows.append(await _message_row(engine, TOLD, talk.said, place, who, ()))
        for lesson in talk.learned:
            at += 1
            if not any(words and words in lesson["judgment"] for words in replaced[at:]):
                await _store(engine, talk, lesson, who, place, asks)
    clock.now = cast.end + timedelta(hours=1)
    return rows


async def _store(
    engine: Any, talk: Talk, lesson: dict[str, Any], who: Actor, place: Place, asks: bool
) -> None:
    draft = MemoryDraft(
        lesson["judgment"],
        tags=tuple(lesson.get("tags", ())),
        asks=tuple(lesson.get("asks", ())) if asks else (),
        kind=KINDS.get(lesson.get("kind", ""), MemoryKind.KNOWLEDGE),
        strength=60,
        active=False,
        source=Source.REFLECTION,
        actor=who,
        said_at=talk.at,
    )
    outcome = await engine.service.remember(draft, conversation_id=place.where)
    if isinstance(outcome, Refused):
        sys.stderr.write(f"  not stored ({outcome.reason}): {lesson['judgment']}\n")


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


async def _message_row(
    engine: Any, kind: str, text: str, place: Any, who: Any, must: Sequence[str]
) -> Row:
    recall = await engine.service.recall(
        text, conversation_id=place.where, limit=_ALL, token_budget=10**9, actor=who
    )
    texts = {hit.memory_id: hit.preview for hit in recall.hits}
    told = [
        [word in texts.get(one.memory_id, "") for word in must]
        for one in recall.trace.considered
        if one.terms
    ]
    answers = [bool(must) and all(one) for one in told]
    if not any(answers):  # told by two memories together
        answers = [any(one) for one in told]
    return await _row(engine, kind, text, recall, answers)


async def _talk_row(engine: Any, clock: BenchClock, library: Library, question: Question) -> Row:
    clock.now = question.asked_at or library.end(question.conversation)
    recall = await engine.service.recall(
        question.text,
        conversation_id=library.where(question.conversation),
        limit=_ALL,
        token_budget=10**9,
    )
    gold = {hit.memory_id for hit in recall.hits if library.row_of(hit).id in question.gold}
    answers = [one.memory_id in gold for one in recall.trace.considered if one.terms]
    return await _row(engine, question.category, question.text, recall, answers)


async def _row(engine: Any, kind: str, text: str, recall: Recall, answers: Sequence[bool]) -> Row:
    """Rounded and sorted: the order of equals and the last digits of a similarity differ from run
    to run, and the fit is to be the same."""
    considered = [one for one in recall.trace.considered if one.terms]
    told = sorted(
        ([round(one.terms[name], DECIMALS) for name in ORDER], bool(answer))
        for one, answer in zip(considered, answers, strict=True)
    )
    features = np.array([values for values, _ in told])
    common = engine.parts.trust.common(language_of(text))
    vector, _ = await engine.parts.indexing.neighbours(text, ScopeFilter((PUBLIC,)), 1, common)
    return Row(
        kind,
        features.reshape(len(considered), len(ORDER)),
        np.array([answer for _, answer in told], dtype=bool),
        {name: round(value, DECIMALS) for name, value in recall.trace.values.items()},
        np.asarray(vector, float).round(DECIMALS),
    )
