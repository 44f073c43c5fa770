"""A deed of the kill table, by a program that is killed in it.

    python run.py dying.py NAME FOLDER SHARE

says in a line of JSON what the facts are before and after the deed, and then a line for each fact
that is acknowledged; and ends by SIGKILL at that share, 0 to 1, of the moments at which a kill
makes a difference. FOLDER/own is what it leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from astrbot_plugin_scoped_memory.tests.laws.kill_deed import Window
from astrbot_plugin_scoped_memory.tests.laws.kill_table import DEEDS
from astrbot_plugin_scoped_memory.tests.laws.moments import Watch, watched
from astrbot_plugin_scoped_memory.tests.support.programs import program


class Mortal:
    """Counts the moments, and dies at one of them; at none for 0."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.count = 0

    def look(self) -> None:
        """One of the moments."""
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def acknowledge(self, *facts: str) -> None:
        """To whoever started this process."""
        for fact in facts if self.at else ():
            program.say(fact)


def living_in(watch: Watch, mortal: Mortal) -> Window:
    """What may be cut off."""

    @contextlib.contextmanager
    def window() -> Iterator[Mortal]:
        with watch.telling(mortal.look):
            yield mortal

    return window


async def main(name: str, folder: Path, share: float) -> None:
    deed, own, whole = DEEDS[name], folder / "own", folder / "whole"
    await deed.prepare(own)
    shutil.copytree(own, whole, symlinks=True)
    with watched() as watch:
        undisturbed = Mortal()
        facts = await deed.play(whole, living_in(watch, undisturbed))
        told = [[[*fact, count] for fact, count in one.items()] for one in facts]
        program.say(json.dumps(told, ensure_ascii=False))
        at = 1 + int(share * (undisturbed.count - 1))
        await deed.play(own, living_in(watch, Mortal(at)))
    os.kill(os.getpid(), signal.SIGKILL)  # it had fewer moments this time: right after its end


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
