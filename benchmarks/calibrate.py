"""From which similarities on an embedder's neighbours are worth a look when a memory is written.

    python benchmarks/calibrate.py [--embedder WHICH] [--pairs PAIRS.jsonl] [--json OUT.json]

PAIRS has rows ``{lang, class, old, new}``, and ``old_who``, ``new_who`` where the speakers differ.
``same`` and ``paraphrase`` should merge, ``extension`` says all of the old and more and should
replace it, everything else must never merge. WHICH is the folder or name of a
sentence-transformers model that is on disk, or ``URL#MODEL``: a service that speaks OpenAI's
embeddings protocol at ``URL/embeddings`` (key in EMBEDDING_API_KEY); or ``lexical``: no embedder,
the index of words proposes the old statement, if it is among the nearest of all in PAIRS.

The guards decide (``llm_memory/index/rules/deduplication.py``); a threshold only says whom they
look at. So the suggested pair is the highest that lets nine in ten of those pass that the guards
would merge: ``reinforce`` is the tenth percentile of the similarities of same and paraphrase,
``replace`` that of extension, of those that the guards accept. (Words propose by rank: for them
there is none, and the guards look at each.) The table shows what similarity alone would have done,
and what is done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import checkout  # (both folders are made visible by the lines above)

checkout.register()

from embedders import embedder_named  # noqa: E402
from labelled_rows import rows  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory.index.cut_texts import tokens_of  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.service.embedding_service import (  # noqa: E402
    EmbeddingService,
)
from astrbot_plugin_scoped_memory.llm_memory.index.records import WordQuery, word_record  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import (  # noqa: E402
    ANY,
    CAUTIOUS,
    MergeThresholds,
    decide,
)
from astrbot_plugin_scoped_memory.llm_memory.index.words import Words  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (  # noqa: E402
    Memory,
    Provenance,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (  # noqa: E402
    PUBLIC,
    ScopeFilter,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.remember.near_duplicates import (  # noqa: E402
    BY_WORDS,
    NEAREST,
)
from astrbot_plugin_scoped_memory.llm_memory.service.indexes import provider_embedder  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import embedded_text  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer  # noqa: E402

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Embedder

PAIRS = Path(__file__).resolve().parent.parent / "tests" / "data" / "dedup_pairs.jsonl"
MERGEABLE = ("same", "paraphrase")
EXTENDING = "extension"
SPEAKER = "小明"
_AT = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
_PERCENTILE = 0.1
_EVERYTHING = MergeThresholds(reinforce=1e-6, replace=1e-6)


@dataclass(frozen=True, slots=True)
class Pair:
    """An old statement, a new one, and what kind of pair they are."""

    lang: str
    kind: str
    old: StoredMemory
    new: Memory

    @property
    def should_merge(self) -> bool:
        return self.kind in {*MERGEABLE, EXTENDING}


def load_pairs(path: Path = PAIRS) -> list[Pair]:
    """The labelled pairs, as memories of one scope said at one time."""
    return [pair_of(row) for row in rows(path)]


def pair_of(row: dict[str, Any]) -> Pair:
    """A row of the file as two memories."""
    old = _memory("m-0000", row["old"], row.get("old_who", SPEAKER))
    new = _memory("m-0001", row["new"], row.get("new_who", SPEAKER))
    return Pair(row["lang"], row["class"], StoredMemory(PUBLIC, "journal.md", old), new)


def _memory(memory_id: str, text: str, who: str) -> Memory:
    return Memory(memory_id, text, _AT, provenance=Provenance(who=who))


async def similarities(embedder: Embedder, pairs: Sequence[Pair]) -> list[float]:
    """Of each pair's texts as they are embedded when they are stored."""
    old = await embedder.embed_documents([embedded_text(pair.old.memory) for pair in pairs])
    new = await embedder.embed_documents([embedded_text(pair.new) for pair in pairs])
    pairs_of_rows = zip(old, new, strict=True)
    return [0.0 if one is None or two is None else float(one @ two) for one, two in pairs_of_rows]


def merged(pair: Pair, similarity: float, thresholds: MergeThresholds) -> bool:
    """Whether the guards let the new one go into the old one."""
    return decide(pair.new, [(pair.old, similarity)], thresholds) is not None


def suggested(pairs: Sequence[Pair], found: Sequence[float]) -> MergeThresholds:
    """The highest pair of thresholds that nine in ten of what the guards accept still reach."""
    accepted: dict[bool, list[float]] = defaultdict(list)
    for pair, similarity in zip(pairs, found, strict=True):
        if pair.should_merge and merged(pair, 1.0, _EVERYTHING):
            accepted[pair.kind == EXTENDING].append(similarity)
    reinforce, replace = (round(percentile(accepted[extends]), 2) for extends in (False, True))
    return MergeThresholds(reinforce, min(reinforce, replace))


def percentile(values: Sequence[float], share: float = _PERCENTILE) -> float:
    return sorted(values)[int(share * len(values))]


