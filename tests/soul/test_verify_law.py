"""Whatever byte of a soul's files is changed, the first line that it makes wrong is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulEvent,
    SoulLine,
    SoulLog,
    SoulRequest,
    SoulVerified,
)
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, Souls, live

pytestmark = [pytest.mark.unit, pytest.mark.property]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Souls]:
    """A soul to which everything has happened."""
    souls = Souls(tmp_path_factory.mktemp("lived"))

    asyncio.run(live(souls))
    yield souls
    souls.state.close()


def lines_of(souls: Souls) -> list[SoulLine]:
    log = asyncio.run(souls.gov.read(SoulRequest("log"), CAT, ADMIN))
    assert isinstance(log, SoulLog)
    return list(log.lines[::-1])


def verified(souls: Souls) -> SoulVerified:
    found = asyncio.run(souls.gov.read(SoulRequest("verify"), CAT, ADMIN))
    assert isinstance(found, SoulVerified)
    return found


def expected(lines: list[SoulLine], path: Path) -> int:
    """The first line that names this file; 0 for none."""
    number = int(path.stem.partition("-")[0])
    for line in lines:
        proposed = line.event == "proposed"
        names = {
            "proposals": proposed and line.proposal == number,
            "evals": line.eval == path.stem,
            "versions": not proposed and line.version == number,
        }
        if names[path.parent.name]:
            return line.n
    return 0


@given(data=st.data())
def test_a_changed_byte_of_any_file_is_named(lived: Souls, data: st.DataObject) -> None:
    lines = lines_of(lived)
    assert {line.event for line in lines} == set(get_args(SoulEvent))
    assert (verified(lived).line, verified(lived).why) == (0, "")
    files = sorted(path for path in lived.folder().rglob("*.*") if "discarded" not in path.parts)
    path = data.draw(st.sampled_from(files))
    raw = path.read_bytes()
    at = data.draw(st.integers(0, len(raw) - 1))
    changed = bytes([raw[at] ^ data.draw(st.integers(1, 255))])
    broken = data.draw(
        st.sampled_from(
            [raw[:at] + changed + raw[at + 1 :], raw[:at], raw[:at] + changed + raw[at:]]
        )
    )
    is_chain = path == lived.chain()
    first = raw.count(b"\n", 0, at) + 1 if is_chain else expected(lines, path)
    if broken == raw:
        return
    path.write_bytes(broken)
    try:
        assert verified(lived).line == first
    finally:
        path.write_bytes(raw)


def test_a_missing_file_is_named(lived: Souls) -> None:
    lines = lines_of(lived)
    for folder in ("versions", "proposals", "evals"):
        for path in sorted((lived.folder() / folder).iterdir()):
            raw = path.read_bytes()
            path.unlink()
            found = verified(lived)
            path.write_bytes(raw)
            assert found.line == expected(lines, path)
            assert found.why == (f"{folder}/{path.name}" if found.line else "")
