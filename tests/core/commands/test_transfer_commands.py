"""``/memory export`` and ``/memory import``: what they answer, in two languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.commands.transfer_commands import imported_text
from astrbot_plugin_scoped_memory.llm_memory import (
    Imported,
    LineFault,
    RefusedLine,
    Rejected,
    RejectReason,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    answered,
)

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"
HEADER = {"type": "header", "format": "scoped-memory", "version": 1}


async def ask(rig: Rig, event: FakeEvent, language: str = "zh-CN") -> str:
    """What the plugin answers to ``memory export`` and ``memory import …``."""
    return await answered(rig, event, language) or ""


def put(rig: Rig, *lines: object) -> None:
    folder = rig.root / "imports"
    folder.mkdir(exist_ok=True)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "旧 记忆.jsonl").write_text(text, "utf-8")


async def test_export_names_the_file_and_shows_no_memory(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        await rig.remember(PEANUTS, group(777))
        refused = await ask(rig, FakeEvent.in_group(777, "memory export"))
        assert "列表 我" in refused
        assert not list((tmp_path / "exports").glob("*"))
        said = await ask(rig, FakeEvent.in_group(777, "memory export", admin=True))
        (file,) = (tmp_path / "exports").iterdir()
        assert f"exports/{file.name}" in said
        assert "1 条（家人 1）" in said
        assert PEANUTS not in said
        assert PEANUTS in file.read_text("utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_report_tells_all_that_it_knows(language: str) -> None:
    report = Imported(
        "家人", stored=11, reinforced=12, replaced=13, known=14, passed_by=15, redacted=16,
        refused=17, stopped_at=99,
        lines=(
            RefusedLine(5, LineFault.NOT_JSON, "x ^m-01jd3q8z7kab"),
            RefusedLine(6, rejected=Rejected(RejectReason.FILLER)),
        ),
    )  # fmt: skip
    said = imported_text(Texts(language), report)
    for number in (11, 12, 13, 14, 15, 16, 17, 99, 5, 6):
        assert str(number) in said
    assert "家人" in said
