"""Whatever stands in the front matter of a note: nothing raises, nothing is written, no value is
taken from it, and the rest of the file, and every other file, is read as without it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.decisions.files import (
    SharedFiles,
    SharedRecords,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import NoteChunk
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.appended_block import open_fence
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.blocks import lines_of
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.markdown_notes import MarkdownNotes
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.note_book import NoteBook
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import photograph

pytestmark = [pytest.mark.unit, pytest.mark.property]

PLACES = {
    "shared/DECISIONS.md": "shared/CONTRACTS.md",
    "shared/CONSTITUTION.md": "shared/RUNBOOK.md",
    "roles/qa/plan.md": "roles/qa/MEMORY.md",
    "scopes/家人/旅行.md": "scopes/家人/手册.md",
    "handbook.md": "2026-11-21.md",
}
"""A file with front matter, and another one beside it."""
NOW = datetime(2026, 11, 23, tzinfo=UTC)
BODY = """\
# 决定

## D-0003 用甲
> 已接受 · 2026-11-02T23:40:00+08:00 · Issue：#12

因为有了。

## D-0004 用乙
> 已接受 · 2026-11-03T23:40:00+08:00 · 取代：D-0003
"""
HOSTILE = [
    "scope: 家人", "memory_scope: public", "role: qa", "root: D:\\记忆", "id: n-0123456789",
    "title: &a [*a, *a]", "x: !!python/object/apply:os.system ['touch x']", "date: 1970-01-01",
    "状态：已接受 D-0003", "## D-0099 用丙", "> 已接受 · 撤回：D-0004", "取代：D-0004", "```",
    "~~~", "<!--", "<pre>", "trusted: true", "include: ../../etc/passwd", "--", "----", "...x", "",
    "<!-- scoped-memory:begin x -->", "\t- x", "# 标题", "标题", "===", "\x00", "\u202e", "\u2028",
    "x" * 3000,
]  # fmt: skip
lines = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), max_size=8).map("\n".join)
fronts = lines.filter(
    lambda text: not {"---", "..."} & {line.rstrip() for line in _split(text)} and _sendable(text)
)
"""What may stand between two lines of dashes."""
newlines = st.sampled_from(["\n", "\r\n"])


def _split(text: str) -> list[str]:
    return text.replace("\r", "\n").split("\n")


def _sendable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


class Tree:
    """The files, and who reads them."""

    def __init__(self, root: Path) -> None:
        self.root = root / "memory"
        (self.root / "scopes").mkdir(parents=True)
        self.notices = NoticeBoard()
        state = SqliteStateStore(root / "state.sqlite")
        state.open_in_memory()
        self.book = NoteBook(MarkdownNotes(self.root, reads_root=True), self.notices, state)

    def put(self, path: str, content: bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def read(self) -> dict[str, list[NoteChunk]]:
        """The pieces by their file, once all was read and nothing was written."""
        before = photograph(self.root)
        asyncio.run(self.book.refresh())
        self.records()
        assert photograph(self.root) == before
        found: dict[str, list[NoteChunk]] = {}
        for chunk in self.book.all():
            file = f"{chunk.place.folder}/{chunk.path}".removeprefix("./")
            found.setdefault(file, []).append(chunk)
        return found

    def records(self) -> SharedRecords:
        return SharedFiles(self.root, english=False).records()

    def unread(self) -> set[str]:
        """The files that the owner is told of."""
        self.notices.clear("root_read")
        found = self.notices.standing()
        assert all(notice.code == "vault_file_broken" for notice in found)
        return {notice.params["path"] for notice in found}


@contextmanager
def tree(front: bytes) -> Iterator[Tree]:
    """Each place has a file that begins so, and one that does not."""
    with tempfile.TemporaryDirectory() as folder:
        made = Tree(Path(folder))
        for path, beside in PLACES.items():
            made.put(path, front + BODY.encode())
            made.put(beside, "# 别的\n\n别的字。\n".encode())
        yield made


def bare(pieces: list[NoteChunk], below: int) -> list[NoteChunk]:
    """Those below so many lines, as if these were not there."""
    rest = (piece for piece in pieces if piece.last > below)
    placed = (replace(one, first=one.first - below, last=one.last - below) for one in rest)
    return sorted((replace(one, modified=NOW) for one in placed), key=lambda one: one.first)


@given(fronts, newlines)
@example("## D-0099 用丙\n> 已接受 · 取代：D-0003", "\n")
@example("scope: 家人\nid: n-0123456789", "\r\n")
def test_no_value_is_taken_from_it_and_the_rest_is_read(front: str, newline: str) -> None:
    head = f"---\n{front}\n---\n".replace("\n", newline)
    count = len(lines_of(head))
    with tree(b"") as plain, tree(head.encode()) as given:
        expected, found = plain.read(), given.read()
        assert not given.unread()
        assert set(found) == {*PLACES, *PLACES.values()} == set(expected)
        for path, pieces in found.items():
            below = count if path in PLACES else 0
            assert bare(pieces, below) == bare(expected[path], 0), path
            assert all(one.last <= below for one in pieces if one.first <= below), path
        read, expected_records = given.records(), plain.records()
        assert [replace(one, line=0) for one in read.items] == [
            replace(one, line=0) for one in expected_records.items
        ]
        assert read.became == expected_records.became
        assert read.highest >= 4, "a number that any heading has is not given again"
        assert open_fence(head + BODY) is None


@given(st.binary(max_size=60), st.booleans())
@example(b"\xff\xfe\x00", True)
@example("状态：已接受".encode("gb18030"), True)
@example("# x".encode("utf-16"), False)
def test_bytes_that_are_no_text_are_told_and_keep_no_other_file_back(
    front: bytes, closed: bool
) -> None:
    with tree(b"---\n" + front + (b"\n---\n" if closed else b"\n")) as given:
        found = given.read()
        assert {*PLACES.values()} <= set(found)
        missing = {path for path in PLACES if path not in found}
        assert {path.rpartition("/")[2] for path in missing} <= given.unread()
        assert given.unread() <= {path.rpartition("/")[2] for path in PLACES}
