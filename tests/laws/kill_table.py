"""Every deed of the kill table by its name, and what is asked of a folder that a kill left."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from astrbot_plugin_scoped_memory.tests.laws.kill_admin_deeds import ADMIN_DEEDS
from astrbot_plugin_scoped_memory.tests.laws.kill_deed import Deed
from astrbot_plugin_scoped_memory.tests.laws.kill_facts import Facts, age_unfinished, scratch
from astrbot_plugin_scoped_memory.tests.laws.kill_loop_deeds import LOOP_DEEDS
from astrbot_plugin_scoped_memory.tests.laws.kill_memory_deeds import MEMORY_DEEDS
from astrbot_plugin_scoped_memory.tests.laws.kill_place_deeds import PLACE_DEEDS

DEEDS: dict[str, Deed] = {
    deed.name: deed for deed in (*MEMORY_DEEDS, *LOOP_DEEDS, *ADMIN_DEEDS, *PLACE_DEEDS)
}


async def faults(
    deed: Deed, left: Path, start: Facts, whole: Facts, acknowledged: Iterable[str], *, ended: bool
) -> list[str]:
    """What is not as it must be where a kill left this folder, and when the deed was done again.
    ``ended``: all of it had been acknowledged by then."""
    age_unfinished(left)
    async with deed.engine(left) as rig:
        found = await deed.facts(rig)
        wrong = deed.cut_off(found, whole if ended else start, whole)
        told = {" ".join(part for part in fact if part) for fact in found}
        wrong += [f"acknowledged and gone: {one}" for one in acknowledged if not _in(one, told)]
        await deed.act(rig, lambda *_: None)
        wrong += [f"again: {one}" for one in deed.unlike(await deed.facts(rig), start, whole)]
    return wrong + [f"left over: {path.relative_to(left)}" for path in scratch(left)]


def _in(words: str, told: Iterable[str]) -> bool:
    return any(words in one for one in told)
