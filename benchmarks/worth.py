"""What each mechanism of recall is worth: casts are played once, each question is asked without it.

    python benchmarks/worth.py --cast FILE ... [--embedder lexical|bundled|FOLDER]
        [--without NAME ...] --json OUT

Every turn, question and unrelated one of ``everyday.py`` is asked as it is, and once more without
each mechanism of ``without.py``. What is learned from a turn is that of the whole recall. What acts
on what is written (``asks``) is no part of this: ``everyday.py --without asks``.

Printed are the sums over all casts: ``-`` for the whole, and for each mechanism what is more or
less without it; ``missed`` is how often it was asked, ``differs`` how many messages are answered
otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, override
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

from embedders import embedder_name  # noqa: E402
from everyday import Days, Told, living  # noqa: E402
from everyday_cast import Cast, Place, read_cast  # noqa: E402
from retrieval_run import seconds_to_fill  # noqa: E402
from table import table  # noqa: E402
from without import WITHOUT, without  # noqa: E402

from astrbot_plugin_scoped_memory.llm_memory import Actor, ContextLine  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.index.semantic import Semantic  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.recall.afterwards import UseCounts  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.service.turns import TurnStart  # noqa: E402

WHOLE = "-"
WRITTEN = {"asks"}
"""Acts on what the indexes hold."""


@dataclass
class Shadowed(Days):
    """Each message is asked without each mechanism first; ``told`` is what came of the last one."""

    names: Sequence[str] = ()
    told: dict[str, Told] = field(default_factory=dict)
    turns: list[tuple[bool, dict[str, Told]]] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)
    differs: Counter[str] = field(default_factory=Counter)

    @override
    async def _begin(
        self,
        text: str,
        who: Actor,
        place: Place,
        context: Sequence[ContextLine] = (),
        *,
        primed: bool = False,
    ) -> TurnStart:
        self.told = {}
        await seconds_to_fill(self.engine)  # or the first ones would find less than the last ones
        with mock.patch.object(Semantic, "neighbours", _once(Semantic.neighbours)):
            for name in self.names:
                with mock.patch.object(UseCounts, "show"), without([name]) as missed:
                    start = await super()._begin(text, who, place, context)
                self.told[name] = self._told(start.recall)
                self.missed += missed
            start = await super()._begin(text, who, place, context, primed=primed)
        self.told[WHOLE] = self._told(start.recall)
        for name in self.names:
            self.differs[name] += self.told[name].lines != self.told[WHOLE].lines
        return start

    @override
    async def _turn(self, talk: Any) -> None:
        await super()._turn(talk)
        self.turns.append((talk.small_talk, self.told))

    async def all_told(self, text: str, who: Actor, place: Place) -> dict[str, Told]:
        """What would be injected, by the mechanism that is left out."""
        await self.ask(text, who, place)
        return {name: self.told[name] for name in (WHOLE, *self.names)}


def _once(real: Callable[..., Any]) -> Callable[..., Any]:
    """One message is embedded once, however often it is asked."""
    known: dict[object, Any] = {}

    async def neighbours(self: Any, text: str, seen: Any, k: int, common: Any = ()) -> Any:
        key = text, seen.names, k, tuple(common)
        if key not in known:
            known[key] = await real(self, text, seen, k, common)
        return known[key]

    return neighbours


async def figures(
    root: Path, cast: Cast, embedder: str, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """By mechanism, ``WHOLE`` for the recall as it is."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    async with living(root, cast, embedder) as plain:
        days = Shadowed(**vars(plain), names=names)
        await days.play()
        for question in cast.questions:
            place, who = cast.places[question.where], cast.actor(question.who)
            for kind in ("original", "paraphrase"):
                for name, told in (
                    await days.all_told(getattr(question, kind), who, place)
                ).items():
                    found[name][kind] += told.answers(question.must)
                    found[name]["stale"] += told.is_stale(question)
        asker, place = cast.first
        for text in cast.unrelated:
            for name, told in (await days.all_told(text, asker, place)).items():
                found[name]["unrelated_silent"] += told.is_silent
        for small_talk, by_name in days.turns:
            for name, told in by_name.items():
                found[name]["small_talk_silent"] += small_talk and told.is_silent
                found[name]["tokens_a_turn"] += told.tokens / len(days.turns)
        for name in names:
            found[name]["missed"] = days.missed[name]
            found[name]["differs"] = days.differs[name]
    return {
        name: {key: round(value, 1) for key, value in found[name].items()}
        for name in (WHOLE, *names)
    }


def compared(by_cast: Collection[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """The sums over all casts, of a mechanism less those of the whole."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for figures in by_cast:
        for name, values in figures.items():
            sums[name].update(values)
    for name in sums.keys() - {WHOLE}:
        sums[name].subtract(sums[WHOLE])
    return {name: {k: round(v, 1) for k, v in values.items()} for name, values in sums.items()}


def main() -> None:
    """Play and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cast", type=Path, action="append", required=True)
    parser.add_argument("--embedder", type=embedder_name, default="lexical")
    known = sorted(set(WITHOUT) - WRITTEN)
    parser.add_argument("--without", action="append", choices=known)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    names = options.without or known
    found = {}
    for path in options.cast:
        with tempfile.TemporaryDirectory() as folder:
            played = figures(Path(folder), read_cast(path), options.embedder, names)
            found[path.stem] = asyncio.run(played)
    options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False), "utf-8")
    sys.stdout.write(table(compared(found.values())))


if __name__ == "__main__":
    main()
