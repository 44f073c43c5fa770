"""A process that changes a soul again and again is killed at any write: what it acknowledged last
is in force, or the text after that; never another one, and never a mixture."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.soul_requests import SoulVerified, VerifySoul
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, SEED, Souls, numbered

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="no such signal"),
]

EVOLVING = program.PROGRAMS / "evolving.py"
KILLS, MOMENTS = 4, 90


async def test_a_process_that_is_killed_again_and_again(tmp_path: Path) -> None:
    moments = random.Random(44)
    in_force = SEED.decode()
    for _ in range(KILLS):
        process = program.start(EVOLVING, tmp_path, moments.randint(1, MOMENTS))
        out, errors = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, errors[-4000:]
        for _ in out.splitlines():
            in_force = numbered(in_force)
        souls = Souls(tmp_path)
        await souls.gov.recover()
        view = await souls.view()
        assert view.text in (in_force, numbered(in_force))
        assert souls.page().read_bytes() == view.text.encode()
        assert not view.by_hand
        found = await souls.gov.read(VerifySoul(), CAT, ADMIN)
        assert isinstance(found, SoulVerified)
        assert (found.line, found.why) == (0, "")
        in_force = view.text
        souls.state.close()
    assert in_force != SEED.decode()
