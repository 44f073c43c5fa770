"""What docs/migrate.md shows of a run is what the plugin says, and its numbers add up."""

import re

import pytest

from astrbot_plugin_scoped_memory.core.replies.migration_text import numbers_text
from astrbot_plugin_scoped_memory.llm_memory import Tally
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.house.source import ROOT
from astrbot_plugin_scoped_memory.tests.support.programs.adopting import IN_CHROMA, IN_SQLITE

pytestmark = pytest.mark.astrbot

PAGE = (ROOT / "docs" / "migrate.md").read_text(encoding="utf-8")
SAY = Texts("zh-CN").say
NUMBERS = re.compile(r"看过 .*")
SOURCES = (
    "angel_memory/memory_center/index/simple_memory.db",
    "angel_memory/memory_openai/chromadb",
)


def run() -> list[str]:
    """The lines of the run; what a person did or meant stands in brackets, or is a command."""
    (block,) = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines: list[str] = block.splitlines()
    return [line for line in lines if not line.startswith(("（", "/memory migrate"))]


def numbers(line: str) -> tuple[Tally, int] | None:
    """Those of a line that tells how far it is."""
    if (found := NUMBERS.search(line)) is None:
        return None
    counts = {what: int(count) for what, count in re.findall(r"([^、\s]+) (\d+) 条", found[0])}
    ends = ("看过", "补上域", "没有动", "收下", "与已有的合为一条", "进隔离区", "坏的")
    tally = Tally(*(counts.get(end, 0) for end in ends))
    left = counts.get("还剩", 0)
    assert numbers_text(Texts("zh-CN"), tally, left) == found[0]
    return tally, left


def said() -> list[re.Pattern[str]]:
    """What the log and the command say, whatever is filled in."""
    lines = [
        SAY("log.stores_found", stores="{}"),
        SAY("log.batch_begun", count="{}", batch="{}"),
        SAY(
            "log.batch_done",
            **dict.fromkeys(("batch", "count", "adopted", "merged", "quarantined", "broken"), "{}"),
        ),
        SAY("log.opened", version="{}", total="{}"),
        SAY("log.migration", state="{}", numbers="{}"),
        SAY("migrate.dry_run"),
        SAY("migrate.head", state=SAY("migrate.state_done")),
        SAY("migrate.batch", batch="{}", source="{}"),
        "看过 {}",
    ]
    return [re.compile(re.escape(text).replace(r"\{\}", ".+")) for text in lines]


def test_every_line_is_one_that_the_plugin_says() -> None:
    lines = run()
    assert len(lines) > 10
    patterns = said()
    assert [line for line in lines if not any(one.fullmatch(line) for one in patterns)] == []


def test_the_four_numbers_add_up_to_what_was_there() -> None:
    told = [found for line in run() if (found := numbers(line)) is not None]
    count = IN_CHROMA + IN_SQLITE
    for tally, left in told:
        ends = tally.adopted + tally.merged + tally.quarantined + tally.broken
        assert ends == tally.scanned
        assert left == count - tally.scanned or (left, tally.scanned) == (count, count)  # a dry run
    assert told[-1] == (told[0][0], 0)
    assert told[-1][0].scanned == count


def test_it_is_one_batch_of_the_stores_that_are_named() -> None:
    assert len(set(re.findall(r"b-[0-9a-z]{16}", "\n".join(run())))) == 1
    for name in SOURCES:
        assert sum(name in line for line in run()) == 2
