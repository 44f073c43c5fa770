"""docs/transfer.md says what the files hold: its examples are read, its tables compared."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime

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
from astrbot_plugin_scoped_memory.llm_memory.transfer.line_files import MAX_IMPORT
from astrbot_plugin_scoped_memory.llm_memory.transfer.rules.format import (
    VERSION,
    LineBroken,
    line_of,
    read_line,
)
from astrbot_plugin_scoped_memory.tests.house.source import ROOT

PAGE = (ROOT / "docs" / "transfer.md").read_text(encoding="utf-8")
RECORD = MemoryRecord(
    "家人", "entities.md", Memory("m-abcd", "x", datetime(2026, 1, 1, tzinfo=UTC), asks=("y",))
)


def examples() -> list[list[str]]:
    blocks = re.findall(r"^```jsonl\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [block.splitlines() for block in blocks]


def test_the_whole_example_is_what_the_plugin_writes() -> None:
    lines = examples()[0]
    records = [read_line(line) for line in lines]
    assert [type(record) for record in records] == [
        Header, FileRecord, MemoryRecord, MemoryRecord, End,
    ]  # fmt: skip
    for line, record in zip(lines, records, strict=True):
        assert json.loads(line_of(record)) == json.loads(line)
    assert records[-1] == End(memories=2, files=1)


def test_the_smallest_example_is_read() -> None:
    header, memory = (read_line(line) for line in examples()[1])
    assert isinstance(header, Header)
    assert header.version == VERSION
    assert isinstance(memory, MemoryRecord)
    assert memory.missing == {"id", "created_at"}


def rows() -> list[tuple[str, str, bool]]:
    """Name, type, and whether ``restore`` wants it."""
    found = re.findall(r"^\| `(\w+)` \| (\S+) \| [^|]+ \|([^|]*)\|$", PAGE, re.MULTILINE)
    return [(name, kind, "是" in needed) for name, kind, needed in found]


def test_every_field_of_a_memory_has_its_row_and_its_type() -> None:
    fields = json.loads(line_of(RECORD))
    types = {str: "文本", bool: "真假", int: "整数", list: "文本的列表"}
    assert [(name, kind) for name, kind, _ in rows()] == [
        (name, types[type(value)]) for name, value in fields.items()
    ]


@pytest.mark.parametrize("name", [name for name, _, _ in rows()])
def test_a_field_of_another_type_is_refused_and_told_by_its_name(name: str) -> None:
    fields = json.loads(line_of(RECORD))
    fields[name] = {"odd": 1}
    with pytest.raises(LineBroken) as caught:
        read_line(json.dumps(fields))
    assert name == "type" or caught.value.detail == name


def test_the_states_kinds_and_sources_are_all_named() -> None:
    named = set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE, re.MULTILINE))
    assert named == {state.value for state in EntryState}
    for word in (*MemoryKind, *Source):
        assert word.value in PAGE


def test_every_command_line_of_the_page_is_understood() -> None:
    lines = re.findall(r"^python -m llm_memory (.+)$", PAGE, re.MULTILINE)
    assert {line.split()[0] for line in lines} >= {"export", "restore", "import"}
    for line in lines:
        build_parser().parse_args(shlex.split(line))


def test_the_limits_are_those_of_the_code() -> None:
    assert f"最大 {MAX_IMPORT // (1 << 20)} MB" in PAGE
