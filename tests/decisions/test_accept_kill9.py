"""Fifty accepts of five command lines at once, a person who saves the file all the time, and
whoever has the store open killed at any write: no number comes twice, nothing is lost or doubled,
and the person's words stay."""

from __future__ import annotations

import asyncio
import random
import re
import signal
import subprocess
import sys
import threading
import time
from itertools import chain, repeat
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    is_accepted,
    proposal_key,
    proposal_of,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.decision_record import records_of
from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signal"),
]

ACCEPTING = program.PROGRAMS / "accepting.py"
PROPOSALS, LINES = 50, 5
KEEPERS_KILLED, LINES_KILLED = 2, 2
NEWLINE = "\r\n"
MOMENTS = 160
"""Writes of about eight accepts."""
_OURS = re.compile(r"## D-|> 已接受|第\d+件为什么")


class Editor(threading.Thread):
    """A person who saves the file again and again: by renaming another one over it, or by emptying
    and writing it; with a new line at its beginning or end."""

    def __init__(self, path: Path, newline: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.path, self._newline = path, newline
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self.top, self.end = ["# 决定", "人写的"], list[str]()
        path.parent.mkdir(parents=True)
        path.write_bytes(newline.join((*self.top, "")).encode())

    def run(self) -> None:
        number = 0
        while not self._stopped.wait(self._random.uniform(0.03, 0.1)):
            number += 1
            line = f"人写的第{number}行"
            with self.path.open(encoding="utf-8", newline="") as file:
                text = file.read()
            # What is saved may be old by then.
            self._stopped.wait(self._random.choice((0, 0, 0.05)))
            if self._random.random() < 0.5:
                head, mark, rest = text.partition(f"{self.top[-1]}{self._newline}")
                text = f"{head}{mark}{line}{self._newline}{rest}"
                self.top.append(line)
            else:
                text = f"{text}{line}{self._newline}"
                self.end.append(line)
            self._save(text.encode())

    def _save(self, raw: bytes) -> None:
        if self._random.random() < 0.5:
            self.path.write_bytes(raw)
            return
        beside = self.path.with_name(".DECISIONS.md.swp")
        beside.write_bytes(raw)
        beside.replace(self.path)

    def stop(self) -> None:
        """Returns once nothing is saved any more."""
        self._stopped.set()
        self.join(30)


def propose(home: Path) -> list[str]:
    """Fifty proposals, as people write them. Returns their ids."""
    ids = [f"m-{number:04d}accepting" for number in range(PROPOSALS)]
    entries = (
        f"## 第{n}件事用方案{n * 7} ^{memory_id}\n> 状态：提议\n\n第{n}件为什么这样定。\n"
        for n, memory_id in enumerate(ids)
    )
    file = home / "memory" / "scopes" / "public" / "decisions.md"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(entries), "utf-8")
    return ids


class Keeper(threading.Thread):
    """Has the store open, and is killed and started anew; the last time it is not killed."""

    def __init__(self, moments: list[int]) -> None:
        super().__init__(daemon=True)
        self._moments = moments
        self._ended = threading.Event()
        self.opened = threading.Event()
        self.deaths = 0
        self.errors = ""

    def run(self) -> None:
        for at in (*self._moments, 0):
            process = program.start(ACCEPTING, at, stdin=subprocess.PIPE)
            assert process.stdout is not None
            if process.stdout.readline():
                self.opened.set()
            while process.poll() is None and not self._ended.wait(0.05):
                pass
            _, self.errors = process.communicate("", 60)
            self.deaths += process.returncode == -signal.SIGKILL
            if self._ended.is_set():
                return

    def stop(self) -> None:
        """Returns once the store is closed."""
        self._ended.set()
        self.join(60)


def accept(ids: list[str], at: int, acknowledged: dict[str, int]) -> None:
    """Accept them at a command line, which is killed at this write, if it ever writes, and started
    anew. What was told never changes."""
    while left := [memory_id for memory_id in ids if memory_id not in acknowledged]:
        process = program.start(ACCEPTING, at, *left)
        assert process.stdout is not None
        for line in process.stdout:
            number, memory_id = line.split()
            acknowledged[memory_id] = int(number)
        _, errors = process.communicate(timeout=300)
        assert process.returncode in (0, -signal.SIGKILL), errors[-4000:]
        at = 0


async def test_fifty_accepts_beside_a_person_who_saves(
    own_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own_user)
    monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", "zh")
    home = own_user / "memories"
    ids = propose(home)
    path = home / "memory" / "shared" / "DECISIONS.md"
    editor = Editor(path, NEWLINE, seed=1)
    editor.start()
    moments = random.Random(1)
    keeper = Keeper([moments.randint(30, MOMENTS) for _ in range(KEEPERS_KILLED)])
    keeper.start()
    assert await asyncio.to_thread(keeper.opened.wait, 60)
    acknowledged: dict[str, int] = {}
    killed = [moments.randint(1, MOMENTS) for _ in range(LINES_KILLED)]
    asking = (
        asyncio.to_thread(accept, ids[n::LINES], at, acknowledged)
        for n, at in zip(range(LINES), chain(killed, repeat(0)), strict=False)
    )
    await asyncio.gather(*asking)
    assert keeper.deaths > 0
    time.sleep(0.2)
    editor.stop()

    def text() -> str:
        return path.read_bytes().decode()

    await until_true(lambda: len(records_of(text())) >= PROPOSALS, within=300)
    await asyncio.to_thread(keeper.stop)
    assert "Traceback" not in keeper.errors, keeper.errors[-4000:]

    found = [one.record for one in records_of(text())]
    assert len({record.number for record in found}) == PROPOSALS == len(found)
    numbers = {record.proposal: record.number for record in found}
    for memory_id, number in acknowledged.items():
        assert numbers[proposal_key(memory_id)] == number
    # Byte for byte: each line of the person's with its own line end. A record may have another one,
    # where the editor had just emptied the file.
    lines = [f"{line}\n" for line in text().split("\n")]
    own = [line for line in lines if line.strip() and not _OURS.match(line)]
    assert sorted(own) == sorted(f"{line}{NEWLINE}" for line in (*editor.top, *editor.end))
    top = {f"{line}{NEWLINE}" for line in editor.top}
    assert [line for line in own if line in top] == [f"{line}{NEWLINE}" for line in editor.top]
    async with running(home, words_alone=True) as rig:
        for stored in rig.engine.rooms.catalogue.all():
            proposal = proposal_of(stored.memory)
            assert proposal is not None
            assert is_accepted(stored.memory)
            assert proposal.number == numbers[proposal_key(stored.memory.memory_id)]
    assert list(path.parent.iterdir()) == [path], "nothing of ours is left beside the file"
