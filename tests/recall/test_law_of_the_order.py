"""The law of the order, on talk that no fit has seen: by words alone an answer is found about as
well as by plain BM25 over the same tokens. Of long messages, whose last lines are the question, as
of short ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.property]

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
ALLOWED = 0.5
"""Points of recall at 5."""


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.mark.usefixtures("benchmark")
@pytest.mark.parametrize("name", ["antarctic-en", "baker-zh", "machines-zh", "radios-en"])
async def test_words_alone_are_not_below_plain_words(name: str, tmp_path: Path) -> None:
    from labelled import Library, Question
    from labelled_rows import corpus_rows, question_rows
    from retrieval_run import BenchClock, running, seconds_to_fill
    from rivals import TOKENS, Bm25

    folder = BENCHMARKS / "talks" / "held_out"
    corpus = corpus_rows(folder / f"{name}.corpus.jsonl")
    rows = question_rows(folder / f"{name}.queries.jsonl", corpus, name.rpartition("-")[2])
    library, clock = Library.read(corpus), BenchClock()
    library.write_vault(tmp_path / "memory")
    plain = Bm25([f"{row['speaker']}: {row['text']}" for row in corpus], *TOKENS)
    ours, theirs = list[float](), list[float]()
    async with running(tmp_path, library, clock, None, floor=0.0) as engine:
        await seconds_to_fill(engine)
        for question in map(Question.read, rows):
            clock.now = question.asked_at or library.end(question.conversation)
            where = library.where(question.conversation)
            found = await engine.service.recall(
                question.text, conversation_id=where, limit=5, token_budget=9999
            )
            ours.append(_share([library.row_of(hit).id for hit in found.hits], question))
            ids = [corpus[place]["id"] for place in plain.rank(question.text)[:5]]
            theirs.append(_share(ids, question))
    assert 100 * sum(ours) / len(rows) >= 100 * sum(theirs) / len(rows) - ALLOWED


def _share(ids: list[Any], question: Any) -> float:
    """Of its answers."""
    return len(question.gold.intersection(map(str, ids))) / len(question.gold)
