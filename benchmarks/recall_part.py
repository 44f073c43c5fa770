"""Recall with both arms in a store of fifty scopes, beside one query of SQLite's full-text index; a
tiny scope beside large ones; the vectors made anew from the embedding cache; memory."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import statistics
import time
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any

from gauges import resident_megabytes, spread, watched_loop
from hashed import HashedWords
from retrieval_run import followed, seconds_to_fill
from samples import memories, questions, write_vault

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    Engine,
    EnginePaths,
    EngineSettings,
    Pace,
    StoredMemory,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import embedded_text
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by

SCOPES = 50
"""Public with a fifth of the memories, one with three in ten, a tiny one, and 47 with the rest."""
TINY, LARGE = Scope.parse("tiny"), Scope.parse("large")
_TINY_MEMORIES = 20
_TOP, _TOKENS, _DEPTH = 3, 600, 10
_ENDLESS = 10_000_000
_HERE = {
    scope.name: ConversationId.parse(f"aiocqhttp:GroupMessage:{scope.name}")
    for scope in (TINY, LARGE)
}
_PUBLIC_CHAT = ConversationId.parse("aiocqhttp:GroupMessage:nobody")
_BOTH = (Arm.LEXICAL, Arm.DENSE)


async def measure_recall(
    root: Path, size: int, *, dim: int, queries: int, reopen: bool
) -> dict[str, Any]:
    """``dim`` of the vectors; with ``reopen`` the engine is started once more."""
    stored = spread_over(SCOPES, size)
    await asyncio.to_thread(write_vault, root / "full" / "memory", stored)
    before = resident_megabytes(os.getpid()) or 0.0
    figures: dict[str, Any] = {"memories": size, "dim": dim, "scopes": SCOPES}
    async with _running(root / "full", HashedWords(dim)) as engine:
        first = await seconds_to_fill(engine)
        figures["fill_seconds"] = round(first, 1)
        figures["recall_ms"], tiny = await _asked(engine, queries)
        figures["memory_mb"] = {
            "before": before,
            "filled": resident_megabytes(os.getpid()) or 0.0,
        }
    full_text = await asyncio.to_thread(_full_text, root / "fts.sqlite", stored, queries)
    figures["full_text_ms"] = full_text
    hybrid = figures["recall_ms"]["hybrid"]["p95"]
    figures["hybrid_by_full_text_p95"] = round(hybrid / full_text["p95"], 2)
    figures["tiny_scope_same_as_alone"] = await _compared(root / "alone", stored, tiny, dim)
    if reopen:
        figures["reopened"] = await _reopened(root / "full", dim, first)
    return figures


def spread_over(scopes: int, size: int) -> list[StoredMemory]:
    """Made-up memories in so many scopes."""
    rest = [Scope.parse(f"scope-{number}") for number in range(scopes - 3)]
    result = []
    for number, one in enumerate(memories(size)):
        if number < _TINY_MEMORIES:
            scope = TINY
        elif number % 10 < 2:
            scope = PUBLIC
        else:
            scope = LARGE if number % 10 < 5 else rest[number // 10 % len(rest)]
        result.append(StoredMemory(scope, one.path, one.memory))
    return result


def _running(root: Path, embedder: HashedWords) -> AbstractAsyncContextManager[Engine]:
    settings = EngineSettings(
        scope_map={where.umo: name for name, where in _HERE.items()},
        # Nobody waits for this bot while the index fills, and no question is cut short.
        pace=Pace(pause_seconds=0.0, query_seconds=60.0),
        embed_query_seconds=60.0,
    )
    return followed(build_engine(EnginePaths.under(root), settings), embedder)


async def _asked(engine: Engine, count: int) -> tuple[dict[str, dict[str, float]], list[Any]]:
    """Milliseconds by what was asked; and what the tiny scope was told, by both arms."""
    ways: dict[str, Collection[Arm] | None] = {
        "hybrid": None,  # as shipped: the embedder is asked as far as it is trusted
        "both arms": _BOTH,
        "words": (Arm.LEXICAL,),
        "vectors": (Arm.DENSE,),
    }
    places = (*_HERE.values(), _PUBLIC_CHAT)
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for number, text in enumerate(questions(count + 3)):
        for name, only in ways.items():
            began = time.perf_counter()
            await recall_by(
                engine,
                only,
                text,
                conversation_id=places[number % len(places)],
                limit=_TOP,
                token_budget=_TOKENS,
            )
            if number >= len(places):  # the first questions wake up caches
                spent[name].append((time.perf_counter() - began) * 1000)
    return {name: spread(values) for name, values in spent.items()}, await _of_tiny(engine, count)


async def _of_tiny(engine: Engine, count: int) -> list[list[list[str]]]:
    """For each question what the tiny scope's conversation is told: by words alone, by vectors
    alone."""
    told = []
    for text in questions(count):
        by_arm = []
        for arm in _BOTH:
            recall = await recall_by(
                engine,
                (arm,),
                text,
                conversation_id=_HERE[TINY.name],
                limit=_DEPTH,
                token_budget=_ENDLESS,
            )
            by_arm.append([hit.memory_id for hit in recall.hits])
        told.append(by_arm)
    return told


async def _compared(
    root: Path, stored: Sequence[StoredMemory], told: list[Any], dim: int
) -> dict[str, float]:
    """By arm, what of the first ten is the same where the other private scopes were never there;
    the mean over all questions."""
    alone = [one for one in stored if one.scope in (TINY, PUBLIC)]
    await asyncio.to_thread(write_vault, root / "memory", alone)
    async with _running(root, HashedWords(dim)) as engine:
        await seconds_to_fill(engine)
        own = await _of_tiny(engine, len(told))
    return {
        arm.value: round(
            statistics.fmean(
                _shared(here[n], there[n]) for here, there in zip(told, own, strict=True)
            ),
            4,
        )
        for n, arm in enumerate(_BOTH)
    }


def _shared(here: Sequence[str], there: Sequence[str]) -> float:
    return len({*here} & {*there}) / max(len(here), len(there)) if here or there else 1.0


def _full_text(path: Path, stored: Sequence[StoredMemory], count: int) -> dict[str, float]:
    """One query of FTS5 over the same tokens, filtered by scope in SQL, best fifty by its BM25."""
    tokenizer = Tokenizer()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE entry USING fts5(words, scope UNINDEXED)")
        connection.executemany(
            "INSERT INTO entry VALUES (?, ?)",
            ((" ".join(tokenizer.tokens(embedded_text(s.memory))), s.scope.name) for s in stored),
        )
        connection.commit()
        readable = ((TINY.name, PUBLIC.name), (LARGE.name, PUBLIC.name), (PUBLIC.name,))
        spent = []
        for number, text in enumerate(questions(count + 3)):
            scopes = readable[number % len(readable)]
            asked = " OR ".join(f'"{token}"' for token in set(tokenizer.query_tokens(text)))
            marks = ", ".join("?" * len(scopes))
            began = time.perf_counter()
            connection.execute(
                f"SELECT rowid, bm25(entry) FROM entry WHERE entry MATCH ? AND scope IN ({marks})"  # noqa: S608
                " ORDER BY bm25(entry) LIMIT 50",
                (asked, *scopes),
            ).fetchall()
            if number >= len(readable):
                spent.append((time.perf_counter() - began) * 1000)
    return spread(spent)


async def _reopened(root: Path, dim: int, first: float) -> dict[str, Any]:
    """A start over what was kept, against the first one."""
    embedder = HashedWords(dim)
    async with _running(root, embedder) as engine, watched_loop() as stalls:
        seconds = await seconds_to_fill(engine)
    return {
        "seconds": round(seconds, 1),
        "by_first": round(seconds / first, 2),
        "embedded_again": embedder.embedded,
        "stalls": stalls.summary(),
    }
