"""A real disk of some megabytes under an index: nearly full, full, and full in the middle of a
write of Chroma's.

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

from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.index.vector.write_pace import WritePace
from astrbot_plugin_scoped_memory.llm_memory.storage.disk_space import RESERVE, DiskSpace
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    WORK,
    Tried,
    answered,
    assert_recovered,
    until_said,
    words,
    write_files,
)
from astrbot_plugin_scoped_memory.tests.support.programs.small_disk import fill, mount, own_mounts

_ROOM = RESERVE + (32 << 20)
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
    async with running(root, store=Tried(root)) as rig:
        await rig.until_indexed()
        take(ballast, 40 << 20)
        await asyncio.sleep(1.1)  # how full it is, is asked once a second
        texts.append("奶奶对花生过敏")
        await rig.remember(texts[-1], FAMILY)
        await until_said(rig, "index_full")
        found["nearly full"] = await told(rig, _KNOWN, *texts)

        fill(rest)
        texts.append("奶奶喜欢豆浆")
        await rig.remember(texts[-1], FAMILY)
        found["full"] = await told(rig, _KNOWN, *texts)
    async with running(root, store=Tried(root)) as rig:
        found["full at the start"] = await told(rig, _KNOWN, *texts)
        await until_said(rig, "index_off")
        rest.unlink()
        ballast.unlink()
        await assert_recovered(rig, *texts)

    # Somebody else takes the room between our look and Chroma's write.
    folder = index / "chroma"
    blind = EmbeddedChroma(folder, space=DiskSpace(folder, free=lambda _: 1 << 40))
    store = ChromaVectorStore(blind, pace=WritePace(long=1.0, sleep=lambda _: None))
    async with running(root, store=store) as rig:
        await rig.until_indexed()
        fill(rest)
        texts.append("奶奶的生日在五月")
        await rig.remember(texts[-1], FAMILY)
        said = await until_said(rig, "index_off")
        found["in the middle"] = {"cause": said["cause"], **await told(rig, _KNOWN, *texts)}
        rest.unlink()
        await assert_recovered(rig, *texts)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(play(Path(sys.argv[1]))), ensure_ascii=False))
