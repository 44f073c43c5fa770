"""An engine that hears turns and has them read; run as a program of its own, and killed.

    python run.py reflecting_child.py ROOT FIRST LAST POINT

says ``said N`` for each turn that is queued, and ``done COUNT`` at the end, when nothing waits any
more: how many points there were at which a kill makes a difference (deaths.py). At the POINT-th of
them it kills itself with SIGKILL; at none for 0.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections import Counter
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import ReflectionReport, Ticket, Turn
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, private, running
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.programs.deaths import Deaths
from astrbot_plugin_scoped_memory.tests.support.reflecting import with_loop

PLACES = ((group(777), "家人"), (group(888), "公司"), (private(5), "public"))
_EACH_MOVES = 4
"""Every so many turns of a place take back what was said there before."""


def words(number: int) -> str:
    """What is said in a turn: where a key is, or where the one before has gone."""
    if moves(number):
        return f"第{number - len(PLACES)}号钥匙换到柜子{number}里了"
    return f"第{number}号钥匙放在抽屉{number}里"


def moves(number: int) -> bool:
    """Whether this turn takes back the one before it in the same place."""
    return number // len(PLACES) % _EACH_MOVES == _EACH_MOVES - 1


def read(call: Call) -> str:
    """The reader: a memory a turn; a contradiction where the old one is shown to it."""
    known = {
        line["text"]: line["id"]
        for line in _lines(call.prompt.partition("<known>")[2].partition("</known>")[0])
    }
    new, contradictions = [], []
    for line in _lines(call.prompt.partition("<turns>")[2].partition("</turns>")[0]):
        memory = {"judgment": line["said"], "turn": line["turn"], "who": line["who"]}
        key = re.match(r"第(\d+)号钥匙换到", line["said"])
        old = known.get(words(int(key[1]))) if key else None
        if old:
            contradictions.append({"old_id": old, "new": memory})
        else:
            new.append(memory)
    answer = {"new_memories": new, "contradictions": contradictions}
    return json.dumps(answer, ensure_ascii=False)


def _lines(text: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in text.strip().split("\n") if line]


async def live(root: Path, first: int, last: int, point: int) -> None:
    """Say the turns that are left, and have all that waits read meanwhile."""
    deaths = Deaths(point)
    deaths.watch()
    chat = ScriptedChat(otherwise=read)
    settings = with_loop(after_turns=1, retry_seconds=(0.0,))
    async with running(root, chat=chat, settings=settings, follow=False, words=NoWords()) as rig:
        deaths.armed = True
        for number in range(first, last):
            await _say(rig, number)
            if number % 5 == 4:
                await _read(rig)
        while (await _read(rig)).waiting:
            pass
        deaths.armed = False
        program.say(f"done {deaths.count}")


async def _say(rig: Rig, number: int) -> None:
    where, _ = PLACES[number % len(PLACES)]
    before = words(number - len(PLACES)) if moves(number) else None
    recalled = tuple(
        stored.memory.memory_id
        for stored in rig.engine.rooms.catalogue.all()
        if stored.memory.judgment == before
    )
    turn = Turn(person(5, "小明"), words(number), "好的", recalled)
    assert isinstance(await rig.engine.service.observe(turn, conversation_id=where), Ticket)
    program.say(f"said {number}")


async def _read(rig: Rig) -> ReflectionReport:
    return await rig.engine.loop.reflection.read_due()


class Child:
    """The program, started by a test. ``said`` is the number of the last turn that was queued;
    ``points`` counts those of a life that came to its end."""

    def __init__(self, root: Path, first: int, last: int, point: int = 0) -> None:
        self.said = first - 1
        self.points: int | None = None
        self._process = program.start(__file__, root, first, last, point)

    def ends(self) -> str:
        """``killed``, ``done``, or what went wrong."""
        out, errors = self._process.communicate(timeout=240)
        for line in out.split("\n"):
            self._heard(line.strip())
        if self._process.returncode == -signal.SIGKILL:
            return "killed"
        return errors if self.points is None else "done"

    def _heard(self, line: str) -> None:
        word, _, number = line.partition(" ")
        if word == "said":
            self.said = int(number)
        elif word == "done":
            self.points = int(number)


def faults(root: Path, count: int) -> list[str]:
    """What is not as it must be after ``count`` turns: each lesson once, in the scope in which it
    was said, alive, or in the archive if a later one took its place."""
    vault = MarkdownVault(
        root / "memory", SqliteLedger(root / "state" / "vault.sqlite"), make_id=lambda _: "m-x"
    )
    vault.open()
    living: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    for scope in vault.scopes():
        content = vault.read(scope)
        wrong += [f"broken: {report}" for report in content.broken]
        living[scope.name] = Counter(stored.memory.judgment for stored in content.memories)
    for number in range(count):
        _, name = PLACES[number % len(PLACES)]
        archive = root / "memory" / "scopes" / name / "archive"
        text = words(number)
        # The archive is written before the file: a kill in between leaves a second copy there,
        # of the same entry.
        copies = (path.read_text("utf-8") for path in archive.rglob("*.md"))
        archived = len(
            {one for copy in copies for one in re.findall(rf"## {text} \^(m-\w+)", copy)}
        )
        alive = living.get(name, Counter())[text]
        taken_back = number + len(PLACES) < count and moves(number + len(PLACES))
        if alive + archived != 1 or (archived and not taken_back):
            wrong.append(f"{text}: {alive} alive, {archived} in the archive of {name}")
    strangers = sum(living.values(), Counter()) - Counter(map(words, range(count)))
    wrong += [f"nobody said {text}" for text in strangers]
    wrong += [f"left over: {path}" for path in (root / "memory").rglob("*.tmp*")]
    vault.ledger.close()
    return wrong


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), *map(int, sys.argv[2:5])))
