"""Killed at any moment of any deed, and again while it starts: what was acknowledged is there, the
deed is done or not done, or some of its steps are; nothing is lost, doubled or left over; and done
again, all is as if nobody had killed it."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.laws.kill_deed import Opening
from astrbot_plugin_scoped_memory.tests.laws.kill_facts import Facts
from astrbot_plugin_scoped_memory.tests.laws.kill_table import DEEDS, faults
from astrbot_plugin_scoped_memory.tests.laws.moments import Copies, watched
from astrbot_plugin_scoped_memory.tests.support.programs import program

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

SOME = 6
"""Up to twice as many moments of each deed are looked at; all of them in the soak."""
# fmt: off
KINDS = {
    "Remember", "Forget", "Purge", "Edit", "Move", "UndoForget", "TaskDone", "Observe",
    "Reflect", "Night", "Export", "Import", "PauseConversation", "AcceptDecision", "NoteRole",
    "SoulApply", "ChangeMap", "Bring", "Rebind", "Upgrade", "Adopt", "MigrateScopes",
}
# fmt: on
"""Of each kind of deed one is also killed in earnest; each deed in the soak."""
DYING = Path(__file__).with_name("dying.py")


@pytest.mark.parametrize(
    "most", [SOME, pytest.param(None, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
@pytest.mark.parametrize("name", DEEDS)
async def test_a_folder_as_it_lies_at_any_moment_of_a_deed(
    tmp_path: Path, name: str, most: int | None
) -> None:
    deed, root, played = DEEDS[name], tmp_path / "own", list[Copies]()
    root.mkdir()
    await deed.prepare(root)
    with watched() as watch:

        @contextlib.contextmanager
        def window() -> Iterator[Copies]:
            left = tmp_path / "left"
            with watch.copying(root, left, most=most, torn=deed.torn) as copies:
                played.append(copies)
                yield copies

        start, whole = await deed.play(root, window)
    moments = list(played[0])
    middle, started = moments[len(moments) // 2], tmp_path / "started"
    shutil.copytree(middle.root, started, symlinks=True)
    for one in moments:
        ended = one is moments[-1]
        wrong = await faults(deed, one.root, start, whole, one.acknowledged, ended=ended)
        assert wrong == [], f"moment {one.number} of {played[0].count} {one.torn}"
    assert len(moments) > 1, "it wrote nothing"
    assert isinstance(deed, Opening) or start != whole, "it did nothing"
    with watched() as watch, watch.copying(started, tmp_path / "again", most=most and 1) as twice:
        async with deed.engine(started):
            pass
    for one in twice:
        wrong = await faults(deed, one.root, start, whole, middle.acknowledged, ended=False)
        assert wrong == [], f"moment {middle.number}, and moment {one.number} of the next start"
    unsynced = [name for name in played[0].unsynced if name.startswith("memory/")]
    assert unsynced == [], "acknowledged, and a power cut may take it"


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
@pytest.mark.parametrize(
    "name",
    [name if name in KINDS else pytest.param(name, marks=pytest.mark.soak) for name in DEEDS],
)
async def test_a_program_that_is_really_killed_in_a_deed(tmp_path: Path, name: str) -> None:
    share = list(DEEDS).index(name) * 0.618 % 1  # spread over the deeds, the same at each run
    process = program.start(DYING, name, tmp_path, share)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors[-4000:]
    facts, *acknowledged = out.splitlines()
    start, whole = map(_as_facts, json.loads(facts))
    wrong = await faults(DEEDS[name], tmp_path / "own", start, whole, acknowledged, ended=False)
    assert wrong == []


def _as_facts(lines: list[tuple[str, str, str, int]]) -> Facts:
    return Counter({(kind, where, what): count for kind, where, what, count in lines})
