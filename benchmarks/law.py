"""The law of the order: is ours anywhere below plain words, or below the vectors alone?

    python benchmarks/law.py NAME-LANG.corpus.jsonl ...

Each file is a set of lines with its questions beside it (``NAME-LANG.queries.jsonl``), asked of the
engine as fit_rows.py asks it, with the weights that are shipped. R@5, in percent: by words alone
beside BM25 over the same tokens, and with the bundled model beside the better of BM25 and the
vectors alone. More than ``ALLOWED`` below is marked.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

import numpy as np  # noqa: E402
from fit_models import ALLOWED, alone, shares_found  # noqa: E402
from fit_pairs import beside_of, language_in  # noqa: E402
from fit_rows import ORDER, rows_of_talk  # noqa: E402
from labelled_rows import corpus_rows, question_rows  # noqa: E402
from retrieval import ADVERSARIAL  # noqa: E402
from rivals import TOKENS, Bm25  # noqa: E402
from scores import scored  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory.recall.weights import Linear, shipped  # noqa: E402


def figures(path: Path) -> dict[str, float]:
    """R@5 of one set: ``words``, ``bm25``, ``both``, ``near``."""
    corpus = corpus_rows(path)
    questions = question_rows(beside_of(path)[0], corpus, language_in(path))
    asked = [one.get("category") != ADVERSARIAL for one in questions]
    rows, weights = asyncio.run(rows_of_talk(path)), shipped()
    # Of all that answers, not of the candidates alone.
    gold = [max(len(one["gold_ids"]), 1) for one in questions]
    known = np.array([row.answers.sum() for row in rows]) / gold

    def share(order: np.ndarray, *, vectors: bool) -> np.ndarray:
        return np.multiply(shares_found(rows, order, vectors=vectors), known)

    def order_of(*models: Linear) -> np.ndarray:
        order = {name: weight for one in models for name, weight in one.weights.items()}
        return np.array([order.get(name, 0.0) for name in ORDER])

    both = (weights.order, weights.order_of_long)
    shares = {
        "words": share(order_of(*(one.words for one in both)), vectors=False),
        "bm25": _plain(corpus, questions),
        "both": share(order_of(*(one.both for one in both)), vectors=True),
        "near": share(alone("near"), vectors=True),
    }
    return {name: 100 * float(np.mean(np.array(one)[asked])) for name, one in shares.items()}


def _plain(corpus: Sequence[Any], questions: Sequence[Any]) -> list[float]:
    """Of each question the share of its rows among the first five of BM25."""
    talks = defaultdict(list)
    for row in corpus:
        talks[row["conv"]].append(row)
    ranked = {
        name: Bm25([f"{row['speaker']}: {row['text']}" for row in talk], *TOKENS)
        for name, talk in talks.items()
    }
    found = []
    for question in questions:
        name = question["conv"]
        places = ranked[name].rank(question["question"])
        ids = [str(talks[name][place]["id"]) for place in places]
        found.append(scored(ids, {*map(str, question["gold_ids"])})["recall@5"])
    return found


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path)
    paths = parser.parse_args().paths
    names = ("words", "bm25", "behind", "both", "near", "behind")
    sys.stdout.write(f"{'':20}" + "".join(f"{name:>9}" for name in names) + "\n")
    with ProcessPoolExecutor(2) as pool:
        for path, one in zip(paths, pool.map(figures, paths), strict=True):
            by_words = one["bm25"] - one["words"]
            by_both = max(one["bm25"], one["near"]) - one["both"]
            values = one["words"], one["bm25"], by_words, one["both"], one["near"], by_both
            line = "".join(f"{value:9.1f}" for value in values)
            mark = "  below" if max(by_words, by_both) > ALLOWED else ""
            sys.stdout.write(f"{path.name.partition('.')[0]:20}{line}{mark}\n")


if __name__ == "__main__":
    main()
