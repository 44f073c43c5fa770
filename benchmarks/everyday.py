"""What a bot knows after days of everyday talk: asked in the words that were said, and in others.

    python benchmarks/everyday.py --cast FILE [--embedder lexical|bundled|FOLDER] [--json OUT]
        [--without NAME ...]

A cast is a JSON file (see everyday_cast.py). Its people talk, turn by turn, to an engine of real
parts with a clock that is moved: recall, injection, answer, observe. A scripted reader learns what
the cast says that a turn teaches, each night the memory is consolidated. At the end every question
is asked twice, and what would be injected is searched for the words that answer it.

``--without`` a mechanism of recall shows what that one is worth: see ``without.py`` for the names,
and ``worth.py``, which asks without each of them in one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import checkout

checkout.register()

from cast_fields import BadCast  # noqa: E402
from embedders import embedder_name  # noqa: E402
from everyday_cast import Cast, Place, Question, Talk, read_cast  # noqa: E402
from everyday_reader import CastReader  # noqa: E402
from retrieval_run import BenchClock, Stuck, named_embedder, seconds_to_fill  # noqa: E402
from table import table  # noqa: E402
from without import WITHOUT, without  # noqa: E402

from astrbot_plugin_scoped_memory.core.config import PluginConfig, read_config  # noqa: E402
from astrbot_plugin_scoped_memory.core.latest import RecentTalk  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory import (  # noqa: E402
    Actor,
    ContextLine,
    Engine,
    EnginePaths,
    EngineSettings,
    Recall,
    Turn,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.service.turns import (  # noqa: E402
    TurnStart,
)
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import fence, hit_line  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts  # noqa: E402

_SECONDS = 600.0
_LOOK_MINUTES = 10
"""How often the reader of turns looks whether one is due while nobody speaks."""


@dataclass
class Told:
    """What a question was answered with: the injected lines, and their tokens."""

    lines: list[str]
    tokens: int

    @property
    def is_silent(self) -> bool:
        return not self.lines

    def answers(self, must: tuple[str, ...]) -> bool:
        """True if every word stands somewhere in the lines."""
        text = "\n".join(self.lines)
        return all(word in text for word in must)

    def is_stale(self, question: Question) -> bool:
        """True if an outdated word stands in a line before the first line that answers."""
        for line in self.lines:
            if all(word in line for word in question.must):
                return False
            if any(word in line for word in question.must_not):
                return True
        return False


@dataclass
class Days:
    """One engine and the people of a cast, day after day."""

    engine: Engine
    cast: Cast
    clock: BenchClock
    reader: CastReader
    texts: Texts
    defaults: PluginConfig = field(default_factory=lambda: read_config({}))
    said: RecentTalk = field(default_factory=RecentTalk)
    turn_tokens: list[int] = field(default_factory=list)
    small_talk: list[tuple[str, Told]] = field(default_factory=list)
    told_secrets: int = 0

    async def play(self) -> None:
        """All that is said, with a night after each day, until the questions are asked."""
        for talk in self.cast.talk:
            await self._pass(talk.at)
            await self._turn(talk)
        await self._pass(self.cast.end)

    async def ask(self, text: str, who: Actor, place: Place) -> Told:
        """What would be injected for this question."""
        return self._told((await self._begin(text, who, place)).recall)

    def _told(self, recall: Recall) -> Told:
        lines = [hit_line(hit, self.texts) for hit in recall.hits]
        return Told(lines, estimate_tokens(fence(recall.hits, self.texts)) if lines else 0)

    async def _begin(
        self,
        text: str,
        who: Actor,
        place: Place,
        context: Sequence[ContextLine] = (),
        *,
        primed: bool = False,
    ) -> TurnStart:
        """As the plugin asks for a turn, without its deadline."""
        config = self.defaults
        start = await self.engine.service.begin_turn(
            text,
            conversation_id=place.where,
            actor=who,
            seconds=_SECONDS,
            limit=config.auto_inject_topk,
            token_budget=config.inject_token_budget,
            context=context,
            primed=primed,
        )
        if start.contact is not None:
            await start.contact
        return start

    async def _turn(self, talk: Talk) -> None:
        place, who = self.cast.places[talk.where], self.cast.actor(talk.who)
        service = self.engine.service
        before = self.said.before(place.where, who.person, "")
        start = await self._begin(talk.said, who, place, before, primed=True)
        self.turn_tokens.append(estimate_tokens(start.text) if start.text else 0)
        self._look_for_secrets(start.text, talk.where)
        if talk.small_talk:
            self.small_talk.append((talk.said, self._told(start.recall)))
        shown = tuple(hit.memory_id for hit in start.recall.hits)
        turn = Turn(who, talk.said, talk.reply, shown, talk.at)
        self.said.note(place.where, replace(turn, view=start.view), talk.at)
        await service.observe(turn, conversation_id=place.where)
        await self.engine.reflection.read_due()

    def _look_for_secrets(self, text: str, where: str) -> None:
        self.told_secrets += sum(
            secret.words in text for secret in self.cast.secrets if where in secret.never_in
        )

    async def _pass(self, moment: datetime) -> None:
        """Time passes, with the nights that lie in between."""
        while (night := self._next_night()) <= moment:
            await self._until(night)
            while True:
                report = await self.engine.sleep.run_once("nightly")
                if report.postponed == "":
                    break
                await asyncio.sleep(0.05)  # the index is being built
        await self._until(moment)

    def _next_night(self) -> datetime:
        hour, minute = self.defaults.engine.loop.sleep_at or (4, 0)
        now = self.clock.now
        tonight = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return tonight if tonight > now else tonight + timedelta(days=1)

    async def _until(self, moment: datetime) -> None:
        """The reader looks now and then, as it does in a bot."""
        while moment - self.clock.now > timedelta(minutes=_LOOK_MINUTES):
            if not (await self.engine.status()).loop.queue.waiting:
                break
            self.clock.now += timedelta(minutes=_LOOK_MINUTES)
            await self.engine.reflection.read_due()
        self.clock.now = max(moment, self.clock.now)

    async def look_everywhere_for_secrets(self) -> None:
        """Ask for each secret by its own words wherever it must not be told, by everybody."""
        for secret in self.cast.secrets:
            for name in secret.never_in:
                place = self.cast.places[name]
                for who in self.cast.actors:
                    if who == self.cast.people.get(secret.said_by) and place.is_private:
                        continue
                    told = await self.ask(secret.words, who, place)
                    self.told_secrets += secret.words in "\n".join(told.lines)


@asynccontextmanager
async def living(root: Path, cast: Cast, embedder: str) -> AsyncIterator[Days]:
    """The people of a cast and their bot, before anything was said."""
    paths = EnginePaths.under(root)
    loop = read_config({"language": cast.texts}).engine.loop
    settings = EngineSettings(scope_map=cast.scope_map, loop=loop, embed_query_seconds=60.0)
    clock, reader = BenchClock(cast.start), CastReader(cast)
    engine = build_engine(paths, settings, clock=clock, chat=reader)
    chosen = named_embedder(embedder, engine)
    await engine.open()
    running = asyncio.create_task(engine.run(chosen))
    try:
        yield Days(engine, cast, clock, reader, Texts(cast.texts))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await engine.close()


async def figures(root: Path, cast: Cast, embedder: str) -> dict[str, Any]:
    """All that the run is judged by; shares are of what was asked."""
    async with living(root, cast, embedder) as days:
        await days.play()
        await seconds_to_fill(days.engine)
        original: list[Told] = []
        paraphrase: list[Told] = []
        for question in cast.questions:
            place, who = cast.places[question.where], cast.actor(question.who)
            original.append(await days.ask(question.original, who, place))
            paraphrase.append(await days.ask(question.paraphrase, who, place))
        asker, place = cast.first
        unrelated = [(text, await days.ask(text, asker, place)) for text in cast.unrelated]
        await days.look_everywhere_for_secrets()
        asked = list(zip(cast.questions, original, paraphrase, strict=True))
        quiet = [*days.small_talk, *unrelated]
        tokens = [told.tokens for told in (*original, *paraphrase)]
        turns = days.turn_tokens
        return {
            "questions": len(asked),
            "original": sum(told.answers(one.must) for one, told, _ in asked),
            "paraphrase": sum(told.answers(one.must) for one, _, told in asked),
            "stale": sum(a.is_stale(one) + b.is_stale(one) for one, a, b in asked),
            "silent": round(sum(told.is_silent for _, told in quiet) / max(len(quiet), 1), 3),
            "secrets_told": days.told_secrets,
            "injected_tokens_per_question": round(sum(tokens) / max(len(tokens), 1)),
            "injected_tokens_per_turn": round(sum(turns) / max(len(turns), 1)),
            "turns": len(turns),
            "reader_calls": days.reader.calls,
            "reader_tokens": days.reader.tokens,
            "reader_calls_per_100_turns": _per_100(days.reader.calls, len(turns)),
            "reader_prompt_tokens_per_100_turns": _per_100(days.reader.prompt_tokens, len(turns)),
            "stale_lines": [
                [text, *told.lines]
                for one, a, b in asked
                for text, told in ((one.original, a), (one.paraphrase, b))
                if told.is_stale(one)
            ],
            "spoke_lines": [[text, *told.lines] for text, told in quiet if not told.is_silent],
            "missed": [
                text
                for one, a, b in asked
                for text, told in ((one.original, a), (one.paraphrase, b))
                if not told.answers(one.must)
            ],
        }


def _per_100(count: int, turns: int) -> float:
    return round(100 * count / max(turns, 1), 1)


def main() -> None:
    """Play and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cast", type=Path, required=True)
    parser.add_argument(
        "--embedder",
        type=embedder_name,
        default="lexical",
        help="lexical, bundled, or a model's folder or name",
    )
    parser.add_argument("--without", action="append", choices=sorted(WITHOUT), default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="leave the bot's folder here")
    options = parser.parse_args()
    try:
        cast = read_cast(options.cast)
    except BadCast as error:
        parser.exit(2, f"{error}\n")
    try:
        with tempfile.TemporaryDirectory() as folder, without(options.without) as missed:
            found = asyncio.run(figures(options.keep or Path(folder), cast, options.embedder))
    except Stuck as error:
        parser.exit(1, f"{error}\n")
    if options.without:
        found["without"] = {name: missed[name] for name in options.without}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False), "utf-8")
    sys.stdout.write(
        table({key: value for key, value in found.items() if isinstance(value, int | float)})
    )
    for text in found["missed"]:
        sys.stdout.write(f"  missed: {text}\n")
    for fault in ("stale", "spoke"):
        for question, *lines in found[f"{fault}_lines"]:
            sys.stdout.write(f"  {fault}: {question}\n" + "".join(f"    {one}\n" for one in lines))


if __name__ == "__main__":
    main()
