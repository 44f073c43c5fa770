"""A turn that the disk refuses is held in memory, in its order and its scope, and written when it
can be; the status says so meanwhile."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import ObserveOutcome, Refused, Turn
from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.reflection import turn_queue
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = pytest.mark.engine

HELD, LOST = "turns_held", "turns_lost"
SAID = [f"第{number}天喝了{number}杯燕麦奶" for number in range(1, 11)]

type Refusal = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is given up soon, and what is held is tried again soon."""
    monkeypatch.setattr(SqliteLoopFile, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(turn_queue, "_RETRY_SECONDS", (0.05,))


@contextmanager
def locked(root: Path, _: pytest.MonkeyPatch) -> Iterator[None]:
    """Another program has the file for itself."""
    other = sqlite3.connect(root / "state" / "loop.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


@contextmanager
def no_folder(_: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The scope's folder cannot be made."""

    def refuse(*_: object) -> None:
        raise VaultWriteFailed("No space left on device")

    with patch.context() as patched:
        patched.setattr(MarkdownVault, "ensure", refuse)
        yield


async def observed(rig: Rig, text: str, number: int = 777) -> ObserveOutcome:
    turn = Turn(person(1), text, "好")
    return await rig.engine.service.observe(turn, conversation_id=group(number))


def standing(rig: Rig) -> dict[str, str]:
    """The count that each notice of held or lost turns names."""
    notices = [one for one in rig.engine.notices if one.code in (HELD, LOST)]
    return {one.code: one.params["count"] for one in notices}


def queued(rig: Rig) -> list[tuple[str, str]]:
    """Scope and words of all turns on disk, in their order."""
    file = rig.root / "state" / "loop.sqlite"
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    rows = connection.execute("SELECT scope, user_text FROM turn ORDER BY place").fetchall()
    connection.close()
    return rows


async def until_written(rig: Rig, count: int) -> None:
    async def written() -> bool:
        return len(queued(rig)) == count and not standing(rig)

    await until(written, within=60, what="the held turns on disk")


@pytest.mark.parametrize("refusal", [locked, no_folder])
async def test_turns_that_the_disk_refuses_are_written_once_it_takes_them(
    refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = ScriptedChat()
    chat.present = False
    async with running(tmp_path, chat=chat, words_alone=True) as rig:
        reading = asyncio.create_task(rig.engine.reflection.run())
        await observed(rig, SAID[0])
        with refusal(tmp_path, monkeypatch):
            for number, text in enumerate(SAID[1:]):
                where = 777 if number % 2 else 888
                assert await observed(rig, text, where) == Refused("held")
            assert standing(rig) == {HELD: "9"}
            assert len(queued(rig)) == 1
        await until_written(rig, 10)
        scopes = ["家人", *(["公司", "家人"] * 5)[:9]]
        assert queued(rig) == list(zip(scopes, SAID, strict=True))

        async def recalled() -> bool:
            return SAID[2] in await rig.texts(SAID[2], group(777))

        await until(recalled, within=60, what="a turn that was held, recalled")
        assert (await rig.engine.status()).loop.queue.waiting == 10
        reading.cancel()


async def test_what_memory_does_not_hold_is_counted_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_queue, "_MOST_HELD", 2)
    async with running(tmp_path, chat=ScriptedChat(), words_alone=True) as rig:
        with locked(tmp_path, monkeypatch):
            notes = [await observed(rig, text) for text in SAID[:4]]
            held, lost = Refused("held"), Refused("not_written")
            assert notes == [held, held, lost, lost]
            assert standing(rig) == {HELD: "2", LOST: "2"}

        async def written() -> bool:
            return len(queued(rig)) == 2 and HELD not in standing(rig)

        await until(written, within=60, what="the held turns on disk")
        assert standing(rig) == {LOST: "2"}
        assert [text for _, text in queued(rig)] == SAID[:2]


async def test_what_is_held_is_written_when_the_engine_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_queue, "_RETRY_SECONDS", (3600.0,))
    async with running(tmp_path, chat=ScriptedChat(), words_alone=True) as rig:
        with locked(tmp_path, monkeypatch):
            assert await observed(rig, SAID[0]) == Refused("held")
    assert queued(rig) == [("家人", SAID[0])]
