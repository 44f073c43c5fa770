"""Whatever is done to the bytes of a chain, the first wrong line is named; but for a line that was
never acknowledged, which is set aside."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.soul import SoulEvent, SoulLine
from astrbot_plugin_scoped_memory.llm_memory.soul.chain import (
    NO_LINE,
    Chain,
    digest,
    read_chain,
    written,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.soul_heads import SoulHead

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
texts = st.text(max_size=12)
events = st.sampled_from(get_args(SoulEvent))
numbers = st.integers(0, 10**6)


@st.composite
def chains(draw: st.DrawFn, least: int = 1) -> list[bytes]:
    """The lines of some chain of the role ``cat``."""
    lines: list[bytes] = []
    for number in range(1, draw(st.integers(least, 8)) + 1):
        line = SoulLine(
            number,
            NOW + timedelta(seconds=draw(numbers)),
            "cat",
            draw(events),
            draw(texts),
            digest(lines[-1]) if lines else NO_LINE,
            draw(numbers),
            draw(numbers),
            draw(numbers),
            digest(draw(texts).encode("utf-8", "replace")),
            draw(texts),
        )
        lines.append(written(line))
    return lines


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def head(lines: list[bytes]) -> SoulHead:
    """As the state has it."""
    return SoulHead(len(lines), digest(lines[-1]), 1, "")


def read(raw: bytes, lines: list[bytes]) -> Chain:
    return read_chain(raw, "cat", head(lines))


@given(chains())
def test_a_chain_is_read_as_it_was_written(lines: list[bytes]) -> None:
    for known in (None, head(lines[:1]), head(lines)):
        chain = read_chain(joined(lines), "cat", known)
        assert (chain.broken, chain.torn, chain.newer) == (0, b"", False)
        assert [written(line) for line in chain.lines] == lines
        assert chain.end == digest(lines[-1])


@given(chains(least=2), st.data())
def test_the_first_that_does_not_follow_is_named(lines: list[bytes], data: st.DataObject) -> None:
    first, second = sorted(data.draw(st.permutations(range(len(lines))))[:2])
    swapped = [*lines]
    swapped[first], swapped[second] = lines[second], lines[first]
    for changed, broken in (
        (swapped, first + 1),
        ([*lines[: first + 1], *lines[first:]], first + 2),
        ([*lines[:first], *lines[first + 1 :]], first + 1),
        ([*lines[:second], *lines[second + 1 :]], second + 1),
    ):
        assert read(joined(changed), lines).broken == broken


@given(chains(), st.data())
def test_a_line_that_was_never_acknowledged_is_torn_not_broken(
    lines: list[bytes], data: st.DataObject
) -> None:
    known = head(lines[:-1]) if len(lines) > 1 else None
    cut = data.draw(st.integers(1, len(lines[-1])))
    chain = read_chain(joined(lines[:-1]) + lines[-1][:cut], "cat", known)
    assert (chain.broken, chain.torn) == (0, lines[-1][:cut])
    assert len(chain.lines) == len(lines) - 1


@given(chains())
def test_another_roles_chain_is_broken_at_its_first_line(lines: list[bytes]) -> None:
    assert read_chain(joined(lines), "dog", None).broken == 1


def newer(lines: list[bytes]) -> list[bytes]:
    """The same as a later version writes them, with fields that we do not know."""
    made: list[bytes] = []
    for line in lines:
        prev = f'"prev":"{digest(made[-1])}"'.encode() if made else f'"prev":"{NO_LINE}"'.encode()
        begin, _, rest = line.partition(b'"prev":"')
        made.append(begin.replace(b'"format":1', b'"format":2') + prev + rest[65:-1] + b',"x":1}')
    return made


@given(chains())
def test_a_newer_format_is_told_from_a_changed_number(lines: list[bytes]) -> None:
    later = newer(lines)
    chain = read(joined(later), later)
    assert (chain.newer, chain.broken, chain.lines) == (True, 0, ())
    faked = [lines[0].replace(b'"format":1', b'"format":2'), *lines[1:]]
    chain = read(joined(faked), lines)
    assert (chain.newer, chain.broken) == (False, 1)


SEEDED = SoulLine(1, NOW, "cat", "seeded", "v0-seed", NO_LINE, version=1, sha256="ab")


@pytest.mark.parametrize(
    "line",
    [
        replace(SEEDED, version="1"),  # type: ignore[arg-type]
        replace(SEEDED, n=True),
        replace(SEEDED, actor=None),  # type: ignore[arg-type]
        replace(SEEDED, at=NOW.replace(tzinfo=None)),
        replace(SEEDED, n=2),
    ],
)
def test_what_no_field_may_be_is_broken_however_well_it_is_chained(line: SoulLine) -> None:
    raw = written(SEEDED)
    assert read_chain(joined([raw]), "cat", None).broken == 0
    raw = written(line)
    if line.n != 1:
        raw = raw.replace(b'"n"', b'"format":1,"n"')
    assert read_chain(joined([raw]), "cat", None).broken == 1
