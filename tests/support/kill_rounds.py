"""Kill a writing engine again and again: everything that it acknowledged must be there afterwards.

Run as a program it is the engine that gets killed; imported, it plays the rounds.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

SCOPES = ("家人", "公司", "家人2", "dm")
_CHECKOUT = Path(__file__).resolve().parents[2]


def where(scope: str) -> str:
    """The conversation that writes into a scope."""
    return f"qq:GroupMessage:{SCOPES.index(scope)}"


def scope_map() -> dict[str, str]:
    """One group a scope."""
    return {where(scope): scope for scope in SCOPES}


@dataclass
class Tally:
    """What the rounds came to. ``acknowledged`` are (scope, text)."""

    rounds: int = 0
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    native_crashes: int = 0


def play(root: Path, *, rounds: int, seed: int) -> Tally:
    """Start, wait for some acknowledgements, kill -9, start again."""
    chance = random.Random(seed)
    tally = Tally()
    for number in range(rounds):
        wanted = chance.randint(5, 40)
        command = [sys.executable, "-P", __file__, str(root), str(number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            heard = 0
            for line in writer.stdout:
                scope, text = line.rstrip("\n").split("\t")
                tally.acknowledged.append((scope, text))
                heard += 1
                if heard == wanted:
                    writer.kill()
                    break
            # What it said between our decision and its death counts, too.
            for line in writer.stdout.read().splitlines(keepends=True):
                if line.endswith("\n"):
                    scope, text = line.rstrip("\n").split("\t")
                    tally.acknowledged.append((scope, text))
        if heard < wanted:
            # The index broke in a native way when it was opened. It is only a cache.
            tally.native_crashes += 1
            shutil.rmtree(root / "index", ignore_errors=True)
        tally.rounds += 1
    return tally


async def check(root: Path, tally: Tally) -> None:
    """Every acknowledged text is visible in its scope, and in no other."""
    from astrbot_plugin_scoped_memory.llm_memory import ConversationId
    from astrbot_plugin_scoped_memory.tests.support.engines import running

    async with running(root, scope_map(), follow=False) as rig:
        for scope in SCOPES:
            here = ConversationId.parse(where(scope))
            newest = await rig.engine.service.newest(conversation_id=here, limit=1_000_000)
            found = {stored.memory.judgment for stored in newest}
            assert {text for owner, text in tally.acknowledged if owner == scope} <= found
            assert not {text for owner, text in tally.acknowledged if owner != scope} & found


async def _write_until_killed(root: Path, number: str) -> None:
    from astrbot_plugin_scoped_memory.llm_memory import (
        ConversationId,
        EnginePaths,
        EngineSettings,
        MemoryDraft,
        Stored,
        build_engine,
    )
    from astrbot_plugin_scoped_memory.llm_memory.composition import lexical_embedder

    engine = build_engine(EnginePaths.under(root), EngineSettings(scope_map=scope_map()))
    await engine.open()
    following = asyncio.create_task(engine.run(lexical_embedder()))

    async def write(scope: str) -> None:
        count = 0
        while True:
            text = f"{scope}第{number}轮第{count}件事"
            outcome = await engine.service.remember(
                MemoryDraft(text), conversation_id=ConversationId.parse(where(scope))
            )
            if isinstance(outcome, Stored):
                sys.stdout.write(f"{scope}\t{text}\n")
                sys.stdout.flush()
            count += 1

    await asyncio.gather(following, *(write(scope) for scope in SCOPES))


if __name__ == "__main__":
    sys.path.insert(0, str(_CHECKOUT / "scripts"))
    import checkout

    checkout.register()
    asyncio.run(_write_until_killed(Path(sys.argv[1]), sys.argv[2]))
