"""Which files below the memory root are notes, and what is read of them."""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.pointers import pointed_id
from astrbot_plugin_scoped_memory.llm_memory.errors import VaultFileBroken
from astrbot_plugin_scoped_memory.llm_memory.models.scope import SHARED, Place, Scope
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.marked_block import BEGIN, END
from astrbot_plugin_scoped_memory.llm_memory.vault.notes import markdown_notes as notes
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.markdown_notes import MarkdownNotes

pytestmark = pytest.mark.unit

FAMILY = Scope.parse("家人")
CAT = Place.of_role("猫娘")
ENTRY = "## 奶奶对花生过敏 ^m-abcd\n> 知识记忆 · 主动\n"


def put(root: Path, path: str, text: str | bytes = "# 标题\n正文") -> Path:
    """A file below the memory root."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text if isinstance(text, bytes) else text.encode())
    return target


@pytest.fixture
def source(tmp_path: Path) -> MarkdownNotes:
    """Over a tree with one scope."""
    put(tmp_path, "scopes/家人/旅行.md")
    return MarkdownNotes(tmp_path)


def reports(source: MarkdownNotes, place: Place | None = None) -> list[tuple[str, str, str]]:
    """What is wrong with the places, or with the files of one."""
    found = source.places() if place is None else source.list_files(place)
    assert found is not None
    return [(report.scope, report.path, report.reason) for report in found.broken]


def places(source: MarkdownNotes) -> list[str]:
    """The names of the places."""
    found = source.places()
    assert found is not None
    return [place.name for place in found.places]


def test_scopes_shared_and_roles_hold_notes(source: MarkdownNotes, tmp_path: Path) -> None:
    assert places(source) == ["家人"]
    put(tmp_path, "shared/RUNBOOK.md")
    put(tmp_path, "roles/猫娘/SOUL.md")
    put(tmp_path, "roles/a%2Fb/x.md")
    assert places(source) == ["家人", "@shared", "@role:a%2Fb", "@role:猫娘"]
    assert reports(source) == []
    assert list(source.list_files(CAT).files) == ["SOUL.md"]
    put(tmp_path, "roles/猫娘/习惯/SOUL.md")
    put(tmp_path, "soul/猫娘/probes.md")
    assert len(source.list_files(CAT).files) == 2
    for governed in ("chain.jsonl", "versions/0001.md"):  # now its text is injected by itself
        put(tmp_path, f"soul/猫娘/{governed}")
        assert list(source.list_files(CAT).files) == ["习惯/SOUL.md"]
        (tmp_path / "soul" / "猫娘" / "chain.jsonl").unlink(missing_ok=True)
    assert len(places(source)) == 4


def test_what_is_a_topic_file_or_not_recalled_is_no_note(
    source: MarkdownNotes, tmp_path: Path
) -> None:
    for path in (
        "preferences.md", "TASKS.md", "entities-2.md", "Decisions.MD", "journal/2026-11-21.md",
        "journal/2026-11-21-2.md", "memory.md", "PRIMER.md", "archive/x.md", "x.conflict.md",
        "a/MEMORY.md", "x.sync-conflict-1.md", ".obsidian/x.md", ".x.md", "x.txt", "a/.b/x.md",
    ):  # fmt: skip
        put(tmp_path, f"scopes/家人/{path}")
        put(tmp_path, f"shared/{path}")
    put(tmp_path, "scopes/家人/journal/随想.md")
    put(tmp_path, "scopes/家人/深/处/x.MD")
    found = source.list_files(FAMILY).files
    assert list(found) == ["journal/随想.md", "旅行.md", "深/处/x.MD"]
    assert sorted(source.list_files(SHARED).files) == sorted(
        ["preferences.md", "TASKS.md", "entities-2.md", "Decisions.MD", "journal/2026-11-21.md",
         "journal/2026-11-21-2.md", "memory.md", "PRIMER.md", "a/MEMORY.md"]
    )  # fmt: skip


def test_of_a_memory_page_what_a_person_wrote_is_a_note(
    source: MarkdownNotes, tmp_path: Path
) -> None:
    block = f"{BEGIN}\n- 机器人的\n\n## 也是机器人的\n{END}\n"
    for place, path in ((FAMILY, "scopes/家人/MEMORY.md"), (CAT, "roles/猫娘/MEMORY.md")):
        put(tmp_path, path, f"# 记忆\n\n{block}")
        assert "MEMORY.md" in source.list_files(place).files
        assert source.read(place, "MEMORY.md") == (), "the title of a page says nothing"
        put(tmp_path, path, f"# 记忆\n{block}## 我写的\n门卡在抽屉里。\n")
        (chunk,) = source.read(place, "MEMORY.md")
        assert (chunk.headings, chunk.first, chunk.last) == (("记忆", "我写的"), 7, 8)
        section = source.section(chunk)
        assert section is not None
        assert section.text == "## 我写的\n门卡在抽屉里。"
        put(tmp_path, path, f"# 记忆\n{BEGIN}\n- 机器人的\n## 我写的\n")
        with pytest.raises(VaultFileBroken) as raised:
            source.read(place, "MEMORY.md")
        assert raised.value.reason == "marks"


def test_a_file_of_a_scope_that_holds_an_entry_is_no_note(
    source: MarkdownNotes, tmp_path: Path
) -> None:
    text = f"# 我们家\n\n自己写的话。\n\n{ENTRY}\n# 后记\n也是话。\n"
    put(tmp_path, "scopes/家人/家.md", text)
    put(tmp_path, "shared/家.md", text)
    put(tmp_path, "scopes/家人/说明.md", f"```\n{ENTRY}```\n".replace("## ", "// "))
    assert source.read(FAMILY, "家.md") == ()
    assert source.read(FAMILY, "说明.md") != ()
    assert source.read(SHARED, "家.md")[0].headings == ("我们家",)


def test_a_piece_tells_its_place_file_headings_and_lines(
    source: MarkdownNotes, tmp_path: Path
) -> None:
    file = put(tmp_path, "shared/ops/RUNBOOK.md", "\ufeff# 上线\r\n\r\n## 回滚\r\n先停机。\r\n")
    os.utime(file, (1_790_000_000, 1_790_000_000))
    (chunk,) = source.read(SHARED, "ops/RUNBOOK.md")
    assert (chunk.headings, chunk.text) == (("上线", "回滚"), "## 回滚\n先停机。")
    assert (chunk.first, chunk.last) == (3, 4)
    assert chunk.modified.timestamp() == 1_790_000_000
    assert chunk.pointer == f"shared/ops/RUNBOOK.md#{chunk.note_id}"
    assert pointed_id(f"[笔记 · {chunk.pointer}]") == chunk.note_id
    (of_scope,) = source.read(FAMILY, "旅行.md")
    assert of_scope.pointer == f"旅行.md#{of_scope.note_id}"


def test_an_id_is_the_same_after_every_reading_and_another_for_another_piece(
    source: MarkdownNotes, tmp_path: Path
) -> None:
    text = "# 甲\n一样的话\n# 甲\n一样的话\n# 乙\n一样的话\n"
    for path in ("shared/a.md", "shared/b.md", "roles/猫娘/a.md", "scopes/家人/a.md"):
        put(tmp_path, path, text)
    where = [(SHARED, "a.md"), (SHARED, "b.md"), (CAT, "a.md"), (FAMILY, "a.md")]
    read = [chunk.note_id for place, path in where for chunk in source.read(place, path)]
    assert len(set(read)) == len(read) == 12
    put(tmp_path, "shared/a.md", "前言\n\n" + text)
    moved = [chunk.note_id for chunk in source.read(SHARED, "a.md")]
    assert set(read[:3]) < set(moved)


def test_a_section_is_read_from_the_file_as_it_is_now(
    source: MarkdownNotes, tmp_path: Path
) -> None:
    put(tmp_path, "shared/a.md", "# 甲\n一\n## 乙\n二\n")
    first, second = source.read(SHARED, "a.md")
    put(tmp_path, "shared/a.md", "新的一行\n\n# 甲\n一\n## 乙\n三\n")
    section = source.section(first)
    assert section is not None
    assert (section.text, section.first, section.last) == ("# 甲\n一\n## 乙\n三", 3, 6)
    assert source.section(second) is None


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_no_link_is_followed(source: MarkdownNotes, tmp_path: Path) -> None:
    secret = put(tmp_path, "elsewhere/公司/secret.md", "工资表")
    inside = tmp_path / "scopes/家人"
    (inside / "link.md").symlink_to(secret)
    (inside / "folder").symlink_to(secret.parent)
    assert list(source.list_files(FAMILY).files) == ["旅行.md"]
    for path in ("link.md", "folder/secret.md"):
        with pytest.raises(VaultFileBroken, match="link"):
            source.read(FAMILY, path)
    (tmp_path / "shared").symlink_to(secret.parent)
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles/猫娘").symlink_to(secret.parent)
    assert places(source) == ["家人"]
    assert reports(source) == [("memory", "shared", "link"), ("memory/roles", "猫娘", "link")]


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes")
def test_what_is_no_note_or_too_large_is_not_read(
    source: MarkdownNotes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "MAX_FILE", 100)
    put(tmp_path, "scopes/家人/big.md", "字" * 34)
    put(tmp_path, "scopes/家人/fits.md", "字" * 33)
    os.mkfifo(tmp_path / "scopes/家人/pipe.md")
    put(tmp_path, "scopes/quarantine/x.md")
    assert places(source) == ["家人"]
    assert list(source.list_files(FAMILY).files) == ["fits.md", "旅行.md"]
    assert reports(source, FAMILY) == [("家人", "big.md", "too_large")]
    no_notes = ("../公司/x.md", "/etc/passwd", "archive/x.md", "x.txt", "a/../b.md")
    reasons = {"big.md": "too_large", "pipe.md": "unreadable", **dict.fromkeys(no_notes)}
    for path, reason in reasons.items():
        with pytest.raises(VaultFileBroken, match=reason):
            source.read(FAMILY, path)


def test_a_folder_is_found_as_the_disk_spells_it(source: MarkdownNotes, tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "Zoé")
    put(tmp_path, f"roles/{name}/x.md", "正文")
    assert places(source) == ["家人", "@role:Zoé"]
    zoe = Place.of_role("Zoé")
    assert list(source.list_files(zoe).files) == ["x.md"]
    (chunk,) = source.read(zoe, "x.md")
    assert chunk.pointer.startswith("roles/Zoé/x.md#")
    section = source.section(chunk)
    assert section is not None
    assert section.text == "正文"


def test_a_tree_that_is_away_is_told_from_an_empty_one(tmp_path: Path) -> None:
    source = MarkdownNotes(tmp_path / "memory")
    assert source.places() is None
    (tmp_path / "memory/scopes").mkdir(parents=True)
    assert places(source) == []
