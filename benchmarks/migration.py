"""What a scope migration costs the bot: recall during it against recall after it, in one run.

    python benchmarks/migration.py [--records 100000] [--dim 64] [--questions 20] [--json OUT]

A Chroma server on loopback holds so many records of a pre-scope plugin. An engine brings them and
is asked all the while; when all is in, it is asked the same again. What counts is the ratio of the
two p95, and how long the event loop was held up at most.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

from gauges import Stalls, noise, spread, watched_loop  # noqa: E402
from samples import memories, questions  # noqa: E402
from table import table  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory import (  # noqa: E402
    ConversationId,
    Engine,
    EnginePaths,
    EngineSettings,
    MigrationStatus,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import embedded_text  # noqa: E402
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import ServerProcess  # noqa: E402

HERE = ConversationId.parse("aiocqhttp:GroupMessage:777")
COLLECTION = "personal_memory_v1"
BETWEEN_SECONDS = 0.05
"""Between two questions: a bot is asked by several people at once, not by a machine."""
_AT_ONCE = 500


def fill(server: ServerProcess, count: int, dim: int) -> None:
    """Records as Angel Memory wrote them, none with a scope."""
    import chromadb
    import numpy as np

    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.HttpClient("127.0.0.1", server.port, settings=settings)
    collection = client.create_collection(COLLECTION, embedding_function=None)
    chance = np.random.default_rng(1)
    made = memories(count)
    for first in range(0, count, _AT_ONCE):
        some = [stored.memory for stored in made[first : first + _AT_ONCE]]
        collection.add(
            ids=[f"old-{number}" for number in range(first, first + len(some))],
            documents=[embedded_text(memory) for memory in some],
            metadatas=[
                {
                    "memory_type": memory.kind.value,
                    "judgment": memory.judgment,
                    "reasoning": memory.reasoning,
                    "tags": ", ".join(memory.tags),
                    "strength": memory.strength,
                    "is_active": memory.active,
                    "associations": "{}",
                    "created_at": memory.created_at.timestamp(),
                }
                for memory in some
            ],
            embeddings=chance.normal(size=(len(some), dim)).astype("float32"),
        )


async def ask(engine: Engine, query: str) -> float:
    """Milliseconds of a recall."""
    began = time.perf_counter()
    await engine.service.recall(query, conversation_id=HERE, limit=3, token_budget=600)
    return (time.perf_counter() - began) * 1000


async def words_are_ready(engine: Engine) -> None:
    """The dictionary is loaded: every start does that, whether or not it migrates."""
    while True:
        if (await engine.status()).words == "ready":
            return
        await asyncio.sleep(BETWEEN_SECONDS)


async def asked_until(
    engine: Engine, texts: Iterator[str], ended: Callable[[MigrationStatus], bool]
) -> tuple[list[float], Stalls, float]:
    """Milliseconds of each recall, what held up the loop, and the seconds that it took."""
    spent: list[float] = []
    began = time.perf_counter()
    async with watched_loop() as stalls:
        while not ended(engine.migrations.status()):
            spent.append(await ask(engine, next(texts)))
            await asyncio.sleep(BETWEEN_SECONDS)
    return spent, stalls, time.perf_counter() - began


async def measure(root: Path, url: str, count: int, wanted: int) -> dict[str, Any]:
    """Figures of one migration."""
    engine = build_engine(EnginePaths.under(root), EngineSettings(chroma_url=url))
    await engine.open()
    await words_are_ready(engine)
    migrating = asyncio.create_task(engine.migrate())
    pool = questions(500)
    texts = cycle(pool)
    try:
        during, stalls, seconds = await asked_until(
            engine, texts, lambda status: status.state == "done"
        )
        status = engine.migrations.status()
        left = iter(range(wanted))
        after, quiet, _ = await asked_until(engine, texts, lambda _: next(left, None) is None)
    finally:
        migrating.cancel()
        await asyncio.gather(migrating, return_exceptions=True)
        await engine.close()
    ratio = spread(during)["p95"] / spread(after)["p95"]
    return {
        "memories": count,
        "adopted": status.tally.adopted,
        "merged": status.tally.merged,
        "seconds": round(seconds, 1),
        "recall_ms": {
            "during": spread(during) | {"asked": len(during)},
            "after": spread(after) | {"asked": len(after)},
            "p95_ratio": {"during/after": round(ratio, 2)},
        },
        "stalls": {"during": stalls.summary(), "after": quiet.summary()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder) / "server")
        server.start()
        try:
            fill(server, options.records, options.dim)
            found = asyncio.run(
                measure(Path(folder) / "data", server.url, options.records, options.questions)
            )
        finally:
            server.kill()
    figures = {"noise": noise(), "migration": [found]}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    sys.stdout.write(table(figures))


if __name__ == "__main__":
    main()
