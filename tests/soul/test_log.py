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

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import NO_TIME
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulEvent,
    SoulLine,
    SoulVerified,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.store import NO_LINE, digest, read, written
from astrbot_plugin_scoped_memory.llm_memory.storage.soul_heads import SoulHead
from astrbot_plugin_scoped_memory.tests.support.souls import CAT, SoulWorld

pytestmark = [pytest.mark.unit, pytest.mark.property]

AT = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
HASH = digest("一".encode())


def logged(*lines: SoulLine) -> list[bytes]:
    """The lines of the role ``cat`` as the store writes them, but for what they say themselves."""
    found: list[bytes] = []
    for line in lines:
        made = {
            "n": line.n or len(found) + 1,
            "at": AT if line.at == NO_TIME else line.at,
            "role": line.role or "cat",
            "prev": line.prev or (digest(found[-1]) if found else NO_LINE),
        }
        found.append(written(replace(line, **made)))  # type: ignore[arg-type]
    return found


SEEDED = SoulLine("seeded", "v0-seed", version=1, sha256=HASH)
WISH = SoulLine("proposed", "a:9", proposal=1, version=1, aim="短", text="短一点\n")


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def test_a_line_is_written_as_it_ever_was() -> None:
    """Another form needs another number, and a way to read this one."""
    first, second = logged(SEEDED, WISH)
    assert first.decode() == (
        f'{{"actor":"v0-seed","at":"2026-11-27T09:00:00+00:00","event":"seeded","format":1,"n":1,'
        f'"prev":"{NO_LINE}","role":"cat","sha256":"{HASH}","version":1}}'
    )
    assert second.decode() == (
        f'{{"actor":"a:9","aim":"短","at":"2026-11-27T09:00:00+00:00","event":"proposed","n":2,'
        f'"prev":"{digest(first)}","proposal":1,"role":"cat","text":"短一点\\n","version":1}}'
    )
    soul = read(joined([first, second]), "cat", SoulHead(2, digest(second), 1, HASH))
    assert (soul.broken, soul.version, soul.sha256) == (0, 1, HASH)
    assert soul.open is not None
    assert soul.open.text == "短一点\n"


@pytest.mark.parametrize(
    ("lines", "broken", "why"),
    [
        ([SEEDED, SEEDED], 2, "form"),
        ([WISH], 1, "form"),
        ([SoulLine("seeded", "x", version="1")], 1, "form"),  # type: ignore[arg-type]
        ([SoulLine("seeded", "x", version=1, role="dog")], 1, "form"),
        ([SoulLine("seeded", "x", version=1, at=AT.replace(tzinfo=None))], 1, "form"),
        ([SEEDED, SoulLine("applied", "x", proposal=1, version=2)], 2, "form"),
        ([SEEDED, SoulLine("rolled_back", "x", version=2, source=7)], 2, "form"),
        ([SEEDED, WISH, SoulLine("proposed", "x", proposal=3, version=1)], 3, "form"),
        ([SEEDED, SoulLine("denied", "x", proposal=1)], 2, "form"),
        ([SEEDED, SoulLine("discarded", "x", prev="0")], 2, "form"),
    ],
)
def test_what_cannot_follow_is_broken_however_well_it_is_chained(
    lines: list[SoulLine], broken: int, why: str
) -> None:
    soul = read(joined(logged(*lines)), "cat", None)
    assert (soul.broken, soul.why, len(soul.lines)) == (broken, why, broken - 1)


def test_a_newer_format_is_told() -> None:
    first, second = logged(SEEDED, WISH)
    later = first.replace(b'"format":1', b'"format":2,"more":1')
    soul = read(joined([later, second]), "cat", None)
    assert (soul.why, soul.broken, soul.lines) == ("newer", 1, [])


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
    raw = lived.log().read_bytes()
    lines = read(raw, CAT, None).lines
    assert {line.event for line in lines} | {"denied"} == set(get_args(SoulEvent))
    assert verified(lived) == SoulVerified(0, "", len(lines))
    path = data.draw(st.sampled_from(sorted(lived.folder().rglob("*.*"))))
    raw = path.read_bytes()
    at = data.draw(st.integers(0, len(raw) - 1))
    changed = bytes([raw[at] ^ data.draw(st.integers(1, 255))])
    ways = [raw[:at] + changed + raw[at + 1 :], raw[:at], raw[:at] + changed + raw[at:]]
    broken = data.draw(st.sampled_from(ways))
    if broken == raw:
        return
    path.write_bytes(broken)
    try:
        found = verified(lived)
    finally:
        path.write_bytes(raw)
    if path == lived.log():  # of two lines that do not fit, the later one is named
        number = raw.count(b"\n", 0, at) + 1
        assert found.line in (number, number + 1)
    else:
        wrong = next(
            one for one in lines if one.event != "proposed" and one.version == int(path.stem)
        )
        assert (found.line, found.why) == (wrong.n, f"versions/{path.name}")


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
