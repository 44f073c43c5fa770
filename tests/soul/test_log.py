"""Whatever is done to the bytes of a soul's files, the first wrong line is named; but for a line
that was never acknowledged, which counts for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulEvent,
    SoulLine,
    SoulVerified,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.store import NO_LINE, digest, read, written
from astrbot_plugin_scoped_memory.tests.support.souls import SoulWorld

pytestmark = [pytest.mark.unit, pytest.mark.property]

AT = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
HASH = digest("一".encode())
SEEDED = SoulLine("seeded", "v0-seed", n=1, at=AT, prev=NO_LINE, version=1, sha256=HASH)
FIRST = written(SEEDED)
WISH = SoulLine(
    "proposed", "a:9", n=2, at=AT, prev=digest(FIRST), proposal=1, version=1, aim="短", text="短\n"
)


def test_a_line_is_written_as_it_ever_was() -> None:
    """Another form needs another number, and a way to read this one."""
    assert FIRST.decode() == (
        f'{{"actor":"v0-seed","at":"2026-11-27T09:00:00+00:00","event":"seeded","format":1,"n":1,'
        f'"prev":"{NO_LINE}","sha256":"{HASH}","version":1}}'
    )
    assert written(WISH).decode() == (
        f'{{"actor":"a:9","aim":"短","at":"2026-11-27T09:00:00+00:00","event":"proposed","n":2,'
        f'"prev":"{digest(FIRST)}","proposal":1,"text":"短\\n","version":1}}'
    )


@pytest.mark.parametrize(
    ("second", "broken"),
    [
        (written(WISH), 0),
        (written(replace(WISH, prev="0")), 2),
        (written(replace(WISH, at=AT.replace(tzinfo=None))), 2),
        (written(replace(WISH, event="rolled_back", source=7)), 2),
        (written(WISH).replace(b'"n":2', b'"more":1,"n":2'), 2),
        (written(WISH).replace(b'"n":2', b'"n": 2'), 2),
        (b"[" * 9_999, 2),
        (b"[]", 2),
    ],
)
def test_what_cannot_follow_or_has_another_form_is_broken(second: bytes, broken: int) -> None:
    assert read(FIRST + b"\n" + second + b"\n", None).broken == broken
    later = FIRST.replace(b'"format":1', b'"format":2')
    assert read(later + b"\n" + second + b"\n", None).broken == 1


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoulWorld]:
    """A soul to which everything has happened that a log can tell of."""
    world = SoulWorld(tmp_path_factory.mktemp("lived"))

    async def live() -> None:
        await world.applied()
        await world.applied("直接一点")
        await world.ask("undo")
        await world.ask("veto", 1)
        for action in ("adopt", "discard"):
            world.page().write_text(f"手写的，{action}", "utf-8")
            await world.ask(action)
        await world.ask("propose", wish="慢一点")

    asyncio.run(live())
    yield world
    world.state.close()


def verified(world: SoulWorld) -> SoulVerified:
    found = asyncio.run(world.ask("verify"))
    assert isinstance(found, SoulVerified)
    return found


@given(data=st.data())
def test_a_changed_byte_of_any_file_is_named(lived: SoulWorld, data: st.DataObject) -> None:
    lines = read(lived.log().read_bytes(), None).lines
    assert {line.event for line in lines} | {"denied"} == set(get_args(SoulEvent))
    assert verified(lived) == SoulVerified(0, "", len(lines))
    path = data.draw(st.sampled_from(sorted(lived.folder().rglob("*.*"))))
    raw = path.read_bytes()
    at = data.draw(st.integers(0, len(raw) - 1))
    changed = bytes([raw[at] ^ data.draw(st.integers(1, 255))])
    ways = [raw[:at] + changed + raw[at + 1 :], raw[:at], raw[:at] + changed + raw[at:]]
    path.write_bytes(data.draw(st.sampled_from([one for one in ways if one != raw])))
    try:
        found = verified(lived)
    finally:
        path.write_bytes(raw)
    if path == lived.log():  # of two lines that do not fit, the later one is named
        number = raw.count(b"\n", 0, at) + 1
        assert found.line in (number, number + 1)
    else:
        assert found.why == f"versions/{path.name}"
        wrong = lines[found.line - 1]
        assert (wrong.version, wrong.sha256) == (int(path.stem), digest(raw))


def test_lines_that_are_swapped_or_gone_are_named_but_not_what_was_never_acknowledged(
    lived: SoulWorld,
) -> None:
    raw = lived.log().read_bytes()
    lines = raw.splitlines(keepends=True)
    for number in range(1, len(lines)):
        before, one, behind = lines[: number - 1], lines[number - 1], lines[number:]
        for ways in ([*before, *behind], [*before, behind[0], one], before):
            lived.log().write_bytes(b"".join(ways))
            assert number <= verified(lived).line <= number + 1
    lived.log().write_bytes(raw + lines[-1][:20])
    assert verified(lived).line == 0
    lived.log().write_bytes(raw)
