"""The files of a soul as this version writes them, kept for all later ones: ``soul-1.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulRequest,
    SoulVerified,
)
from astrbot_plugin_scoped_memory.tests.house.source import ROOT
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, SEED, Souls, live

pytestmark = pytest.mark.unit

SAMPLE: dict[str, str] = json.loads(
    (ROOT / "tests" / "data" / "soul-1.json").read_text(encoding="utf-8")
)
"""The text of each file, by its path below the memory root."""


@pytest.fixture
def souls(tmp_path: Path) -> Iterator[Souls]:
    made = Souls(tmp_path)
    yield made
    made.state.close()


async def test_what_is_written_now_has_this_format(souls: Souls) -> None:
    await live(souls)
    written = {
        path.relative_to(souls.root).as_posix(): path.read_bytes().decode()
        for path in souls.root.rglob("*")
        if path.is_file()
    }
    assert written == SAMPLE, "a format changed: raise its number, and read the old one"


async def test_what_was_written_is_read_and_goes_on(souls: Souls) -> None:
    for name, text in SAMPLE.items():
        path = souls.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    await souls.gov.recover()
    view = await souls.view()
    assert view.text == "手写的"
    found = await souls.gov.read(SoulRequest("verify"), CAT, ADMIN)
    assert isinstance(found, SoulVerified)
    assert (found.line, found.why, found.lines) == (0, "", 15)
    await souls.gov.rollback(CAT, 0, ADMIN)
    assert (await souls.view()).text == SEED.decode(), "as it was before"
