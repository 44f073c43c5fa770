"""A whole engine whose index is forbidden: at its start, and while it runs.

    python run.py forbidden_index.py FOLDER

plays in FOLDER and prints a JSON object with what was found in each phase. Start it
`bound_by_modes`: nothing is forbidden to root.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.tests.support.engines import Rig
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    Tried,
    answered,
    assert_recovered,
    build,
    indexed,
    until_said,
    words,
)
from astrbot_plugin_scoped_memory.tests.support.programs.small_disk import give_up

_TRIES = 4
"""More faults in a row than an index is forgiven."""
_KNOWN = words(3, "家里")


async def done_without(rig: Rig, store: Tried, text: str) -> dict[str, Any]:
    """What the bot does while the index is forbidden, and tried again and again."""
    await rig.remember(text, FAMILY)
    await until_said(rig, "index_off")
    tried = store.openings
    async with asyncio.timeout(60):
        while store.openings < tried + _TRIES:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return {
        "cause": (await until_said(rig, "index_off"))["cause"],
        "answers": [await answered(rig, one) for one in (_KNOWN, text)],
    }


async def set_aside(rig: Rig, root: Path, *texts: str) -> list[str]:
    """What was, once all is as before: raises AssertionError if not everything is found."""
    await assert_recovered(rig, *texts)
    return [path.name for path in (root / "index").glob("chroma.broken-*")]


async def play(root: Path) -> dict[str, Any]:
    """All phases."""
    await build(root)
    chroma = root / "index" / "chroma"
    database = chroma / "chroma.sqlite3"
    found: dict[str, Any] = {}
    texts: list[str] = []
    phases = {
        "the database": (database, 0, 0o600),
        "writing to the database": (database, 0o400, 0o600),
        "the folder": (chroma, 0, 0o700),
    }
    for name, (path, mode, before) in phases.items():
        path.chmod(mode)
        store = Tried(root)
        async with indexed(root, store=store) as rig:
            texts.append(f"第{len(texts)}句是在启动时说的")
            found[name] = await done_without(rig, store, texts[-1])
            path.chmod(before)
            found[name]["set_aside"] = await set_aside(rig, root, *texts)
    store = Tried(root)
    async with indexed(root, store=store) as rig:
        await rig.until_indexed()
        chroma.chmod(0o500)  # no journal can be made beside the database
        texts.append("这一句是在运行时说的")
        found["while it runs"] = await done_without(rig, store, texts[-1])
        chroma.chmod(0o700)
        found["while it runs"]["set_aside"] = await set_aside(rig, root, *texts)
    return found


def rights_count(folder: Path) -> bool:
    """Whether something can be forbidden to us."""
    secret = folder / "secret"
    secret.touch(mode=0)
    try:
        secret.read_bytes()
    except PermissionError:
        return True
    return False


if __name__ == "__main__":
    here = Path(sys.argv[1])
    if not rights_count(here):
        give_up("root's rights cannot be given up here")
    sys.stdout.write(json.dumps(asyncio.run(play(here / "data")), ensure_ascii=False))
