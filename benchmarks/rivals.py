"""The retrieval cores of two other memory plugins, by their published recipes, on the same data.

    python benchmarks/rivals.py --corpus C.jsonl --queries Q.jsonl --lang zh|en
        [--embedder bundled|lexical|FOLDER] --json OUT

- ``memsearch-like``: BM25 over plain words (jieba's search mode in Chinese) and a dense arm, joined
  by reciprocal rank fusion, k = 60, both arms alike.
- ``plain BM25`` over the same tokens as ours, and ``vectors`` alone: what our order must not be
  below, see ``law.py``.
- ``livingmemory-like``: SQLite FTS5 over jieba's words without stop words, and a dense arm, joined
  by the same fusion.

Each conversation is its own corpus. The dense arm is the model in ``--embedder``, the same that
ours is given; without one there are words alone, as there are for ours. What is compared is the
recipe, not the other projects' code.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import re
import sqlite3
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import checkout  # (both folders are made visible by the lines above)

checkout.register()

from embedders import embedder_name, embedder_named  # noqa: E402
from labelled_rows import BadRows, corpus_rows, question_rows  # noqa: E402
from scores import means, scored  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.text import stop_words  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer  # noqa: E402

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
        Embedder,
        Vector,
        Vectors,
    )

_TOP, _POOL, _RRF = 10, 50, 60
_K1, _B = 1.5, 0.75
_STOPS = stop_words.CHINESE | stop_words.ENGLISH
_TOKENIZER = Tokenizer()
TOKENS = _TOKENIZER.tokens, _TOKENIZER.query_tokens
"""What our index of words cuts a text into, and a question."""

type Words = Callable[[str], list[str]]
type Ranking = list[int]


def plain_words(text: str) -> list[str]:
    """jieba's search mode where there is Han, else lower-case words."""
    import jieba

    jieba.setLogLevel(60)
    return [word for word in jieba.cut_for_search(text.lower()) if re.search(r"\w", word)]


def telling_words(text: str) -> list[str]:
    """jieba's words without those that say nothing."""
    import jieba

    jieba.setLogLevel(60)
    words = (word.strip() for word in jieba.cut(text.lower()))
    return [word for word in words if re.search(r"\w", word) and word not in _STOPS]


class Bm25:
    """Okapi's, over one conversation."""

    def __init__(
        self, texts: list[str], words: Words = plain_words, asked: Words = plain_words
    ) -> None:
        self._asked = asked
        self._documents = [Counter(words(text)) for text in texts]
        self._holding = Counter(word for document in self._documents for word in document)
        lengths = [document.total() for document in self._documents]
        self._mean = sum(lengths) / max(len(lengths), 1) or 1.0

    def rank(self, query: str) -> Ranking:
        """Places, best first."""
        total = len(self._documents)
        scores = [0.0] * total
        for word in self._asked(query):
            holding = self._holding.get(word, 0)
            weight = math.log(1 + (total - holding + 0.5) / (holding + 0.5))
            for place, document in enumerate(self._documents):
                count = document.get(word, 0)
                pace = _K1 * (1 - _B + _B * document.total() / self._mean)
                scores[place] += weight * count * (_K1 + 1) / (count + pace) if count else 0.0
        order = sorted(range(total), key=lambda place: -scores[place])
        return [place for place in order if scores[place] > 0][:_POOL]


class Fts5:
    """SQLite's own ranking over words joined by blanks."""

    def __init__(self, texts: list[str]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE memory USING fts5(text)")
        self._database.executemany(
            "INSERT INTO memory (rowid, text) VALUES (?, ?)",
            [(place + 1, " ".join(telling_words(text))) for place, text in enumerate(texts)],
        )

    def rank(self, query: str) -> Ranking:
        """Places, best first."""
        words = dict.fromkeys(telling_words(query))
        if not words:
            return []
        wanted = " OR ".join(f'"{word.replace(chr(34), "")}"' for word in words)
        found = self._database.execute(
            "SELECT rowid FROM memory WHERE memory MATCH ? ORDER BY rank LIMIT ?", (wanted, _POOL)
        )
        return [place - 1 for (place,) in found]


def joined(*rankings: Ranking) -> Ranking:
    """Reciprocal rank fusion."""
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, place in enumerate(ranking, start=1):
            scores[place] += 1 / (_RRF + rank)
    return sorted(scores, key=lambda place: -scores[place])


def nearest(vectors: Vectors, vector: Vector) -> Ranking:
    """Places, best first."""
    return [int(place) for place in (-(vectors @ vector)).argsort()[:_POOL]]


async def measure(
    corpus: list[dict[str, Any]], queries: list[dict[str, Any]], embedder: Embedder | None
) -> dict[str, dict[str, float]]:
    """Means by recipe, over all questions but the adversarial ones."""
    talks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in corpus:
        talks[row["conv"]].append(row)
    results: dict[str, list[dict[str, float]]] = defaultdict(list)
    for name in sorted({query["conv"] for query in queries}):
        ids = [row["id"] for row in talks[name]]
        texts = [f"{row['speaker']}: {row['text']}" for row in talks[name]]
        okapi, fts, plain = Bm25(texts), Fts5(texts), Bm25(texts, *TOKENS)
        rows = await embedder.embed_documents(texts) if embedder else []
        import numpy as np

        vectors = np.stack([row for row in rows if row is not None]) if rows else None
        for query in queries:
            if query["conv"] != name or query.get("category") == "adversarial":
                continue
            dense: Ranking = []
            with contextlib.suppress(EmbeddingFailed):
                if embedder is not None and vectors is not None:
                    dense = nearest(vectors, await embedder.embed_query(query["question"]))
            orders = {
                "memsearch-like": joined(okapi.rank(query["question"]), dense),
                "livingmemory-like": joined(fts.rank(query["question"]), dense),
                "plain BM25": plain.rank(query["question"]),
                **({"vectors": dense} if embedder else {}),
            }
            for recipe, order in orders.items():
                found = [ids[place] for place in order[:_TOP]]
                results[recipe].append(scored(found, set(query["gold_ids"])))
    return {recipe: means(values) for recipe, values in results.items()}


async def run(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    corpus = corpus_rows(options.corpus)
    queries = question_rows(options.queries, corpus, options.lang)
    if options.embedder in {None, "lexical"}:
        return await measure(corpus, queries, None)
    with tempfile.TemporaryDirectory() as scratch:
        embedder = embedder_named(options.embedder, Path(scratch))
        await embedder.prepare()
        try:
            return await measure(corpus, queries, embedder)
        finally:
            await embedder.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--lang", required=True, choices=("zh", "en"))
    parser.add_argument(
        "--embedder", type=embedder_name, help="lexical, bundled, or a model's folder or name"
    )
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    try:
        report = asyncio.run(run(options))
    except (BadRows, EmbeddingFailed) as error:
        parser.exit(2, f"{error}\n")
    options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
