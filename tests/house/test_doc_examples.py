"""The examples of docs/ are what the plugin would write, read or say today."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime
from typing import get_args

import pytest

from astrbot_plugin_scoped_memory.llm_memory.cli.parser import build_parser
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, MemoryKind, Source
from astrbot_plugin_scoped_memory.llm_memory.models.transfer import (
    End,
    EntryState,
    FileRecord,
    Header,
    MemoryRecord,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.llm_memory.transfer.line_files import MAX_IMPORT
from astrbot_plugin_scoped_memory.llm_memory.transfer.rules.format import (
    VERSION,
    LineBroken,
    line_of,
    read_line,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.tests.house.source import ROOT

pytestmark = pytest.mark.astrbot

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SAY = Texts("zh-CN").say


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """The code blocks of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


def test_what_is_learned_is_written_as_the_engine_writes_it() -> None:
    learned = [text for text in blocks("loop", "markdown") if text.startswith("## ")]
    assert len(learned) == 1
    for text in learned:
        entries = [entry.memory for entry in parse_file(text, fallback_time=NOW).entries]
        assert "\n".join(render(memory) for memory in entries) == text
        assert {memory.provenance.source for memory in entries} == {Source.REFLECTION}


def test_every_switch_of_the_loop_is_one() -> None:
    schema = json.loads((ROOT / "_conf_schema.json").read_text(encoding="utf-8"))
    table = page("loop").partition("## 怎么关")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(advanced\.[a-z_]+|reflection_[a-z_]+)`", table))
    assert len(named) >= 5
    for name in named:
        group, _, short = name.rpartition(".")
        assert short in (schema[group]["items"] if group else schema), name


def run_of_a_migration() -> list[str]:
    """What is said in it; what a person did or meant stands in brackets, or is a command."""
    (block,) = blocks("migrate", "")
    return [line for line in block.splitlines() if not line.startswith(("（", "/memory migrate"))]


def test_every_line_of_a_migration_is_one_that_the_plugin_says() -> None:
    counts = ("batch", "count", "adopted", "merged", "quarantined", "broken")
    said = [
        SAY("log.stores_found", stores="{}"),
        SAY("log.batch_begun", count="{}", batch="{}"),
        SAY("log.batch_done", **dict.fromkeys(counts, "{}")),
        SAY("log.opened", version="{}", total="{}"),
        SAY("migrate.head", state=SAY("migrate.state_done")),
        SAY("migrate.batch", batch="{}", source="{}"),
        "看过 {}",
    ]
    patterns = [re.compile(re.escape(text).replace(r"\{\}", ".+")) for text in said]
    lines = run_of_a_migration()
    assert len(lines) > 7
    assert [line for line in lines if not any(one.fullmatch(line) for one in patterns)] == []


def test_the_examples_of_an_export_are_what_the_plugin_writes_and_reads() -> None:
    whole, smallest = (block.splitlines() for block in blocks("transfer", "jsonl"))
    records = [read_line(line) for line in whole]
    kinds = [Header, FileRecord, MemoryRecord, MemoryRecord, End]
    assert [type(record) for record in records] == kinds
    for line, record in zip(whole, records, strict=True):
        assert json.loads(line_of(record)) == json.loads(line)
    header, memory = map(read_line, smallest)
    assert isinstance(header, Header)
    assert header.version == VERSION
    assert isinstance(memory, MemoryRecord)
    assert memory.missing == {"id", "created_at"}


def test_every_field_of_an_exported_memory_has_its_row_and_its_type() -> None:
    record = MemoryRecord("家人", "entities.md", Memory("m-abcd", "x", NOW, asks=("y",)))
    fields = json.loads(line_of(record))
    types = {str: "文本", bool: "真假", int: "整数", list: "文本的列表"}
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| [^|]+ \|[^|]*\|$", page("transfer"), re.MULTILINE)
    assert dict(rows) == {name: types[type(value)] for name, value in fields.items()}
    for name in fields:
        with pytest.raises(LineBroken) as caught:
            read_line(json.dumps(fields | {name: {"odd": 1}}))
        assert name in ("type", "scope") or caught.value.detail == name


def test_what_a_transfer_may_say_is_named_and_its_commands_are_understood() -> None:
    text = page("transfer")
    states = set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", text, re.MULTILINE))
    assert states == set(get_args(EntryState.__value__))
    assert [word for word in (*MemoryKind, *Source) if word.value not in text] == []
    assert f"最大 {MAX_IMPORT // (1 << 20)} MB" in text
    lines = re.findall(r"^python -m llm_memory (.+)$", text, re.MULTILINE)
    assert {line.split()[0] for line in lines} >= {"export", "restore", "import"}
    for line in lines:
        build_parser().parse_args(shlex.split(line))
