"""How strong a memory is after a night that weighed how it served."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.consolidation.leaving import weigh
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Ticker, running
from astrbot_plugin_scoped_memory.tests.support.nights import (
    NIGHT,
    OneDirection,
    asleep,
    entries,
    find_useless,
    passive,
    plant,
    strengths,
)

pytestmark = pytest.mark.engine

TEA = ("Tom likes oolong tea", "Tom likes the oolong tea")


@pytest.mark.parametrize(
    ("strength", "times", "after"),
    [
        (100, -9, 100), (80, -1, 80), (79, -1, 76), (79, -3, 70), (41, -1, 38), (41, -2, 32),
        (39, -1, 33), (50, -5, 32), (50, -500, 32), (15, -1, 9), (3, -1, 1), (3, 0, 3), (50, 1, 52),
        (50, 6, 60), (99, 3, 100),
    ],
)  # fmt: skip
def test_the_table_of_the_docstring(strength: int, times: int, after: int) -> None:
    assert weigh(strength, times) == after


async def test_a_person_may_change_an_entry_before_it_is_weighed(tmp_path: Path) -> None:
    """The file alone says so: it was not looked at yet."""
    memories = [passive(n, f"奶奶爱喝第{n}种茶") for n in range(3)]
    plant(tmp_path, "家人", "patterns.md", memories)
    find_useless(tmp_path, "家人", *memories)
    path = tmp_path / "memory/scopes/家人/patterns.md"
    async with asleep(tmp_path) as rig:
        text = path.read_text("utf-8").replace("第1种", "一种").replace("被动", "主动", 1)
        path.write_text(text, "utf-8")
        await rig.night("command")
    assert list(strengths(tmp_path, "家人").values()) == [50, 50, 47]


async def test_an_english_owner_reads_english_in_the_archive_and_on_the_page(
    tmp_path: Path,
) -> None:
    weak = passive(1, "Tom once had a boat", strength=10, who="Tom")
    twice = [passive(n, text, who="Tom") for n, text in enumerate(TEA, start=2)]
    more = [passive(n, f"Shelf {n} is empty", who="Tom") for n in range(10, 16)]
    plant(tmp_path, "family", "preferences.md", [weak, *twice, *more])
    find_useless(tmp_path, "family", weak)
    english = replace(QUICK, loop=replace(QUICK.loop, english=True))
    async with running(
        tmp_path, embedder=OneDirection("oolong"), settings=english, clock=Ticker(NIGHT)
    ) as rig:
        await rig.until_indexed()
        report = await rig.night("command")
        assert (report.archived, report.merged) == (1, 1)
    gone = entries(tmp_path, "family", archived=True).values()
    whys = " ".join(line for (memory,) in gone for line in memory.extra)
    assert "Nightly tidy-up: recalled, never of use" in whys
    assert "Replaced by m-" in whys
    page = (tmp_path / "memory/scopes/family/MEMORY.md").read_text("utf-8")
    assert "Tom said" in page
    assert not any("\u4e00" <= char <= "\u9fff" for char in page)
