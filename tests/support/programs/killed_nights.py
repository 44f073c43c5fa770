"""A night that is killed again and again, compared with one that nobody disturbed."""

from __future__ import annotations

import random
import shutil
import signal
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.consolidation.decay_step import AT_ONCE
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.marked_block import Marked, read
from astrbot_plugin_scoped_memory.tests.support.nights import (
    entries,
    find_useful,
    find_useless,
    loop_stores,
    passive,
    plant,
    say,
    strengths,
)
from astrbot_plugin_scoped_memory.tests.support.programs import program

BOT = Path(__file__).with_name("night_bot.py")
SCOPES = ("public", "家人", "公司")
_SECONDS = 120
_EVENING = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
_SAID = ("今天很好", "明天再说")
"""Too little to be read for: it waits."""


def make_store(root: Path) -> None:
    """Three scopes with the same words: some to fade, some to leave, some that say one thing."""
    for place, scope in enumerate(SCOPES):
        first = 1000 * place
        tiers = (9, 10, 11, 30, 45, 60, 90)
        fading = [passive(first + n, f"第{n}件小事", strength=s) for n, s in enumerate(tiers)]
        kept = [passive(first + 100 + n, f"第{n}件大事", strength=60) for n in range(12)]
        twice = [
            passive(first + 200, "小明喜欢喝乌龙茶", strength=70),
            passive(first + 201, "小明爱喝乌龙茶", strength=30),
        ]
        plant(root, scope, "patterns.md", fading)
        plant(root, scope, "journal/2026-10-01.md", kept)
        plant(root, scope, "preferences.md", twice)
        vouched = passive(first + 300, "周五前交房租", active=True, trusted=True)
        plant(root, scope, "TASKS.md", [vouched])
        find_useless(root, scope, *fading, times=2)
        find_useful(root, scope, *kept[:4])
        say(root, scope, *_SAID, at=_EVENING)


def bot(root: Path, kill_at: int) -> tuple[bool, int]:
    """Whether it was killed, and how many writes it counted if not."""
    process = program.start(BOT, root, kill_at)
    out, errors = process.communicate(timeout=_SECONDS)
    if process.returncode == -signal.SIGKILL:
        return True, 0
    assert process.returncode == 0, errors[-4000:]
    return False, int(out.split()[-1])


@dataclass(frozen=True)
class After:
    """What a night leaves: for each scope what lives, how strong, and what left."""

    living: dict[str, dict[str, int]]
    gone: dict[str, frozenset[str]]


def look(root: Path) -> tuple[After, list[str]]:
    """What stands in the files, and what is wrong with them."""
    faults = []
    living, gone = {}, {}
    for scope in SCOPES:
        found, archived = entries(root, scope), entries(root, scope, archived=True)
        faults += [f"{scope}: {name} twice" for name, some in found.items() if len(some) > 1]
        faults += [f"{scope}: {name} lives and left" for name in found.keys() & archived.keys()]
        living[scope], gone[scope] = strengths(root, scope), frozenset(archived)
        for name in ("MEMORY.md", "PRIMER.md"):
            text = (root / "memory" / "scopes" / scope / name).read_text("utf-8")
            if not isinstance(read(text), Marked):
                faults.append(f"{scope}/{name}: half")
    for made in (root / "backups" / "daily").iterdir():
        if not made.read_text("utf-8").splitlines()[-1].startswith('{"type": "end"'):
            faults.append(f"{made.name}: half")
    with loop_stores(root) as stores:
        if stores.turns.size().waiting != len(SCOPES) * len(_SAID):
            faults.append("turns that wait to be read were touched")
        if any(stores.book.evidence(scope) for scope in SCOPES):
            faults.append("evidence is left")
        if stores.nights.is_unfinished():
            faults.append("the night has no end")
    return After(living, gone), faults


class KilledNights:
    """One undisturbed night to compare with, then as many others as are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = folder / "store"
        make_store(self._store)
        root = self._copy("undisturbed")
        killed, self.writes = bot(root, 0)
        assert not killed
        self.expected, faults = look(root)
        assert faults == []

    def _copy(self, name: str) -> Path:
        root = self._folder / name
        shutil.copytree(self._store, root)
        return root

    def disturbed(self, seed: int, kills: int) -> list[str]:
        """A night that is killed so often; what is wrong when it has come to its end."""
        chance = random.Random(seed)
        root = self._copy(f"killed-{seed}")
        left = [chance.randrange(1, self.writes) for _ in range(kills)] + [0]
        while bot(root, left.pop(0))[0]:  # later kills may come after the end
            pass
        found, faults = look(root)
        kept = []
        for scope in SCOPES:
            living, expected = found.living[scope], self.expected.living[scope]
            before = strengths(self._store, scope)
            odd = {name for name, _ in living.items() ^ expected.items()}
            kept += [name for name in odd if living.get(name) == before[name]]
            if odd - set(kept) or found.gone[scope] != self.expected.gone[scope]:
                faults.append(f"{scope}: {sorted(odd)} {sorted(found.gone[scope])}")
        if len(kept) > kills * AT_ONCE:
            faults.append(f"not weighed: {sorted(kept)}")
        shutil.rmtree(root)
        return faults
