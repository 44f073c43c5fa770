"""A week of a group: what is attached to questions about days, short questions and small talk, and
what a spoken correction takes the place of.

    python benchmarks/week.py [FILE ...] [--of FOLDER] [--embedder lexical|bundled|FOLDER] [-v]

A file is named like ``agenda.zh.json``: its kind and its language. Without one all of
``benchmarks/week/`` are asked. ``--of`` is another checkout, to compare with. Each file is a list
of cases, each asked of a new engine of real parts, words alone unless an embedder is named:

``said``
    ``{at, who, text}``, stored at that time as a person's command would.
``now``, ``who``, ``talk``, ``ask``
    A message, and what stood before it in the chat.
``expect``
    The places in ``said`` of what must be attached; nothing may be where ``silent`` is true.
``says``
    In place of ``ask`` in corrections: what is said; ``expect`` is the place of what it replaces or
    is said to contradict, null where that is nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
_parser.add_argument("files", type=Path, nargs="*")
_parser.add_argument("--of", type=Path, default=HERE.parent, metavar="FOLDER")
_parser.add_argument("--embedder", default="lexical")
_parser.add_argument("--json", type=Path)
_parser.add_argument("-v", "--verbose", action="store_true", help="tell each case that went wrong")
OPTIONS = _parser.parse_args()
sys.path[:0] = [str(OPTIONS.of.resolve() / name) for name in ("scripts", "benchmarks")]

import checkout  # noqa: E402

checkout.register()

from retrieval_run import BenchClock, named_embedder, seconds_to_fill  # noqa: E402

from astrbot_plugin_scoped_memory.core.config import read_config  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory import (  # noqa: E402
    Actor,
    ContextLine,
    ConversationId,
    ConversationKind,
    Engine,
    EnginePaths,
    EngineSettings,
    MemoryDraft,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Source  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Voice  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.recall.question import WEEK  # noqa: E402

ROOM = ConversationId("a:GroupMessage:1", "a", "a", ConversationKind.GROUP, group="1", persona="")
_BEFORE = timedelta(minutes=2)
"""The talk stood so long before the message."""
_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a case went: ``found`` everything that was expected, first of all; ``more`` that was
    not expected."""

    case: dict[str, Any]
    right: bool
    first: bool
    more: int
    told: list[str]


@asynccontextmanager
async def living(case: dict[str, Any]) -> AsyncIterator[tuple[Engine, list[str], dict[str, Actor]]]:
    """A bot to which everything was said, the ids of that, and who is in its room."""
    names = {one["who"]: None for one in (*case["said"], case)}
    people = {name: Actor(f"a:{n}", name) for n, name in enumerate(names, start=1001)}
    clock = BenchClock(datetime.fromisoformat(case["now"]))
    with tempfile.TemporaryDirectory() as folder:
        settings = EngineSettings(scope_map={ROOM.umo: "room"}, embed_query_seconds=60.0)
        engine = build_engine(EnginePaths.under(Path(folder)), settings, clock=clock)
        chosen = named_embedder(OPTIONS.embedder, engine)
        await engine.open()
        task = asyncio.create_task(engine.run(chosen))
        ids = []
        try:
            for one in case["said"]:
                clock.now = datetime.fromisoformat(one["at"])
                draft = MemoryDraft(one["text"], actor=people[one["who"]], source=Source.COMMAND)
                outcome = await engine.service.remember(draft, conversation_id=ROOM)
                ids.append(_id_of(outcome))
            clock.now = datetime.fromisoformat(case["now"])
            await seconds_to_fill(engine)
            yield engine, ids, people
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await engine.close()


def _id_of(outcome: object) -> str:
    """Of what was stored or made stronger; empty for what was refused."""
    stored = getattr(outcome, "memory", None)
    return stored.memory.memory_id if stored is not None else ""


async def asked(case: dict[str, Any]) -> Verdict:
    """As a turn asks."""
    async with living(case) as (engine, ids, people):
        who, now = people[case["who"]], datetime.fromisoformat(case["now"])
        view = await engine.service.view(conversation_id=ROOM)
        context = [
            ContextLine(voice, one["text"], now - _BEFORE, view)
            for one in case.get("talk", ())
            for voice in (Voice.BOT if one["who"] == "bot" else Voice.ASKER,)
            if one["who"] in ("bot", case["who"])
        ]
        config = read_config()
        recall = await engine.service.recall(
            case["ask"],
            conversation_id=ROOM,
            limit=config.auto_inject_topk,
            token_budget=config.inject_token_budget,
            actor=who,
            days=WEEK,
            context=context,
            in_talk=True,
        )
    expected = {ids[at] for at in case["expect"]}
    told = [hit.memory_id for hit in recall.hits]
    right = not told if case.get("silent") else expected <= set(told)
    first = expected == set(told[: len(expected)])
    return Verdict(case, right, first, len(set(told) - expected), [h.preview for h in recall.hits])


async def corrected(case: dict[str, Any]) -> Verdict:
    """As a person's command corrects."""
    async with living(case) as (engine, ids, people):
        draft = MemoryDraft(case["says"], actor=people[case["who"]], source=Source.COMMAND)
        outcome = await engine.service.remember(draft, conversation_id=ROOM)
    former = getattr(outcome, "former", None) or getattr(outcome, "conflict", None)
    expected = None if case["expect"] is None else ids[case["expect"]]
    found = None if former is None else former.memory.memory_id
    told = [type(outcome).__name__, former.memory.judgment if former else "-"]
    replaced = getattr(outcome, "former", None) is not None
    return Verdict(case, found == expected, found == expected and replaced, 0, told)


async def figures(name: str, text: str) -> tuple[dict[str, int], list[Verdict]]:
    """Of a file: how many are right, and those that are not."""
    judge = corrected if name.startswith("corrections") else asked
    few = asyncio.Semaphore(_AT_ONCE)

    async def judged(case: dict[str, Any]) -> Verdict:
        async with few:
            return await judge(case)

    verdicts = await asyncio.gather(*map(judged, json.loads(text)))
    counted: Counter[str] = Counter()
    for one in verdicts:
        kind = "quiet" if one.case.get("silent") else "questions"
        counted.update({kind: 1, f"{kind}_right": one.right, f"{kind}_more": one.more})
        counted["questions_first"] += one.first and kind == "questions"
    return dict(counted), [one for one in verdicts if not one.right or not one.first]


def _line(verdict: Verdict) -> str:
    case = verdict.case
    expected = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    wanted = [case["said"][at]["text"] for at in expected if at is not None]
    word = "late" if verdict.right else "WRONG"
    return f"  {word} {case['id']} {case.get('ask') or case['says']}: {wanted} != {verdict.told}\n"


async def main(files: Sequence[Path]) -> None:
    """Ask and tell."""
    found = {}
    for path in files or sorted((HERE / "week").glob("*.json")):
        found[path.stem], wrong = await figures(path.name, path.read_text("utf-8"))
        sys.stdout.write(f"{path.stem}: {found[path.stem]}\n")
        sys.stdout.writelines(map(_line, wrong if OPTIONS.verbose else ()))
    if OPTIONS.json:
        OPTIONS.json.write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    asyncio.run(main(OPTIONS.files))
