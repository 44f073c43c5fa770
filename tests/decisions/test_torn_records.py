"""A record that was cut off at any byte, or written over, ends whole; what others wrote stays byte
for byte, and the owner is told where a piece is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import Catalogue
from astrbot_plugin_scoped_memory.llm_memory.decisions.recorder import Recorder
from astrbot_plugin_scoped_memory.llm_memory.decisions.shared_files import SharedFiles
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import RecordFile
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.llm_memory.storage.appending import find_lines
from astrbot_plugin_scoped_memory.llm_memory.storage.record_intents import (
    IntentState,
    RecordIntent,
    RecordIntents,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.decision_record import Record, render

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 23, 12, 40, tzinfo=UTC)
RECORD = Record(
    7, "检索面用 PostgreSQL", NOW, by="小明", proposal="sha256:1f0c4e5a", body="因为备份。"
)
PAYLOAD = render(RECORD).encode()
TOP = "# 决定\n\n人写的。\n\n".encode()


class Desk:
    """An accept that was killed after it was noted."""

    def __init__(self, root: Path) -> None:
        self.path = root / RecordFile.DECISIONS.path
        self.path.parent.mkdir()
        self.state = SqliteStateStore(root / "state.sqlite")
        self.state.open()
        self.intents = RecordIntents(self.state)

    async def recovered(
        self, content: bytes, *, proposal: str = ""
    ) -> tuple[bytes, list[int], list[RecordIntent]]:
        """What stands in the file at the next start, the lines that the owner is told of, and what
        is noted."""
        self.state.rows("DELETE FROM record")
        self.intents.begin(RecordIntent(7, RecordFile.DECISIONS.path, PAYLOAD, NOW, proposal))
        self.path.write_bytes(content)
        os.utime(self.path, (1_700_000_000, 1_700_000_000))  # nobody is writing it
        board = NoticeBoard()
        files = SharedFiles(self.path.parent.parent, english=False)
        unused: Any = None
        recorder = Recorder(
            files,
            self.intents,
            Catalogue(),
            unused,
            unused,
            board,
            lambda: NOW,
            english=False,
        )
        await recorder.recover()
        told = board.standing()
        assert all(one.code == "record_torn" for one in told)
        lines = [int(one.params["line"]) for one in told]
        return self.path.read_bytes(), lines, self.intents.rows()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.state.close()


def is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def in_crlf(text: bytes) -> bytes:
    return text.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("crlf", [False, True])
async def test_cut_off_at_any_byte_it_is_completed_or_written_whole(desk: Desk, crlf: bool) -> None:
    top, payload = (in_crlf(TOP), in_crlf(PAYLOAD)) if crlf else (TOP, PAYLOAD)
    newline = b"\r\n" if crlf else b"\n"
    own = newline + "人接着写的。".encode() + newline
    for cut in range(1, len(payload), 4 if crlf else 1):
        for behind in (b"", own):
            content = top + payload[:cut] + behind
            after, told, (row,) = await desk.recovered(content)
            assert after.startswith(content), "nothing is cut"
            is_whole = cut >= len(payload.rstrip())
            assert told == ([5] if behind and cut >= 8 and not is_whole else []), cut
            if behind and not is_text(content):  # a person has to mend the file first
                assert (after, row.state) == (content, IntentState.INTENT)
                continue
            at = find_lines(after, payload)
            assert at is not None
            assert after[at + 1 :].count(payload) == 0, "nothing twice"
            assert row.state is IntentState.SETTLED


async def test_what_goes_on_in_the_middle_of_a_line_of_the_body_is_told_too(desk: Desk) -> None:
    cut = PAYLOAD.index("备份".encode())
    content = TOP + PAYLOAD[:cut] + "别的\n".encode()
    after, told, _ = await desk.recovered(content)
    assert (after.startswith(content), after.endswith(PAYLOAD), told) == (True, True, [5])


async def test_written_over_by_an_editor_it_is_written_whole_again(desk: Desk) -> None:
    fields = PAYLOAD.index(b"\n", PAYLOAD.index(b"\n") + 1)
    for start in range(1, fields):
        content = "人存盘的。".encode() + PAYLOAD[start:]
        after, told, (row,) = await desk.recovered(content)
        assert told == ([1] if fields - start >= 8 else []), start
        if is_text(content):
            assert after == content + b"\n" + PAYLOAD
            assert row.state is IntentState.SETTLED
        else:
            assert (after, row.state) == (content, IntentState.INTENT)


async def test_of_a_proposal_that_is_gone_the_piece_is_told_and_nothing_written(desk: Desk) -> None:
    content = TOP + PAYLOAD[:-9] + "\n人接着写的。\n".encode()
    assert await desk.recovered(content, proposal="sha256:1f0c") == (content, [5], [])


@pytest.mark.parametrize(
    "other",
    [
        render(Record(7, "检索面用 SQLite", NOW, body="因为备份。")),
        render(Record(7, RECORD.title, NOW.replace(day=24), body=RECORD.body)),
        render(replace(RECORD, number=6, proposal="sha256:1f0c4e5b")),
        f"人写的。\n\n{RECORD.body}\n",
    ],
)
async def test_what_others_wrote_is_no_piece_of_ours(desk: Desk, other: str) -> None:
    after, told, rows = await desk.recovered(TOP + other.encode())
    assert not told
    assert after.startswith(TOP + other.encode())
    assert bool(rows) == ("D-0007" not in other), "its number is another one's"
