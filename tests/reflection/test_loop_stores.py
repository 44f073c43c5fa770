"""What the memory loop keeps: the same in its file and in one that keeps nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED
from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import (
    ForgetfulLoopFile,
    SqliteLoopFacts,
    SqliteLoopFile,
)

pytestmark = [pytest.mark.unit, pytest.mark.contract]

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=timezone(timedelta(hours=8)))
FAMILY, WORK = "aiocqhttp:GroupMessage:777", "aiocqhttp:GroupMessage:888"


@pytest.fixture(params=[SqliteLoopFile, ForgetfulLoopFile])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteLoopFile]:
    opened: SqliteLoopFile = request.param(tmp_path / "state" / "loop.sqlite")
    assert opened.open()
    yield opened
    opened.close()


@pytest.fixture
def turns(file: SqliteLoopFile) -> SqliteTurnStore:
    return SqliteTurnStore(file)


def turn(
    number: int, scope: str = "家人", conversation: str = FAMILY, **more: object
) -> QueuedTurn:
    """One that was said ``number`` minutes after noon."""
    made = QueuedTurn(
        ticket_id=f"t-{number}",
        scope=scope,
        conversation=conversation,
        persona="管家",
        observed_at=NOON + timedelta(minutes=number),
        person=f"aiocqhttp:{number}",
        who="小明",
        user_text=f"第{number}句",
        reply_text="好",
        recalled=("m-1", "m-2"),
    )
    return replace(made, **more)  # type: ignore[arg-type]


def put(turns: SqliteTurnStore, *several: QueuedTurn) -> Sequence[QueuedTurn]:
    """They wait to be read."""
    for one in several:
        turns.put(one)
    return several


def test_a_turn_comes_back_as_it_was_put_in_and_once(turns: SqliteTurnStore) -> None:
    odd = turn(1, user_text="'; DROP TABLE turn; --\n\0", who="", recalled=(), persona="")
    put(turns, odd, turn(2), replace(odd, user_text="别的话"))
    assert turns.turns(["t-2", "t-1", "t-9"]) == [odd, turn(2)]
    assert (turns.count(), turns.turns([])) == (2, [])


def test_turns_get_another_scope_with_what_they_are_read_in(turns: SqliteTurnStore) -> None:
    several = put(turns, *map(turn, range(1, 6)), turn(6, "公司"))
    assert turns.keep(several[:2], reply="{}")
    assert turns.keep(several[2:4], error="content")
    named = ["t-1", "t-2", "t-3", "t-5", "t-6", "t-9"]  # t-3 is read together with t-4
    assert turns.rescope(named, "家人", "dm-1") == ["t-1", "t-2", "t-5"]
    scopes = [one.scope for one in turns.turns([one.ticket_id for one in several])]
    assert scopes == ["dm-1", "dm-1", "家人", "家人", "dm-1", "公司"]
    assert [one.scope for one in turns.batches()] == ["dm-1", "家人"]
    # What is answered for the former scope is not asked any more.
    assert not turns.keep([several[4]], reply="{}")


def test_lines_wait_the_oldest_first_and_their_speakers_take_turns(turns: SqliteTurnStore) -> None:
    several = put(
        turns,
        turn(1, person="a"),
        turn(2, "公司", WORK),
        turn(3, person="a"),
        turn(4, persona="猫"),
        turn(5, "公司"),  # the map was changed meanwhile
        turn(6, person="b"),
    )
    lines = turns.lines()
    assert [(*line.name, line.oldest, line.newest, line.count, line.group) for line in lines] == [
        ("家人", FAMILY, "管家", several[0].observed_at, several[5].observed_at, 3, "家人"),
        ("公司", WORK, "管家", several[1].observed_at, several[1].observed_at, 1, "公司"),
        ("家人", FAMILY, "猫", several[3].observed_at, several[3].observed_at, 1, "家人"),
        ("公司", FAMILY, "管家", several[4].observed_at, several[4].observed_at, 1, "公司"),
    ]
    assert turns.waiting(lines[0], 9) == [several[place] for place in (0, 5, 2)]
    assert turns.waiting(lines[0], 1) == [several[0]]
    assert turns.waiting(lines[3], 9) == [several[4]]


def test_turns_wait_or_have_an_answer_or_are_put_aside(turns: SqliteTurnStore) -> None:
    first, second, third, fourth = put(turns, turn(1), turn(2, "公司", WORK), turn(3), turn(4))
    assert turns.keep([first, fourth], reply="{}")
    assert turns.keep([third], error="empty")
    assert not turns.keep([replace(second, user_text="别的")], reply="{}")
    assert [line.scope for line in turns.lines()] == ["公司"]
    size = turns.size()
    assert (size.waiting, size.dead, turns.size(WORK).waiting) == (3, 1, 1)
    # Of an answer that waits nothing is left when one of its turns goes.
    turns.drop(["t-4"])
    assert [one.error for one in turns.batches()] == ["empty"]
    assert turns.keep([first], reply="{}")
    assert (turns.release(dead=True), turns.size().dead) == (1, 0)
    assert turns.release(dead=False) == 1
    assert ([line.count for line in turns.lines()], turns.batches()) == ([2, 1], [])


def test_in_a_full_queue_whoever_holds_the_most_makes_room_but_for_what_is_read(
    file: SqliteLoopFile, turns: SqliteTurnStore
) -> None:
    said = ["家人 a", "家人 b", "家人 b", "家人 b", "dm-1-x c", "dm-2-x d", "dm-3-x e"]
    for number, (scope, who) in enumerate(map(str.split, said)):
        put(turns, turn(number, scope, who, person=who))
    turns.read_now = turns.turns(["t-1"])
    # The loudest of the family, and not what is read; then strangers, who are one group.
    for number, scope, gone in ((10, "公司", "t-2"), (11, "dm-4-x", "t-6"), (12, "dm-4-x", "t-11")):
        assert turns.put_instead(turn(number, scope, "f", person="f"), NOON.date()) == gone
    shares = SqliteLoopFacts(file).shares(NOON.date())
    assert {one.group: one.dropped for one in shares} == {"家人": 1, UNMAPPED: 2}


def test_every_table_that_holds_words_or_names_a_memory_has_a_scope(file: SqliteLoopFile) -> None:
    found = file.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    names = {str(name) for (name,) in found} - {"meta", "spent", "fact", "sqlite_sequence"}
    assert {"turn", "batch", "evidence"} <= names
    for name in names:
        assert "scope" in {str(row[1]) for row in file.rows(f"PRAGMA table_info({name})")}, name
