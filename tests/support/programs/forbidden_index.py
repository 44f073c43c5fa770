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

from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running
from astrbot_plugin_scoped_memory.tests.support.indexed import (
    FAMILY,
    WORK,
    answered,
    assert_recovered,
    build,
    chroma_in,
    until_said,
    words,
)
from astrbot_plugin_scoped_memory.tests.support.programs.small_disk import give_up

_KNOWN = words(3, "家里")


async def done_without(rig: Rig, text: str) -> dict[str, Any]:
    """What the bot does while the index is forbidden."""
    await rig.remember(text, FAMILY)
    said = await until_said(rig, "index_off")
    others = [hit.preview for hit in (await rig.recall(text, WORK)).hits]
    return {
        "cause": said["cause"],
        "answers": [(await answered(rig, one))[1] == one for one in (_KNOWN, text)],
        "leaked": [one for one in others if one == text],
    }


async def play(root: Path) -> dict[str, Any]:
    """All phases; once all is as before everything is found."""
    await build(root)
    chroma = root / "index" / "chroma"
    found: dict[str, Any] = {}
    texts: list[str] = []
    for name, mode in {"the folder": 0, "writing to the folder": 0o500}.items():
        chroma.chmod(mode)
        async with running(root, store=chroma_in(root)) as rig:
            texts.append(f"第{len(texts)}句是在启动时说的")
            found[name] = await done_without(rig, texts[-1])
            chroma.chmod(0o700)
            await assert_recovered(rig, *texts)
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
