"""What an old buffer dropped is put back once; what a person deletes stays deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.decisions.payload import Payload
from astrbot_plugin_scoped_memory.llm_memory.decisions.shared_files import SharedFiles
from astrbot_plugin_scoped_memory.llm_memory.decisions.stale_saves import BUFFER, StaleSaves
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import RecordFile
from astrbot_plugin_scoped_memory.llm_memory.models.status import NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.llm_memory.storage.record_intents import (
    IntentState,
    RecordIntent,
    RecordIntents,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.decision_record import (
    Record,
    records_of,
    render,
)

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 23, 12, 40, tzinfo=UTC)
FILE = RecordFile.DECISIONS


class Desk:
    """Records in a file, noted in a state, and a clock that stands."""

    def __init__(self, root: Path) -> None:
        self.now = NOW
        self.path = root / FILE.path
        self.state = SqliteStateStore(root / "state.sqlite")
        self.state.open()
        self.files = SharedFiles(root, english=False)
        self.intents = RecordIntents(self.state)
        self.notices = NoticeBoard()
        self._saves = StaleSaves(
            self.files, self.intents, self.notices, lambda: self.now, settle_seconds=0
        )

    def publish(self, number: int) -> None:
        """As the recorder does."""
        text = render(Record(number, f"第{number}件", NOW, body="因为。"))
        row = RecordIntent(number, FILE.path, text.encode(), self.now, f"sha256:{number}")
        self.intents.begin(row)
        self.files.append(FILE, Payload(row))
        self.intents.advance(number, IntentState.SETTLED, self.now)

    async def mended(self, **later: float) -> list[int]:
        """The numbers in the file after a look at it so much later."""
        self.now += timedelta(**later)
        await self._saves.mend()
        return [one.record.number for one in records_of(self.text)]

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @text.setter
    def text(self, text: str) -> None:
        self.path.write_text(text, "utf-8")

    @property
    def kept(self) -> list[int]:
        """The numbers of those whose words the state still has."""
        return [row.number for row in self.intents.rows() if row.payload]

    @property
    def told(self) -> list[str]:
        found = self.notices.standing()
        assert all(notice.code is NoticeCode.RECORD_PUT_BACK for notice in found)
        return [notice.params["number"] for notice in found]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """With one record."""
    made = Desk(tmp_path)
    made.publish(1)
    yield made
    made.state.close()


async def test_what_an_old_buffer_dropped_is_put_back_in_its_order(desk: Desk) -> None:
    buffer = desk.text
    desk.publish(2)
    desk.publish(3)
    whole = desk.text
    desk.text = buffer + "\n人写的。\n"
    assert await desk.mended(minutes=5) == [1, 2, 3]
    assert desk.text.startswith(buffer + "\n人写的。\n")
    assert desk.told == ["D-0002", "D-0003"]
    desk.text = whole
    assert await desk.mended(minutes=5) == [1, 2, 3]


async def test_a_save_that_had_begun_before_drops_it_in_vain(desk: Desk) -> None:
    buffer = desk.text
    desk.publish(2)
    for _ in range(3):
        desk.text = buffer
        assert await desk.mended(seconds=5) == [1, 2]


async def test_what_a_person_deletes_again_stays_deleted(desk: Desk) -> None:
    buffer = desk.text
    desk.publish(2)
    desk.text = buffer
    assert await desk.mended(minutes=1) == [1, 2]
    desk.text = buffer
    assert await desk.mended(minutes=1) == [1]
    assert desk.kept == [1]
    assert await desk.mended(minutes=1) == [1]


async def test_one_that_a_person_has_changed_is_not_missing(desk: Desk) -> None:
    desk.text = desk.text.replace("第1件", "改过的").replace("因为。", "不是因为。")
    assert await desk.mended(minutes=1) == [1]
    assert "因为。" in desk.text
    assert desk.told == []


async def test_after_a_day_no_copy_of_the_words_is_kept(desk: Desk) -> None:
    await desk.mended(seconds=BUFFER.total_seconds())
    assert desk.kept == []
    desk.text = "# 决定\n"
    assert await desk.mended(minutes=1) == []
