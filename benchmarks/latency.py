"""What the plugin costs: latency, throughput, stalls of the event loop, start-up and memory.

    python benchmarks/latency.py [--sizes 1000,10000] [--only engine,recall,reconcile,probe,bot]
        [--json FILE]

- ``engine``: recall by stage, opening, index building and writing, with the longest time that an
  event loop stood still meanwhile, in this process.
- ``recall``: recall with both arms among fifty scopes against one query of SQLite's FTS5; a tiny
  scope's answers beside large ones and alone; a start over what was kept; memory.
- ``reconcile``: a start over files that nobody has changed against reading them, a look while the
  bot runs, and files that were edited (``benchmarks/reconcile.py``), up to ``--whole`` entries.
- ``probe``: the search of vectors against plain numpy; see ``vector_search.py``.
- ``bot``: a real AstrBot with the plugin and one without, started and asked by turns.
- ``observe``: the same two, asked only: what queueing the finished turn adds, of AstrBot's own
  round trip (``queued_p95_by_round_trip``); and the append alone, in this process.

Everything that could differ from machine to machine is measured beside something to compare it
with: what is called ``…_by_…`` is such a ratio. ``noise`` is how long a loop that does nothing
stood still, and ``by_noise`` the longest stall in units of its longest; ``held_ms`` is the longest
without the time in which a busy machine let the process wait for a processor. Memories are made up,
from a seed. Half of them are public, 30 % of them lie in the scope that is asked from.

``engine`` and ``bot`` have the embedder that is named, words alone or the bundled model; ``recall``
measures the index with hashed words of 384 numbers, as a small model's vectors have; ``probe``
draws its vectors by chance.
The bot is measured with no memory, and with each of the sizes up to ``--whole``; its memory is that
of its own process, and of all processes that it started, over that of a bot without the plugin.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import checkout  # (both folders are made visible by the lines above)

checkout.register()

from bot_part import measure_bot  # noqa: E402
from engine_part import measure_engine  # noqa: E402
from gauges import beside_noise, noise  # noqa: E402
from observe_part import measure_observe  # noqa: E402
from recall_part import measure_recall  # noqa: E402
from reconcile import measure_reconcile  # noqa: E402
from table import table  # noqa: E402
from vector_search import measure_search  # noqa: E402

PARTS = ("engine", "recall", "reconcile", "probe", "bot", "observe")
_DIM = 384


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000,10000,50000,100000", help="memories, by commas")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    parser.add_argument(
        "--embedder", default="lexical", choices=("lexical", "bundled"), help="of engine and bot"
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--writes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5, help="starts of each bot")
    parser.add_argument("--turns", type=int, default=60, help="messages to each bot")
    parser.add_argument(
        "--reopen", type=int, default=50_000, help="sizes up to which it is started once more"
    )
    parser.add_argument(
        "--whole", type=int, default=10_000, help="sizes up to which nothing is cut"
    )
    return parser.parse_args()


async def measure(wanted: argparse.Namespace, root: Path) -> dict[str, Any]:
    sizes = [int(size) for size in wanted.sizes.split(",")]
    parts = wanted.only.split(",")
    figures: dict[str, Any] = {part: [] for part in PARTS if part in parts}
    for size in sizes:
        if "engine" in parts:
            figures["engine"].append(
                await measure_engine(
                    root / f"engine-{size}",
                    size,
                    embedder=wanted.embedder,
                    queries=wanted.queries,
                    writes=wanted.writes,
                )
            )
        if "recall" in parts:
            figures["recall"].append(
                await measure_recall(
                    root / f"recall-{size}",
                    size,
                    dim=_DIM,
                    queries=wanted.queries // 4 or 1,
                    reopen=size <= wanted.reopen,
                )
            )
        if "reconcile" in parts and size <= wanted.whole:
            figures["reconcile"].append(await measure_reconcile(root / f"reconcile-{size}", size))
        if "probe" in parts:
            figures["probe"].append(
                await measure_search(
                    root / f"probe-{size}", size, dim=_DIM, queries=wanted.queries // 4 or 1
                )
            )
    if "bot" in parts:
        for size in dict.fromkeys((0, *(size for size in sizes if size <= wanted.whole))):
            figures["bot"].append(
                await measure_bot(
                    root / f"bot-{size}",
                    size,
                    embedding=wanted.embedder,
                    rounds=wanted.rounds,
                    turns=wanted.turns,
                )
            )
    if "observe" in parts:
        figures["observe"].append(await measure_observe(root / "observe", turns=wanted.turns))
    return figures


def main() -> None:
    wanted = options()
    unknown = set(wanted.only.split(",")) - set(PARTS)
    if unknown:
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    figures: dict[str, Any] = {"python": platform.python_version(), "noise": noise()}
    with tempfile.TemporaryDirectory() as folder:
        figures |= asyncio.run(measure(wanted, Path(folder)))
    beside_noise(figures, figures["noise"]["largest_ms"])
    sys.stdout.write(table(figures))
    if wanted.json is not None:
        wanted.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
