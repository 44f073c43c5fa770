"""The bot writes between its marks; what a person wrote beside them, and did to them, holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.consolidation.report import SleepReport
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.marked_block import (
    BEGIN,
    END,
    content_of,
    outside,
)
from astrbot_plugin_scoped_memory.tests.support.engines import group, person
from astrbot_plugin_scoped_memory.tests.support.nights import asleep, passive, plant

pytestmark = pytest.mark.engine

HERE = group(777)


def pages(root: Path, scope: str = "家人") -> Path:
    return root / "memory" / "scopes" / scope


async def night(root: Path, later: int = 0) -> SleepReport:
    async with asleep(root, later=later) as rig:
        report = await rig.night("nightly")
        assert not report.errors
        assert not any("机器人改写" in text for text in await rig.texts("机器人改写", HERE))
        before = (await rig.engine.status()).by_scope
        await rig.engine.reconcile()
        assert (await rig.engine.status()).by_scope == before
        return report


async def test_a_page_is_made_once_and_written_again_only_when_it_says_something_else(
    tmp_path: Path,
) -> None:
    plant(tmp_path, "家人", "preferences.md", [passive(1, "小明喜欢喝茶")])
    assert (await night(tmp_path)).pages >= 1
    page = pages(tmp_path) / "MEMORY.md"
    assert "小明说：“小明喜欢喝茶”" in content_of(page.read_text("utf-8"))
    before = page.stat().st_mtime_ns
    assert (await night(tmp_path, 1)).left == 0
    assert page.stat().st_mtime_ns == before
    assert not (pages(tmp_path) / "archive").exists()


async def test_what_a_person_wrote_beside_the_block_stays_and_what_the_bot_wrote_before_is_kept(
    tmp_path: Path,
) -> None:
    folder = pages(tmp_path)
    plant(tmp_path, "家人", "preferences.md", [passive(1, "小明喜欢喝茶")])
    mine = "\ufeff# 我家\r\n别忘了买米 ^m-handmade\r\n"
    (folder / "MEMORY.md").write_bytes(mine.encode())
    for number in range(2, 7):
        await night(tmp_path, number)
        things = [passive(n, f"第{n}件事") for n in range(number)]
        plant(tmp_path, "家人", "preferences.md", things)
    whole = (folder / "MEMORY.md").read_bytes().decode()
    assert whole.startswith(mine)
    assert "第5件事" not in whole
    assert "第4件事" in content_of(whole)
    assert outside(whole) == mine.removeprefix("\ufeff").replace("\r\n", "\n") + "\n"
    kept = sorted(path.name for path in (folder / "archive").glob("MEMORY*.md"))
    assert kept == ["MEMORY-2.md", "MEMORY-3.md", "MEMORY.md"]
    assert "第3件事" in (folder / "archive" / "MEMORY.md").read_text("utf-8")
    assert "第3件事" not in (folder / "archive" / "MEMORY-2.md").read_text("utf-8")


@pytest.mark.parametrize(
    "content",
    [
        f"{BEGIN}\n我删了一行\n".encode(),
        f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n".encode(),
        f"{END}\n{BEGIN}\n".encode(),
        "老文件".encode("gb18030"),
    ],
)
async def test_a_page_with_damaged_marks_or_bytes_is_left_alone_and_told_of(
    tmp_path: Path, content: bytes
) -> None:
    plant(tmp_path, "家人", "preferences.md", [passive(1, "一件事")])
    page = pages(tmp_path) / "MEMORY.md"
    page.write_bytes(content)
    async with asleep(tmp_path) as rig:
        report = await rig.night("nightly")
        assert report.left == 1
        assert [n.subject for n in rig.notices if n.code == "page_left"] == ["家人/MEMORY.md"]
        assert page.read_bytes() == content
        page.write_text(f"我的话\n{BEGIN}\n{END}\n", "utf-8")
        assert (await rig.night("nightly")).left == 0
        standing = {notice.code for notice in (await rig.engine.status()).notices}
        assert "page_left" not in standing
    assert page.read_text("utf-8").startswith("我的话\n")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
async def test_no_page_is_written_through_a_link(tmp_path: Path) -> None:
    plant(tmp_path, "家人", "preferences.md", [passive(1, "一件事")])
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("别人的", "utf-8")
    (pages(tmp_path) / "MEMORY.md").symlink_to(elsewhere)
    async with asleep(tmp_path) as rig:
        report = await rig.night("nightly")
        assert report.errors
        assert report.backup
    assert elsewhere.read_text("utf-8") == "别人的"


async def test_no_page_and_no_kept_text_of_one_shows_what_was_forgotten(tmp_path: Path) -> None:
    folder, words = pages(tmp_path), "奶奶对花生过敏"
    rules = [passive(n, words, trusted=True, active=True) for n in range(2)]
    plant(tmp_path, "家人", "instructions.md", rules)
    await night(tmp_path)
    plant(tmp_path, "家人", "preferences.md", [passive(7, "小明喜欢喝茶")])
    await night(tmp_path, 1)
    marked = f"{BEGIN}\n{words}\n{END}\n我的话"  # as earlier versions wrote that page
    (folder / "PRIMER.md").write_text(marked, "utf-8")
    assert words in (folder / "archive" / "MEMORY.md").read_text("utf-8")
    async with asleep(tmp_path, later=2) as rig:
        for memory in (*rules, passive(7, "")):
            await rig.forget(memory.memory_id, HERE, person(9, admin=True))
    await night(tmp_path, 3)
    shown = [path for path in folder.rglob("*.md") if path.stem.startswith(("MEMORY", "PRIMER"))]
    assert {path.name for path in shown} >= {"MEMORY.md", "PRIMER.md", "MEMORY-2.md"}
    for path in shown:
        assert words not in path.read_text("utf-8")
        assert "喝茶" not in path.read_text("utf-8")
    assert "我的话" in (folder / "PRIMER.md").read_text("utf-8")
