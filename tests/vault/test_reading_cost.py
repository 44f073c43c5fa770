"""What a file costs to read and to repair grows with its size, and no faster."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import (
    TopicFile,
    parse_file,
)
from astrbot_plugin_scoped_memory.tests.support.stalls import LoopSteps

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 22, 8, tzinfo=UTC)
MARK = "^m-aaaaaaaaaa"


def parsed(text: str) -> TopicFile:
    return parse_file(text, fallback_time=NOW)


def steps(text: str) -> int:
    """The calls that parsing takes."""
    with LoopSteps() as counted:
        parsed(text)
    return counted.most


@pytest.mark.parametrize("line", ["  - 一步", "  理由", "  > 强度 7", "", "- 别的"])
@pytest.mark.parametrize("head", [f"- 奶奶过敏 {MARK}", f"## 奶奶过敏 {MARK}", f"奶奶过敏 {MARK}"])
def test_twice_as_many_lines_take_twice_the_steps(head: str, line: str) -> None:
    few, many = (steps("\n".join([head, "", *[line] * count])) for count in (500, 1000))
    assert many <= 2.2 * few


@pytest.mark.parametrize(
    "text",
    [
        f"x{' ' * 1_000_000}y ^m-",
        f"{' ' * 1_000_000}y {MARK}",
        f"## 奶奶过敏 {MARK}" + "\n" * 1_000_000,
        f"- 奶奶过敏 {MARK}\n" + "\n" * 1_000_000 + "  理由",
    ],
    ids=["blanks in a line", "blanks before", "blank lines", "blank lines in an item"],
)
def test_a_million_blanks_are_read_to_their_end(text: str) -> None:
    """Where each blank was compared with all behind it, this took days."""
    assert "".join(parsed(text).with_lines({})) == text


@pytest.mark.property
@given(st.text(alphabet=" \t^m-abcd1-x*#>", max_size=24))
def test_the_mark_of_an_entry_is_what_it_always_was(line: str) -> None:
    plain = re.compile(r"[ \t]+\^(m-[0-9a-z]{4,32})[ \t]*$").search(line)
    entries = [entry.memory.memory_id for entry in parsed(line).entries]
    assert entries == ([plain[1]] if plain and entries else [])
    for entry in parsed(line).entries:
        assert plain is not None
        changed = parsed(line).with_other_ids({entry: "m-other"})
        assert changed == f"{line[: plain.start()]} ^m-other"
