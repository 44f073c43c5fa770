"""One conversation: writes, reads, forgets, pries into others, and checks all that it is told."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from astrbot_plugin_scoped_memory.llm_memory import (
    EngineClosed,
    Expanded,
    Forgotten,
    MemoryDraft,
    MemoryKind,
    Reinforced,
    Rejected,
    Restored,
    Stored,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.tests.support.load.cast import (
    CONVERSATIONS,
    Mark,
    conversation,
    marks_in,
    question,
    scope_of,
    speaker,
    visible_to,
)
from astrbot_plugin_scoped_memory.tests.support.load.ledger import Fate, Line
from astrbot_plugin_scoped_memory.tests.support.load.stage import Scene, Stage
from astrbot_plugin_scoped_memory.tests.support.load.voice import say

_LIMIT = 20
_BUDGET = 20_000


@dataclass
class Common:
    """What all conversations of a process share."""

    stage: Stage
    life: int
    serials: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    pointers: list[tuple[str, str]] = field(default_factory=list)
    """(memory id, scope) of everything that was ever acknowledged."""


def cast(common: Common, seed: int, ledger: Iterable[Line]) -> list[Player]:
    """All conversations, each with what it wrote in earlier lives."""
    known = defaultdict[str, list[Line]](list)
    for line in ledger:
        known[line.owner].append(line)
        common.pointers.append((line.memory_id, line.scope))
    return [
        Player(number, common, seed, known[conversation(number).umo])
        for number in range(CONVERSATIONS)
    ]


class Player:
    """Its person alone forgets what it wrote, so it knows what is there at any moment."""

    def __init__(self, number: int, common: Common, seed: int, known: Iterable[Line]) -> None:
        self._where = conversation(number)
        self._who = speaker(number)
        self._common = common
        self._chance = random.Random(f"{seed}-{number}")
        self._texts: dict[str, str] = {}
        self._lines = {line.serial: line for line in known}

    async def play(self, pause: float, *, only_writes: bool) -> None:
        """Until cancelled."""
        acts: list[tuple[Callable[[Scene], Awaitable[str]], float]] = [
            (self._remember, 30),
            (self._recall, 25),
            (self._newest, 8),
            (self._expand, 8),
            (self._pry, 10),
            (self._forget, 8),
            (self._restore, 6),
            (self._say_it_again, 5),
        ]
        weights = [weight for _, weight in acts]
        while True:
            act = self._remember if only_writes else self._choose(acts, weights)
            name = act.__name__.strip("_")
            scene = self._common.stage.scene
            try:
                outcome = await act(scene)
            except EngineClosed:
                outcome = "closed"
                await self._common.stage.turned(scene)
            say("did", act=name, outcome=outcome)
            # Without a pause the other conversations still get their turn.
            await asyncio.sleep(pause * self._chance.random())

    def _choose(
        self, acts: list[tuple[Callable[[Scene], Awaitable[str]], float]], weights: list[float]
    ) -> Callable[[Scene], Awaitable[str]]:
        return self._chance.choices(acts, weights)[0][0]

    async def _remember(self, scene: Scene) -> str:
        umo, common = self._where.umo, self._common
        scope = scope_of(umo, scene.scope_map)
        mark = Mark(scope or "nowhere", f"{common.life}-{next(common.serials)}")
        text = mark.on(self._chance)
        draft = MemoryDraft(
            text,
            reasoning="说过的话" * self._chance.randint(0, 12),
            tags=("生活", "工作")[: self._chance.randint(0, 2)],
            kind=self._chance.choice(list(MemoryKind)),
            actor=self._who,
        )
        outcome = await scene.service.remember(draft, conversation_id=self._where)
        match outcome:
            case Stored(stored):
                self._keep(mark, text, stored)
                if stored.scope.name != scope:
                    say("misplaced", serial=mark.serial, scope=stored.scope.name, wanted=scope)
                return "stored"
            case Rejected(reason):
                if scope is not None:
                    say("refused", serial=mark.serial, reason=str(reason), detail=outcome.detail)
                return f"rejected: {reason}"
            case _:
                say("wrong", act="remember", serial=mark.serial, outcome=type(outcome).__name__)
                return "wrong"

    def _keep(self, mark: Mark, text: str, stored: StoredMemory) -> None:
        memory_id = stored.memory.memory_id
        line = Line(mark.serial, mark.scope, self._where.umo, memory_id)
        say(
            "stored",
            serial=line.serial,
            scope=line.scope,
            owner=line.owner,
            memory_id=memory_id,
        )
        self._lines[mark.serial] = line
        self._texts[mark.serial] = text
        self._common.pointers.append((memory_id, mark.scope))

    async def _recall(self, scene: Scene) -> str:
        serial = self._pick(Fate.LIVING, scene, texts=True)
        asked = self._texts[serial] if serial else question(self._chance)
        recall = await scene.service.recall(
            asked, conversation_id=self._where, limit=5, token_budget=_BUDGET
        )
        self._look("recall", scene, ((hit.preview, hit.scope_name) for hit in recall.hits))
        if serial is None:
            return str(recall.trace.arm)
        found = any(mark.serial == serial for hit in recall.hits for mark in marks_in(hit.preview))
        return f"{recall.trace.arm}, {'found' if found else 'not found'}"

    async def _newest(self, scene: Scene) -> str:
        newest = await scene.service.newest(conversation_id=self._where, limit=_LIMIT)
        self._look("newest", scene, ((s.memory.judgment, s.scope.name) for s in newest))
        return "listed"

    async def _expand(self, scene: Scene) -> str:
        """Its own, which must be there."""
        serial = self._pick(Fate.LIVING, scene)
        if serial is None:
            return "nothing yet"
        line = self._lines[serial]
        found = await scene.service.expand(line.memory_id, conversation_id=self._where)
        if not isinstance(found, Expanded):
            say("missing", serial=serial, scope=line.scope)
            return "missing"
        stored = found.memory
        self._look("expand", scene, [(stored.memory.judgment, stored.scope.name)])
        return "expanded"

    async def _pry(self, scene: Scene) -> str:
        """Read and forget by the id of a memory of another scope."""
        seen = visible_to(self._where.umo, scene.scope_map)
        others = self._common.pointers
        memory_id, scope = self._chance.choice(others) if others else ("m-none", "nowhere")
        if scope in seen:
            return "own scope"
        found = await scene.service.expand(f"x.md#{memory_id}", conversation_id=self._where)
        if isinstance(found, Expanded):
            stored = found.memory
            self._look("pry", scene, [(stored.memory.judgment, stored.scope.name)])
        gone = await scene.service.forget(memory_id, conversation_id=self._where, actor=self._who)
        back = await scene.service.restore(memory_id, conversation_id=self._where, actor=self._who)
        if isinstance(gone, Forgotten) or isinstance(back, Restored):
            say("leak", act="pry", scope=scope, seen=sorted(seen))
        return "refused"

    async def _forget(self, scene: Scene) -> str:
        return await self._change(
            scene, Fate.LIVING, scene.service.forget, Forgotten, Fate.FORGOTTEN
        )

    async def _restore(self, scene: Scene) -> str:
        return await self._change(
            scene, Fate.FORGOTTEN, scene.service.restore, Restored, Fate.LIVING
        )

    async def _change(
        self,
        scene: Scene,
        before: Fate,
        ask: Callable[..., Awaitable[object]],
        wanted: type[object],
        after: Fate,
    ) -> str:
        serial = self._pick(before, scene)
        if serial is None:
            return "nothing yet"
        line = self._lines[serial]
        say("asked", serial=serial)
        try:
            outcome = await ask(line.memory_id, conversation_id=self._where, actor=self._who)
        except EngineClosed:  # nothing was done
            say("became", serial=serial, fate=line.fate)
            raise
        allowed = scope_of(self._where.umo, scene.scope_map) == line.scope
        done = isinstance(outcome, wanted)
        if done:
            line.fate = after
        say("became", serial=serial, fate=line.fate)
        told = type(outcome).__name__
        if done is not allowed:
            say("wrong", act=wanted.__name__, serial=serial, outcome=told, allowed=allowed)
            return "wrong"
        return told

    async def _say_it_again(self, scene: Scene) -> str:
        serial = self._pick(Fate.LIVING, scene, texts=True)
        if serial is None or self._lines[serial].scope != scope_of(
            self._where.umo, scene.scope_map
        ):
            return "nothing yet"
        outcome = await scene.service.remember(
            MemoryDraft(self._texts[serial], actor=self._who), conversation_id=self._where
        )
        if not isinstance(outcome, Reinforced):
            say("wrong", act="again", serial=serial, outcome=type(outcome).__name__)
        return type(outcome).__name__

    def _pick(self, fate: Fate, scene: Scene, *, texts: bool = False) -> str | None:
        """One of its own that it can see now; for ``texts``, one whose words it still knows."""
        seen = visible_to(self._where.umo, scene.scope_map)
        serials = [
            line.serial
            for line in self._lines.values()
            if line.fate is fate
            and line.scope in seen
            and (not texts or line.serial in self._texts)
        ]
        return self._chance.choice(serials) if serials else None

    def _look(self, act: str, scene: Scene, shown: Iterable[tuple[str, str]]) -> None:
        """Every text shown must be of a scope that this conversation may see."""
        seen = visible_to(self._where.umo, scene.scope_map)
        for text, scope in shown:
            for mark in marks_in(text):
                if mark.scope not in seen or scope != mark.scope:
                    say("leak", act=act, scope=scope, text=text[:80], seen=sorted(seen))
