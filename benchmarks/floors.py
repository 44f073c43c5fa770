"""How high an embedder's relevance floor should be, and how well it recalls by itself.

    python benchmarks/floors.py CORPUS.jsonl QUERIES.jsonl [--embedder WHICH] [--lang zh]
        [--unrelated TEXTS.jsonl]

CORPUS has rows ``{id, conv, speaker, text}``, QUERIES ``{id, conv, lang, question, gold_ids}``.
Each conversation is its own corpus, searched by cosine, without an index. For every question:

- answerable: asked in its own conversation, with gold among the top 5; its best similarity.
- unanswerable: asked in another conversation of its language, where nothing should be recalled; the
  best similarity there. (Other people talk of films too, so some of these have a fair answer.)
- unrelated: rows ``{text}`` of TEXTS, requests to a bot that concern nobody's memories.

For each floor the report says how many of each group stay silent or inject, in percent. The floor
it suggests is where silent among the unanswerable and injecting among the answerable are worst
together least (the maximum of the smaller one). WHICH is a model's folder, ``bundled``, or
``hashed``: words hashed into vectors, which understand nothing, to compare with.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

import checkout  # (it lies in scripts/, which the line above makes visible)

checkout.register()

from astrbot_plugin_scoped_memory.benchmarks.hashed import HashedWords  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.components.chroma.worker_store import (  # noqa: E402
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.bundled import (  # noqa: E402
    BundledEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.components.embedding.local_model import (  # noqa: E402
    LocalModelEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed  # noqa: E402

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.ports import Embedder, Vector, Vectors

FLOORS = tuple(n / 100 for n in (*range(4, 20), *range(20, 80, 5)))


@dataclass
class Conversation:
    """Its memories' ids and vectors."""

    ids: list[str]
    vectors: Vectors


@dataclass
class Measured:
    """Best similarities by group, and recall at 5 and 10 over all questions."""

    answerable: list[float] = field(default_factory=list)
    unanswerable: list[float] = field(default_factory=list)
    unrelated: list[float] = field(default_factory=list)
    recall_5: list[float] = field(default_factory=list)
    recall_10: list[float] = field(default_factory=list)
    refused: int = 0


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def embedder_named(which: str, scratch: Path) -> Embedder:
    """``hashed``, ``bundled``, or a model's folder; ``scratch`` is an empty folder for its use."""
    if which == "hashed":
        return HashedWords(1024)
    if which == "bundled":
        process = WorkerStore(worker_command(scratch / "index", scratch / "native.json"))
        return BundledEmbedder(process, index=None)
    return LocalModelEmbedder(which, download_seconds=0.0)


async def conversations(
    embedder: Embedder, corpus: list[dict[str, Any]]
) -> dict[str, Conversation]:
    by_conversation: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in corpus:
        by_conversation[row["conv"]].append(row)
    return {
        name: Conversation(
            [row["id"] for row in own],
            await embedder.embed_documents([f"{row['speaker']}: {row['text']}" for row in own]),
        )
        for name, own in by_conversation.items()
    }


def ask(measured: Measured, here: Conversation, vector: Vector, gold: set[str]) -> None:
    """One question in its own conversation."""
    similarity = here.vectors @ vector
    order = [int(i) for i in (-similarity).argsort()[:10]]
    found = [here.ids[i] in gold for i in order]
    measured.recall_5.append(sum(found[:5]) / len(gold))
    measured.recall_10.append(sum(found) / len(gold))
    if any(found[:5]):
        measured.answerable.append(float(similarity[order[0]]))


async def measure(
    embedder: Embedder,
    corpus: list[dict[str, Any]],
    queries: list[dict[str, Any]],
    unrelated: list[str],
) -> Measured:
    measured = Measured()
    talks = await conversations(embedder, corpus)
    languages = {query["conv"]: query["lang"] for query in queries}
    for query in queries:
        try:
            vector = await embedder.embed_query(query["question"])
        except EmbeddingFailed:  # a model that cannot read the language
            measured.refused += 1
            continue
        ask(measured, talks[query["conv"]], vector, set(query["gold_ids"]))
        others = sorted(
            name for name in talks if name != query["conv"] and languages.get(name) == query["lang"]
        )
        if others:
            other = talks[others[zlib.crc32(query["id"].encode()) % len(others)]]
            measured.unanswerable.append(float((other.vectors @ vector).max()))
    for text in unrelated:
        vector = await embedder.embed_query(text)
        measured.unrelated += [float((talk.vectors @ vector).max()) for talk in talks.values()]
    return measured


def share(values: list[float], floor: float, *, below: bool) -> float:
    """Percent of ``values`` below the floor, or at and above it."""
    if not values:
        return float("nan")
    return 100 * sum((value < floor) is below for value in values) / len(values)


def suggested(measured: Measured) -> float | None:
    if not measured.unanswerable or not measured.answerable:
        return None
    return max(
        sorted(set(measured.unanswerable + measured.answerable)),
        key=lambda floor: min(
            share(measured.unanswerable, floor, below=True),
            share(measured.answerable, floor, below=False),
        ),
    )


def report(measured: Measured, floor: float) -> str:
    def mean(values: list[float]) -> float:
        return 100 * sum(values) / len(values) if values else float("nan")

    lines = [
        f"R@5 {mean(measured.recall_5):.1f}  R@10 {mean(measured.recall_10):.1f}  "
        f"({len(measured.recall_5)} questions, {measured.refused} refused)",
        "floor   unanswerable silent   answerable injected   unrelated silent",
    ]
    best = suggested(measured)
    marks = {floor: "the embedder's own"} | ({best: "suggested"} if best is not None else {})
    lines += [
        f"{value:.3f} {share(measured.unanswerable, value, below=True):15.0f} %"
        f" {share(measured.answerable, value, below=False):19.0f} %"
        f" {share(measured.unrelated, value, below=True):16.0f} %   {marks.get(value, '')}"
        for value in sorted({*FLOORS, *marks})
    ]
    return "\n".join(lines) + "\n"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--embedder", default="hashed")
    parser.add_argument("--lang", help="only questions in this language")
    parser.add_argument("--unrelated", type=Path)
    options = parser.parse_args()
    queries = [q for q in rows(options.queries) if options.lang in {None, q["lang"]}]
    asked = {query["conv"] for query in queries}
    corpus = [row for row in rows(options.corpus) if row["conv"] in asked]
    unrelated = [] if options.unrelated is None else [r["text"] for r in rows(options.unrelated)]
    with tempfile.TemporaryDirectory() as scratch:
        embedder = embedder_named(options.embedder, Path(scratch))
        await embedder.prepare()
        measured = await measure(embedder, corpus, queries, unrelated)
        sys.stdout.write(report(measured, embedder.floor))
        await embedder.close()


if __name__ == "__main__":
    asyncio.run(main())
