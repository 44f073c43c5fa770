"""Pairs of an older and a newer statement, for fit_newer.py. No engine is asked.

Pairs are of the memories that share most with a question of a cast, or of the lines of a talk. A
pair of a cast is positive where the older one holds what the question says is outdated, and the
newer one what answers it, or where the cast says that it takes the older one's place; one of a talk
where ``NAME.updates.json`` has it. Every other pair is negative. ``newer_pairs.json`` holds plain
pairs that casts lack: a value, a negation, a correction, a reason, what somebody passes on, and two
things in like words.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from everyday_cast import Cast, Question
from iso_dates import moment
from labelled_rows import corpus_rows, question_rows

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Provenance
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.tell_once import (
    FEATURES,
    Statement,
    features,
    may_follow,
    weight,
)
from astrbot_plugin_scoped_memory.llm_memory.text.overlap import content

CORPUS = ".corpus.jsonl"
"""What the name of a talk's file ends in."""
PLAIN = Path(__file__).resolve().parent / "newer_pairs.json"
HELD_OUT = PLAIN.with_name("newer_pairs.held_out.json")
"""By another hand than what is fitted."""
FOUND = 15


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
        judged = {one.memory_id for one, _, _ in known if _tells(one, question)}
        for asked in (question.original, question.paraphrase):
            for old, new, where in _found(known, asked, judged):
                key = old.memory.memory_id, new.memory.memory_id
                if _is_update(old.memory, new.memory, question, where):
                    known_updates.add(key)
                if may_follow(old, new):
                    rows.append(_row(old, new))
                    hurts.append(_holds(old.memory, question) and not _holds(new.memory, question))
                    keys.append(key)
    return _pairs(rows, hurts, keys, known_updates)


def pairs_of_talk(path: Path) -> Pairs:
    """Each pair of lines once a question whose candidates both are. ``path``: ``*.corpus.jsonl``.
    Raises BadRows."""
    corpus = corpus_rows(path)
    queries, updates = beside_of(path)
    known = [
        (
            Memory(
                row["id"], row["text"], moment(row["time"]), provenance=Provenance(row["speaker"])
            ),
            row["conv"],
            "",
        )
        for row in corpus
    ]
    changed = {(str(old), str(new)) for old, new in json.loads(updates.read_text("utf-8"))}
    rows, hurts, keys = [], [], []
    for question in question_rows(queries, corpus, language_in(path)):
        gold = set(question["gold_ids"])
        for old, new, _ in _found(known, question["question"], gold):
            if may_follow(old, new):
                rows.append(_row(old, new))
                hurts.append(old.memory.memory_id in gold and new.memory.memory_id not in gold)
                keys.append((old.memory.memory_id, new.memory.memory_id))
    return _pairs(rows, hurts, keys, changed)


def beside_of(path: Path) -> tuple[Path, ...]:
    """The other files of a talk; none of a cast."""
    if not path.name.endswith(CORPUS):
        return ()
    name = path.name.removesuffix(CORPUS)
    return path.with_name(f"{name}.queries.jsonl"), path.with_name(f"{name}.updates.json")


def language_in(path: Path) -> str:
    """The language that a talk's name ends in."""
    return path.name.removesuffix(CORPUS).rpartition("-")[2]


def _pairs(
    rows: list[list[float]],
    hurts: list[bool],
    keys: list[tuple[str, str]],
    updates: Collection[tuple[str, str]],
) -> Pairs:
    """With the questions written for the memories, and once more without."""
    told = np.array(rows)
    without = told.copy()
    without[:, FEATURES.index("asks")] = 0.0
    return Pairs(
        np.concatenate([told, without]),
        np.array([key in updates for key in keys] * 2),
        np.array(hurts * 2),
        keys * 2,
        len(updates),
    )


def plain_pairs(path: Path = PLAIN) -> Pairs:
    """Each told by one person, and by two."""
    rows, updates, keys = [], [], []
    told = json.loads(path.read_text("utf-8"))
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
    of = 2 * len(told["updates"])
    return Pairs(np.array(rows), np.array(updates), np.zeros(len(rows), bool), keys, of)


_THEN, _LATER = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=7)


def _row(old: Statement, new: Statement) -> list[float]:
    told = features(old, new)
    return [told[name] for name in FEATURES]


def _found(known: Sequence[Any], asked: str, judged: Collection[str]) -> list[tuple[Any, Any, str]]:
    """The pairs among what shares most with a question, and what it is ``judged`` by."""
    words = content(asked)

    def near(one: tuple[Memory, str, str]) -> tuple[bool, int]:
        return one[0].memory_id in judged, weight(
            words & content(f"{one[0].judgment} {' '.join(one[0].asks)}")
        )

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


def _tells(memory: Memory, question: Question) -> bool:
    return any(word in memory.judgment for word in (*question.must, *question.must_not))


def _is_update(old: Memory, new: Memory, question: Question, replaces: str | None) -> bool:
    outdated = any(word in old.judgment for word in question.must_not)
    answers = all(word in new.judgment for word in question.must)
    return (outdated and answers) or bool(replaces and replaces in old.judgment)


def _holds(memory: Memory, question: Question) -> bool:
    return any(word in memory.judgment for word in question.must)
