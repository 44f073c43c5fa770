"""kill -9 in the midst of changed records: afterwards each of them is asked for, one by one.

    python benchmarks/kills.py [--records 5000] [--kills 10] [--dim 384]

Every record's words are changed in its file. A bot's engine over the real Chroma follows them, and
at a random share of the work the engine's process and the one that holds Chroma are killed by
turns. Then an engine is opened as at any start, and of all records ``wrong`` counts those that
their own vector does not find, ``unstored`` those that the store does not hold as they are,
``embedded`` how many had to be embedded again. Ends with status 1 where one of the first two is
not 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from hashed import HashedWords  # noqa: E402
from retrieval_run import followed  # noqa: E402
from samples import memories, write_vault  # noqa: E402

from astrbot_plugin_scoped_memory.harness.waiting import until_true  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory import (  # noqa: E402
    Engine,
    EnginePaths,
    EngineSettings,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import key_of  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.passage_text import (  # noqa: E402
    embedded_passage,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter  # noqa: E402

if TYPE_CHECKING:
    from astrbot_plugin_scoped_memory.llm_memory import StoredMemory

VICTIMS = ("engine", "store")
_SEED = 20_261_130
_PATIENCE_SECONDS = 600.0
_TIED = 3
"""Two texts may have one vector: their numbers fall into one place."""


async def be_killed(root: Path, left: int, victim: str, dim: int) -> None:
    """The bot: once only ``left`` records are to be written, it kills itself, or the process that
    holds the store and then ends in order."""
    async with _running(root, HashedWords(dim)) as engine:
        index = engine.parts.indexing
        await until_true(
            lambda: index.is_open and index.backlog <= left and not index.leaving,
            within=_PATIENCE_SECONDS,
        )
        if victim == "engine":
            os.kill(os.getpid(), signal.SIGKILL)
        for child in psutil.Process().children():
            child.kill()
        await until_true(lambda: index.in_step, within=_PATIENCE_SECONDS)


def _running(root: Path, embedder: HashedWords) -> AbstractAsyncContextManager[Engine]:
    return followed(build_engine(EnginePaths.under(root), EngineSettings()), embedder)


async def examine(root: Path, changed: list[StoredMemory], dim: int) -> dict[str, int]:
    """Opens as at any start, and asks for each."""
    embedder = HashedWords(dim)
    async with _running(root, embedder) as engine:
        index = engine.parts.indexing
        await until_true(lambda: index.in_step, within=_PATIENCE_SECONDS)
        embedded, wrong = embedder.embedded, 0
        for one in changed:
            vector = await embedder.embed_query(embedded_passage(one))
            seen = ScopeFilter.reading_as(one.scope)
            found = (await index.nearest(vector, seen, _TIED)).found
            wrong += not any(n.key == key_of(one) and n.similarity > 0.999 for n in found)
        space = await embedder.prepare()
        pages = await asyncio.to_thread(lambda: list(engine.parts.store.load(space, sys.maxsize)))
    stored = {r.key: row for records, rows in pages for r, row in zip(records, rows, strict=True)}
    unstored = len(stored.keys() ^ {key_of(one) for one in changed})
    for one in changed:
        row = stored.get(key_of(one))
        vector = await embedder.embed_query(embedded_passage(one))
        unstored += row is not None and not np.allclose(row, vector, atol=1e-3)
    return {"wrong": wrong, "unstored": unstored, "embedded": embedded}


async def kill(root: Path, left: int, victim: str, dim: int) -> int:
    """The status with which a bot in a process of its own ended."""
    asked = [f"--root={root}", f"--left={left}", f"--victim={victim}", f"--dim={dim}"]
    return await (await asyncio.create_subprocess_exec(sys.executable, __file__, *asked)).wait()


async def measure(root: Path, records: int, kills: int, dim: int) -> list[dict[str, Any]]:
    """A row for each kill."""
    chance, made, rows = np.random.default_rng(_SEED), memories(records), []
    write_vault(root / "memory", made)
    await examine(root, made, dim)
    for number in range(kills):
        changed = [_reworded(one, number) for one in made]
        write_vault(root / "memory", changed)
        left, victim = int(chance.integers(records // 20, records)), VICTIMS[number % len(VICTIMS)]
        status = await kill(root, left, victim, dim)
        row = {"killed": victim, "left": left, "status": status}
        rows.append(row | await examine(root, changed, dim))
        sys.stdout.write(json.dumps(rows[-1]) + "\n")
        sys.stdout.flush()
    return rows


def _reworded(one: StoredMemory, number: int) -> StoredMemory:
    text = f"{one.memory.judgment}，第{number}次改过"
    return replace(one, memory=replace(one.memory, judgment=text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--records", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--dim", type=int, default=384)
    for name in ("--root", "--left", "--victim"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.root:
        asyncio.run(be_killed(Path(args.root), int(args.left), args.victim, args.dim))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        rows = asyncio.run(measure(Path(scratch), args.records, args.kills, args.dim))
    expected = {"engine": -signal.SIGKILL, "store": 0}
    return int(
        any(
            row["wrong"] or row["unstored"] or row["status"] != expected[row["killed"]]
            for row in rows
        )
    )


if __name__ == "__main__":
    sys.exit(main())