def classes(
    pairs: Sequence[Pair], found: Sequence[float], thresholds: MergeThresholds
) -> list[dict[str, Any]]:
    """Per class and language: similarities, and what merges by similarity alone and with guards."""
    groups: dict[tuple[str, str], list[tuple[Pair, float]]] = defaultdict(list)
    for pair, similarity in zip(pairs, found, strict=True):
        groups[pair.kind, pair.lang].append((pair, similarity))
    return [
        {
            "class": kind,
            "lang": lang,
            "should_merge": group[0][0].should_merge,
            "pairs": len(group),
            "p10": round(percentile([value for _, value in group]), 3),
            "p50": round(percentile([value for _, value in group], 0.5), 3),
            "p90": round(percentile([value for _, value in group], 0.9), 3),
            "similarity_alone": _share(value >= thresholds.replace for _, value in group),
            "merged": _share(merged(pair, value, thresholds) for pair, value in group),
            "guards_alone": _share(merged(pair, 1.0, thresholds) for pair, _ in group),
        }
        for (kind, lang), group in groups.items()
    ]


def _share(values: Iterable[bool]) -> float:
    known = list(values)
    return round(sum(known) / len(known), 3)


def shares_by_words(pairs: Sequence[Pair]) -> list[float]:
    """Of each pair, how much of the new statement the old one speaks of, 0 where the index of words
    proposes others: all old ones stand in one scope."""
    records = [
        replace(word_record(pair.old), key=Key(pair.old.scope.name, str(number)))
        for number, pair in enumerate(pairs)
    ]
    tokenizer = Tokenizer()
    words, found = Words(tokenizer), []
    words.put([(record, tokens_of(record, tokenizer)) for record in records])
    for number, pair in enumerate(pairs):
        query = WordQuery(text := embedded_text(pair.new), text)
        answer = words.search(query, ScopeFilter((PUBLIC,)), BY_WORDS)
        best = sorted(answer.found, key=lambda match: -match.coverage)[:NEAREST]
        near = {match.key.memory_id: match.coverage for match in best}
        found.append(near.get(str(number), 0.0))
    return found


def report(pairs: Sequence[Pair], found: Sequence[float], own: MergeThresholds) -> dict[str, Any]:
    """Everything that is told, for JSON. Rates are shares of all pairs of their group."""
    best = own if own == ANY else suggested(pairs, found)
    wrong = [
        merged(pair, value, best) or merged(pair, value, own)
        for pair, value in zip(pairs, found, strict=True)
        if not pair.should_merge
    ]
    table = classes(pairs, found, best)
    right = [row for row in table if row["class"] == "paraphrase"]
    return {
        "suggested": {"reinforce": best.reinforce, "replace": best.replace},
        "own": {"reinforce": round(own.reinforce, 3), "replace": round(own.replace, 3)},
        "wrongly_merged": sum(wrong),
        "pairs_that_differ": len(wrong),
        "paraphrases_merged": round(
            sum(row["merged"] * row["pairs"] for row in right) / sum(row["pairs"] for row in right),
            3,
        ),
        "classes": table,
    }


def table(figures: dict[str, Any]) -> str:
    def shown(known: dict[str, float]) -> str:
        return f"reinforce {known['reinforce']:.2f}, replace {known['replace']:.2f}"

    lines = [
        f"suggested {shown(figures['suggested'])}     the embedder's own {shown(figures['own'])}",
        f"wrongly merged {figures['wrongly_merged']} of {figures['pairs_that_differ']}"
        f"     paraphrases merged {100 * figures['paraphrases_merged']:.0f} %",
        f"{'class':14}lang pairs    p10    p50    p90   similarity alone   merged   guards alone",
    ]
    lines += [
        f"{row['class']:14}{row['lang']:4}{row['pairs']:6}{row['p10']:7.2f}{row['p50']:7.2f}"
        f"{row['p90']:7.2f}{100 * row['similarity_alone']:17.0f} %{100 * row['merged']:7.0f} %"
        f"{100 * row['guards_alone']:13.0f} %"
        for row in figures["classes"]
    ]
    return "\n".join(lines) + "\n"


def embedder_for(which: str, scratch: Path) -> Embedder:
    if which.startswith(("http://", "https://")):
        url, _, model = which.partition("#")
        key = os.environ.get("EMBEDDING_API_KEY", "")
        service = EmbeddingService(url, model, key=key)
        return provider_embedder(service, EngineSettings(embed_write_seconds=60.0))
    return embedder_named(which, scratch)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", default="lexical")
    parser.add_argument("--pairs", type=Path, default=PAIRS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pairs = load_pairs(options.pairs)
    if options.embedder == "lexical":
        name, found, own = "lexical", shares_by_words(pairs), ANY
    else:
        with tempfile.TemporaryDirectory() as scratch:
            embedder = embedder_for(options.embedder, Path(scratch))
            name = (await embedder.prepare()).model
            found, own = await similarities(embedder, pairs), CAUTIOUS
            await embedder.close()
    figures = {"embedder": name, **report(pairs, found, own)}
    sys.stdout.write(f"{name}\n{table(figures)}")
    if options.json:
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=2), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
