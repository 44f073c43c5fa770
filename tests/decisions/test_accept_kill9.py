"""Fifty accepts at once, a person who saves the file all the time, and a process that is killed at
any write: no number comes twice, nothing is lost or doubled, and the person's words stay."""

from __future__ import annotations

import asyncio
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, Stored
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    is_accepted,
    proposal_key,
    proposal_of,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.decision_record import records_of
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signal"),
]

DECIDING = program.PROGRAMS / "deciding.py"
PROPOSALS, KILLS, MOMENTS = 50, 6, 160
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


async def propose(root: Path) -> None:
    """Fifty proposals of one family."""
    async with running(root, words_alone=True) as rig:
        for number in range(PROPOSALS):
            draft = MemoryDraft(
                f"第{number}件事用方案{number * 7}",
                f"第{number}件为什么这样定。",
                actor=person(10001),
                proposed=True,
            )
            outcome = await rig.engine.service.remember(draft, conversation_id=group(777))
            assert isinstance(outcome, Stored), outcome


def killed(root: Path, at: int, acknowledged: dict[str, int]) -> bool:
    """Let it run until it is killed at this write, or was done before. Returns which."""
    process = program.start(DECIDING, root, at, stdin=subprocess.PIPE)
    done = read(process, acknowledged)
    process.kill()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors[-4000:]
    return not done


def read(process: subprocess.Popen[str], acknowledged: dict[str, int]) -> bool:
    """All that it acknowledges until it is done or dead. What was told never changes."""
    assert process.stdout is not None
    for line in process.stdout:
        if line == "done\n":
            return True
        number, memory_id = line.split()
        assert acknowledged.setdefault(memory_id, int(number)) == int(number)
    return False


@pytest.mark.parametrize(("seed", "newline"), [(1, "\n"), (2, "\r\n")])
async def test_fifty_accepts_beside_a_person_who_saves(
    tmp_path: Path, seed: int, newline: str
) -> None:
    await propose(tmp_path)
    path = tmp_path / "memory" / "shared" / "DECISIONS.md"
    editor = Editor(path, newline, seed)
    editor.start()
    moments = random.Random(seed)
    acknowledged: dict[str, int] = {}
    deaths = [
        await asyncio.to_thread(killed, tmp_path, moments.randint(1, MOMENTS), acknowledged)
        for _ in range(KILLS)
    ]
    assert any(deaths)
    process = program.start(DECIDING, tmp_path, 0, stdin=subprocess.PIPE)
    assert await asyncio.to_thread(read, process, acknowledged)
    time.sleep(0.2)
    editor.stop()

    def text() -> str:
        return path.read_bytes().decode()

    await until_true(lambda: len(records_of(text())) >= PROPOSALS)
    out, errors = await asyncio.to_thread(process.communicate, "", 60)
    assert (process.returncode, out) == (0, ""), errors[-4000:]

    found = [one.record for one in records_of(text())]
    assert len({record.number for record in found}) == PROPOSALS == len(found)
    numbers = {record.proposal: record.number for record in found}
    for memory_id, number in acknowledged.items():
        assert numbers[proposal_key(memory_id)] == number
    # Byte for byte: each line of the person's with its own line end. A record may have another one,
    # where the editor had just emptied the file.
    lines = [f"{line}\n" for line in text().split("\n")]
    own = [line for line in lines if line.strip() and not _OURS.match(line)]
    assert sorted(own) == sorted(f"{line}{newline}" for line in (*editor.top, *editor.end))
    top = {f"{line}{newline}" for line in editor.top}
    assert [line for line in own if line in top] == [f"{line}{newline}" for line in editor.top]
    async with running(tmp_path, words_alone=True) as rig:
        for stored in rig.engine.rooms.catalogue.all():
            proposal = proposal_of(stored.memory)
            assert proposal is not None
            assert is_accepted(stored.memory)
            assert proposal.number == numbers[proposal_key(stored.memory.memory_id)]
    assert list(path.parent.iterdir()) == [path], "nothing of ours is left beside the file"
