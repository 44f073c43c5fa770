"""docs/loop.md: its day is one that the engine would write today, and each part has its switch."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.day_journal import digest_id
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import DIGEST_TAG
from astrbot_plugin_scoped_memory.llm_memory.consolidation.rules.overview import pointed_ids
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Source
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import derived_id
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.marked_block import content_of
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.tests.house.source import ROOT

PAGE = (ROOT / "docs" / "loop.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "_conf_schema.json").read_text(encoding="utf-8"))
DAY, SCOPE = date(2026, 11, 21), "家人"
EXAMPLES = re.findall(r"^```markdown\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
JOURNALS = [text for text in EXAMPLES if text.startswith("## ")]
PAGES = [text for text in EXAMPLES if text.startswith("<!--")]


def entries(text: str) -> list[Memory]:
    now = datetime(2026, 11, 22, tzinfo=UTC)
    return [entry.memory for entry in parse_file(text, fallback_time=now).entries]


def cells(name: str) -> list[str]:
    """A row of the table of turns."""
    (row,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", PAGE, re.MULTILINE)
    return [cell.strip("` ") for cell in row.split("|")]


def test_the_journal_of_the_day_is_written_as_the_engine_writes_it() -> None:
    learned, written = JOURNALS
    for text in JOURNALS:
        assert "\n".join(render(memory) for memory in entries(text)) == text
    (digest,) = entries(written)
    assert digest.memory_id == digest_id(SCOPE, DAY)
    assert DIGEST_TAG in digest.tags
    for memory in (*entries(learned), digest):
        assert memory.provenance.source is Source.REFLECTION
        assert not memory.provenance.trusted
        assert not memory.active


def test_what_was_learned_comes_from_the_turns_that_are_shown() -> None:
    tickets, said_at = cells("`ticket_id`"), cells("`observed_at`")
    people = [cell.partition("、") for cell in cells("`who`、`person`")]
    learned = entries(JOURNALS[0])
    assert len(learned) == len(tickets)
    for memory, (who, _, person), at in zip(learned, people, said_at, strict=True):
        said = re.sub("（2026-.*?）", "", memory.judgment)  # the date of 下周六 comes in later
        assert memory.memory_id == derived_id("m", "learned", *tickets, person, who, said)
        assert (memory.provenance.who, memory.provenance.person) == (who, person)
        assert memory.created_at.isoformat() == at


def test_the_pages_are_between_their_marks_and_point_to_entries() -> None:
    overview, primer = map(content_of, PAGES)
    assert overview.startswith("共 ")
    assert len(pointed_ids(overview)) >= 3
    assert primer.startswith("## 长期指示\n")
    assert entries(JOURNALS[0])[1].memory_id in primer


def test_every_switch_that_is_named_is_one() -> None:
    table = PAGE.partition("## 怎么关")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(advanced\.[a-z_]+|reflection_[a-z_]+)`", table))
    assert len(named) >= 5
    for name in named:
        group, _, short = name.rpartition(".")
        assert short in (SCHEMA[group]["items"] if group else SCHEMA), name
