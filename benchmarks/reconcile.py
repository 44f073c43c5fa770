"""What it costs to follow the files: at the start, in a look where nothing changed, after changes.

    python benchmarks/reconcile.py [--entries 10000] [--json OUT]

Ratios within one run are what counts: all are taken one after the other, and each is the best of
three. `read` is reading and parsing every file, which any start needs; `start` is reading and
comparing with what was known, when nothing was changed.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import Catalogue  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.catalogue.recallable_memories import RecallableMemories  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (  # noqa: E402
    Memory,
    Provenance,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import Pace  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.remember.deeds import (  # noqa: E402
    Deeds,
)
from astrbot_plugin_scoped_memory.llm_memory.runtime.identifiers import make_id  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.sync.reconciler import Reconciler  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault  # noqa: E402

BEGAN = datetime(2026, 1, 1, 8, tzinfo=UTC)
SCOPES = 10
A_FILE = 25
"""Entries: journals of a day hold about as many."""


def build(root: Path, entries: int) -> None:
    """A vault as a bot writes it."""
    for number in range(0, entries, A_FILE):
        scope = f"scope-{number // A_FILE % SCOPES}"
        day = BEGAN + timedelta(days=number // A_FILE // SCOPES)
        path = root / "scopes" / scope / "journal" / f"{day:%Y-%m-%d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        some = (_memory(n, day) for n in range(number, min(number + A_FILE, entries)))
        path.write_text("\n".join(map(render, some)), encoding="utf-8")


def _memory(number: int, day: datetime) -> Memory:
    who = f"成员{number % 40}"
    return Memory(
        make_id("m", day + timedelta(seconds=number)),
        f"{who}说第{number}次聚会改到了三楼的会议室，记得带上投影仪的转接头",
        day,
        reasoning="他在群里明确说过，大家都同意了。",
        tags=("聚会", "会议室"),
        provenance=Provenance(who, f"aiocqhttp:{number % 40}", "aiocqhttp:GroupMessage:777"),
    )


class Life:
    """One start of what follows the files."""

    def __init__(self, root: Path) -> None:
        self.ledger = SqliteLedger(root / "state" / "vault.sqlite")
        self.vault = MarkdownVault(root / "memory", self.ledger)
        self.catalogue = Catalogue()
        living = RecallableMemories(self.catalogue, [])
        state = SqliteStateStore(root / "state" / "state.sqlite")
        state.open()
        self.reconciler = Reconciler(
            self.vault,
            self.catalogue,
            living,
            Deeds(state, lambda: BEGAN),
            NoticeBoard(),
            lambda: BEGAN,
            Pace(quiet_seconds=0.0),
        )
        self.vault.open()


async def timed(step: Callable[[], Awaitable[None]]) -> float:
    """Seconds."""
    began = time.perf_counter()
    await step()
    return time.perf_counter() - began


async def measure(root: Path, entries: int) -> dict[str, float]:
    """Seconds by what was done."""
    memory = root / "memory"
    build(memory, entries)
    files = sorted(memory.rglob("*.md"))
    first = Life(root)
    found = {"first_start": await timed(first.reconciler.load)}
    first.ledger.close()
    best: dict[str, float] = {}

    def note(name: str, seconds: float) -> None:
        best[name] = min(best.get(name, seconds), seconds)

    for turn in range(3):

        async def read_bytes() -> None:
            for path in files:
                path.read_bytes()

        async def read() -> None:
            vault = MarkdownVault(memory)
            catalogue = Catalogue()
            for scope in vault.scopes():
                catalogue.load(vault.read(scope).memories)

        note("read_bytes", await timed(read_bytes))
        note("read", await timed(read))
        life = Life(root)
        note("start", await timed(life.reconciler.load))
        if len(life.catalogue) != entries:
            raise RuntimeError(f"{len(life.catalogue)} of {entries} were read")
        note("look", await timed(life.reconciler.reconcile))
        changed = files[turn]
        text = changed.read_text("utf-8")
        changed.write_text(text.replace("三楼", f"{turn + 4}楼"), "utf-8")
        note("one_file_edited", await timed(life.reconciler.reconcile))
        life.ledger.close()
    for path in files:
        path.write_text(path.read_text("utf-8").replace("投影仪", "音箱"), "utf-8")
    last = Life(root)
    found["all_files_edited"] = await timed(last.reconciler.load)
    last.ledger.close()
    return {**found, **best}


async def measure_reconcile(root: Path, entries: int) -> dict[str, Any]:
    """The figures of ``entries`` memories."""
    seconds = await measure(root, entries)
    return {
        "memories": entries,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "start_to_read": round(seconds["start"] / seconds["read"], 2),
    }


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure_reconcile(Path(folder), args.entries))
    text = json.dumps(figures, indent=2)
    sys.stdout.write(text + "\n")
    if args.json:
        args.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
