"""A real disk of some megabytes under an index: nearly full, and full.

Runs in a process of its own, with mounts of its own that end with it:

    python run.py small_index_disk.py FOLDER

prints a JSON object with what was found in each phase, or ends with status 77 and a reason where
nothing may be mounted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    WORK,
    answered,
    assert_recovered,
    chroma_in,
    until_said,
    words,
    write_files,
)
from astrbot_plugin_scoped_memory.tests.support.programs.small_disk import fill, mount, own_mounts

_ROOM = 96 << 20
"""64 MB of it stay free: see ``index/chroma/program.py``."""
_KNOWN = words(3, "家里")


def take(path: Path, size: int) -> None:
    """So many bytes are somebody else's."""
    with path.open("wb") as file:
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))


async def told(rig: Rig, *texts: str) -> dict[str, Any]:
    """What each is answered with, and whether another scope sees any of it."""
    others = [hit.preview for text in texts for hit in (await rig.recall(text, WORK)).hits]
    return {
        "cause": "full",
        "answers": [(await answered(rig, text))[1] == text for text in texts],
        "leaked": sorted(set(others) & set(texts)),
    }


async def play(root: Path) -> dict[str, Any]:
    """All phases."""
    index = root / "index"
    index.mkdir(parents=True)
    write_files(root / "memory")
    own_mounts()
    mount("-t", "tmpfs", "-o", f"size={_ROOM}", "tmpfs", str(index))
    ballast, rest = index / "ballast", index / "rest"
    found: dict[str, Any] = {}
    texts: list[str] = []
    async with running(root, store=chroma_in(root)) as rig:
        await rig.until_indexed()
        take(ballast, 40 << 20)
        texts.append("奶奶对花生过敏")
        await rig.remember(texts[-1], FAMILY)
        await until_said(rig, "index_full")
        found["nearly full"] = await told(rig, _KNOWN, *texts)

        fill(rest)
        texts.append("奶奶喜欢豆浆")
        await rig.remember(texts[-1], FAMILY)
        found["full"] = await told(rig, _KNOWN, *texts)
    async with running(root, store=chroma_in(root)) as rig:
        found["full at the start"] = await told(rig, _KNOWN, *texts)
        rest.unlink()
        ballast.unlink()
        await assert_recovered(rig, *texts)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(play(Path(sys.argv[1]))), ensure_ascii=False))
