"""The note book follows the disk, tells the indexes what changed and no more, and has room for so
many pieces."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultFileBroken
from astrbot_plugin_scoped_memory.llm_memory.models.passages import NoteChunk
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, SHARED, Place, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.vault.notes import markdown_notes as notes
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.markdown_notes import MarkdownNotes
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.models import NoteFolder
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.note_book import NoteBook

pytestmark = pytest.mark.unit


@dataclass
class Follower:
    """An index that keeps what it was told, by id."""

    book: NoteBook
    told: list[tuple[str, str]] = field(default_factory=list)
    holds: dict[tuple[str, str], str] = field(default_factory=dict)

    def enqueue(self, stored: NoteChunk) -> None:
        self.told.append(("+", stored.text))
        self.holds[stored.place.name, stored.note_id] = stored.text

    def enqueue_removal(self, stored: NoteChunk) -> None:
        self.told.append(("-", stored.text))
        del self.holds[stored.place.name, stored.note_id]

    def recheck(self) -> None:
        assert not self.holds
        for chunk in self.book.all():
            self.enqueue(chunk)


class Desk:
    """A note book over a tree of files."""

    def __init__(self, root: Path, most: int = 1000) -> None:
        self.root = root
        (root / "scopes").mkdir(exist_ok=True)
        self.source = MarkdownNotes(root)
        self.notices = NoticeBoard()
        state = SqliteStateStore(root / "state.sqlite")
        state.open_in_memory()
        self.book = NoteBook(self.source, self.notices, state, most=most)
        self.follower = Follower(self.book)
        self.book.follow_with(self.follower)

    def put(self, path: str, text: str) -> None:
        """A file below the memory root, in place of what stands there."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(".new")
        fresh.write_text(text, "utf-8")
        fresh.replace(target)

    async def changes(self) -> list[tuple[str, str]]:
        """What the index is told of a refresh. The book and the index agree behind it."""
        self.follower.told.clear()
        await self.book.refresh()
        assert self.texts() == sorted(self.follower.holds.values())
        assert len(self.book) == len(self.follower.holds)
        return self.follower.told

    def texts(self) -> list[str]:
        """All that the book holds."""
        return sorted(chunk.text for chunk in self.book.all())

    def warnings(self) -> list[str]:
        """What its owner is told."""
        return [
            f"{n.params['scope']}/{n.params['path']} {n.params['reason']}"
            for n in self.notices.standing()
        ]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Over an empty tree."""
    return Desk(tmp_path)


async def test_only_what_changed_is_told(desk: Desk) -> None:
    desk.put("shared/a.md", "# 甲\n一\n# 乙\n二")
    desk.put("scopes/家人/b.md", "三")
    assert await desk.changes() == [("+", "三"), ("+", "# 甲\n一"), ("+", "# 乙\n二")]
    assert await desk.changes() == []
    desk.put("shared/a.md", "前言\n# 甲\n一\n# 乙\n二二")
    assert await desk.changes() == [("-", "# 乙\n二"), ("+", "前言"), ("+", "# 乙\n二二")]
    assert [chunk.first for chunk in desk.book.all() if chunk.headings == ("甲",)] == [2]
    (desk.root / "shared/a.md").unlink()
    assert await desk.changes() == [("-", "前言"), ("-", "# 甲\n一"), ("-", "# 乙\n二二")]
    assert desk.texts() == ["三"]


async def test_another_file_in_its_place_is_read_though_it_looks_as_it_did(desk: Desk) -> None:
    desk.put("shared/a.md", "一")
    await desk.changes()
    file = desk.root / "shared/a.md"
    before = file.stat()
    desk.put("shared/a.md", "壹")  # as long, and with the clock turned back
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert await desk.changes() == [("-", "一"), ("+", "壹")]


async def test_a_folder_that_goes_takes_its_notes_and_a_tree_that_goes_does_not(
    desk: Desk,
) -> None:
    desk.put("roles/猫娘/a.md", "喵")
    await desk.changes()
    (desk.root / "scopes").rename(desk.root / "away")
    (desk.root / "roles").rename(desk.root / "roles-away")
    assert await desk.changes() == []
    assert desk.texts() == ["喵"]
    (desk.root / "away").rename(desk.root / "scopes")
    assert await desk.changes() == [("-", "喵")]


async def test_what_cannot_be_looked_into_is_not_forgotten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("shared/a.md", "一")
    await desk.changes()
    monkeypatch.setattr(desk.source, "list_files", lambda _: NoteFolder(whole=False))
    assert await desk.changes() == []
    assert desk.texts() == ["一"]


async def test_a_file_that_gets_an_entry_is_a_note_no_more(desk: Desk) -> None:
    desk.put("scopes/家人/a.md", "# 我们家\n话")
    await desk.changes()
    desk.put("scopes/家人/a.md", "# 我们家\n话\n\n## 奶奶对花生过敏 ^m-abcd\n")
    assert await desk.changes() == [("-", "# 我们家\n话")]


async def test_what_is_broken_is_said_once_and_taken_back_when_it_is_mended(desk: Desk) -> None:
    (desk.root / "shared").mkdir()
    (desk.root / "shared/a.md").write_bytes("奶奶的生日是十月".encode("gb18030"))
    (desk.root / "roles/%41").mkdir(parents=True)
    await desk.changes()
    expected = ["memory/roles/%41 illegal_role", "memory/shared/a.md gb18030"]
    assert sorted(desk.warnings()) == expected
    await desk.changes()
    assert sorted(desk.warnings()) == expected
    desk.put("shared/a.md", "奶奶的生日是十月")
    (desk.root / "roles/%41").rmdir()
    assert await desk.changes() == [("+", "奶奶的生日是十月")]
    assert desk.warnings() == []


async def test_a_file_that_cannot_be_read_for_a_moment_stays_as_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("shared/a.md", "一")
    await desk.changes()
    desk.put("shared/a.md", "二二")

    def refuse(place: Place, path: str) -> tuple[NoteChunk, ...]:
        raise VaultFileBroken(path, "unreadable")

    with monkeypatch.context() as locked:
        locked.setattr(desk.source, "read", refuse)
        assert await desk.changes() == []
        assert desk.texts() == ["一"]
    assert await desk.changes() == [("-", "一"), ("+", "二二")]


async def test_a_thousand_broken_files_are_no_thousand_warnings(desk: Desk) -> None:
    (desk.root / "shared").mkdir()
    for number in range(30):
        (desk.root / f"shared/{number:02}.md").write_bytes(b"\xff\xfe\xfa")
    await desk.changes()
    assert len(desk.warnings()) == 20
    for number in range(25):
        (desk.root / f"shared/{number:02}.md").unlink()
    await desk.changes()
    assert desk.warnings() == [f"memory/shared/{number}.md not_utf8" for number in range(25, 30)]


async def test_a_note_that_breaks_is_out_of_the_index_until_it_is_mended(desk: Desk) -> None:
    desk.put("shared/a.md", "一")
    await desk.changes()
    # Longer than before: the same file, and maybe within the same tick of the disk's clock.
    (desk.root / "shared/a.md").write_bytes(b"\xff\xff\xfe\xfa")
    assert await desk.changes() == [("-", "一")]
    assert desk.warnings() == ["memory/shared/a.md not_utf8"]


async def test_there_is_room_for_so_many_pieces_and_it_is_used_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, most=3)
    desk.put("shared/a.md", "# 一\n1\n# 二\n2")
    desk.put("shared/b.md", "# 三\n3\n# 四\n4")
    desk.put("shared/c.md", "五")
    await desk.changes()
    assert desk.texts() == ["# 一\n1", "# 二\n2", "五"]
    assert desk.warnings() == ["memory/shared/b.md too_many"]
    (desk.root / "shared/a.md").unlink()
    await desk.changes()
    assert desk.texts() == ["# 三\n3", "# 四\n4", "五"]
    assert desk.warnings() == []


async def test_a_section_that_is_gone_is_what_was_known_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("shared/a.md", "# 甲\n一")
    await desk.changes()
    (chunk,) = desk.book.all()
    assert (await desk.book.section(chunk)).text == "# 甲\n一"
    desk.put("shared/a.md", "# 乙\n二")
    assert (await desk.book.section(chunk)).text == "# 甲\n一"
    monkeypatch.setattr(notes, "MAX_FILE", 3)
    assert (await desk.book.section(chunk)).text == "# 甲\n一"


async def test_a_record_is_as_old_as_its_decision_whenever_the_file_was_written(desk: Desk) -> None:
    meta = "> 已接受 · 2026-03-05T12:00:00+08:00 · Issue：#12 · 提案：sha256:1f0c4e"
    text = f"# 决定\n\n开头\n\n## D-0003 用甲\n{meta}\n\n因为快\n\n## 附\n别的\n"
    desk.put("shared/DECISIONS.md", text)
    desk.put("shared/other.md", f"## D-0004 不是记录\n{meta}\n")
    await desk.changes()
    dated = {chunk.headings[-1] for chunk in desk.book.all() if chunk.modified.month == 3}
    assert dated == {"D-0003 用甲"}


async def test_a_piece_knows_whether_another_file_has_settled_its_record(desk: Desk) -> None:
    def settled() -> set[str]:
        return {chunk.headings[-1] for chunk in desk.book.all() if chunk.settled}

    text = "# 决定\n\n## D-0003 用甲\n一\n### 细节\n二\n\n## D-0004 用乙\n"
    desk.put("shared/DECISIONS.md", text)
    desk.put("shared/other.md", "## D-0003 不是记录\n")
    await desk.changes()
    assert settled() == set()
    desk.put("shared/CONTRACTS.md", "## D-0009 用丙\n> 已接受 · 取代：D-0003\n")
    assert await desk.changes() == [("+", "## D-0009 用丙\n> 已接受 · 取代：D-0003")]
    assert settled() == {"D-0003 用甲", "细节"}
    desk.put("shared/DECISIONS.md", f"{text}三\n")
    await desk.changes()
    assert settled() == {"D-0003 用甲", "细节"}
    (desk.root / "shared/CONTRACTS.md").unlink()
    await desk.changes()
    assert settled() == set()


async def test_each_piece_of_a_record_knows_its_reference(desk: Desk) -> None:
    meta = "> 已接受 · 2026-11-02T23:40:00+08:00 · Issue：#12 · PR：o/r#34 · 提案：sha256:1f0c"
    desk.put(
        "shared/DECISIONS.md",
        f"# 决定\n\n## D-0003 用甲\n{meta}\n\n一\n### 细节\n二\n\n## 别的\n三\n",
    )
    await desk.changes()
    told = {chunk.headings[-1]: chunk.reference for chunk in desk.book.all()}
    of_record = "Issue #12 · PR o/r#34"
    assert told == {"D-0003 用甲": of_record, "细节": of_record, "别的": ""}
    everybody, nobody = ScopeFilter((), shelves=(SHARED,)), ScopeFilter((PUBLIC,))
    found = desk.book.record("sha256:1f0c", everybody)
    assert found is not None
    assert (found.first, desk.book.record("", everybody)) == (3, None)
    assert desk.book.record("sha256:1f0c", nobody) is None
    desk.put("shared/DECISIONS.md", f"## D-0004 用乙\n> 已接受 · Issue：{'长' * 999}\n")
    await desk.changes()
    assert [len(chunk.reference) for chunk in desk.book.all()] == [len("Issue ") + 200]
