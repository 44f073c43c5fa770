"""What the memory loop keeps: the same in its file and in one that keeps nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.loop import UNMAPPED, Batch
from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import SqliteLoopFacts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import (
    ForgetfulLoopFile,
    SqliteLoopFile,
)

pytestmark = [pytest.mark.unit, pytest.mark.contract]

ZONE = timezone(timedelta(hours=8))
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=ZONE)
FAMILY, WORK = "aiocqhttp:GroupMessage:777", "aiocqhttp:GroupMessage:888"


@dataclass
class Stores:
    """Both, over one open file."""

    turns: SqliteTurnStore
    book: SqliteLoopFacts

    def put(self, *turns: QueuedTurn) -> Sequence[QueuedTurn]:
        """They wait to be read."""
        for one in turns:
            self.turns.put(one)
        return turns


@pytest.fixture(params=[SqliteLoopFile, ForgetfulLoopFile])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    file = request.param(tmp_path / "state" / "loop.sqlite")
    opened: SqliteLoopFile = file
    assert opened.open()
    yield Stores(SqliteTurnStore(file), SqliteLoopFacts(file))
    opened.close()


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


def batch(name: str, *, scope: str = "家人", **more: str) -> Batch:
    return Batch(name, scope, FAMILY, **more)


def ids(turns: Sequence[QueuedTurn]) -> list[str]:
    return [one.ticket_id for one in turns]


def test_a_turn_comes_back_as_it_was_put_in_and_once(stores: Stores) -> None:
    odd = turn(1, user_text="'; DROP TABLE turn; --\n\0", who="", recalled=(), persona="")
    for put in (odd, turn(2), replace(odd, user_text="别的话")):
        stores.turns.put(put)
    assert stores.turns.turns(["t-2", "t-1", "t-9"]) == [odd, turn(2)]
    assert stores.turns.count() == 2
    assert stores.turns.turns([]) == []


def test_turns_get_another_scope_with_what_they_are_read_in_and_all_of_it_or_none(
    stores: Stores,
) -> None:
    put = stores.put(*(turn(number) for number in range(1, 6)), turn(6, "公司"))
    assert stores.turns.keep(batch("b-1", reply="{}"), put[:2])
    assert stores.turns.keep(batch("b-2", error="content"), put[2:4])
    named = ["t-1", "t-2", "t-3", "t-5", "t-6", "t-9"]  # t-3 is read together with t-4
    assert stores.turns.rescope(named, "家人", "dm-1") == ["t-1", "t-2", "t-5"]
    assert [one.scope for one in stores.turns.turns([f"t-{n}" for n in range(1, 7)])] == [
        *("dm-1", "dm-1", "家人", "家人", "dm-1", "公司")
    ]
    assert {one.batch_id: one.scope for one in stores.turns.batches()} == {
        "b-1": "dm-1",
        "b-2": "家人",
    }
    assert stores.turns.rescope(named, "家人", "dm-1") == []
    # What is answered for the former scope is not asked any more.
    assert not stores.turns.keep(batch("b-3", reply="{}"), [put[4]])


def test_lines_tell_what_waits_by_scope_conversation_and_persona_the_oldest_first(
    stores: Stores,
) -> None:
    put = stores.put(
        turn(1),
        turn(2, "公司", WORK),
        turn(3),
        turn(4, persona="猫"),
        turn(5, "公司"),  # the map was changed meanwhile
    )
    lines = stores.turns.lines()
    assert [(*line.name, line.oldest, line.newest, line.count, line.group) for line in lines] == [
        ("家人", FAMILY, "管家", put[0].observed_at, put[2].observed_at, 2, "家人"),
        ("公司", WORK, "管家", put[1].observed_at, put[1].observed_at, 1, "公司"),
        ("家人", FAMILY, "猫", put[3].observed_at, put[3].observed_at, 1, "家人"),
        ("公司", FAMILY, "管家", put[4].observed_at, put[4].observed_at, 1, "公司"),
    ]
    assert stores.turns.waiting(lines[0], 9) == [put[0], put[2]]
    assert stores.turns.waiting(lines[0], 1) == [put[0]]
    assert stores.turns.waiting(lines[3], 9) == [put[4]]


def test_the_speakers_of_a_line_take_turns(stores: Stores) -> None:
    stores.put(*(turn(n, person=who) for n, who in enumerate("aaabcb")))
    (line,) = stores.turns.lines()
    assert ids(stores.turns.waiting(line, 5)) == [f"t-{n}" for n in (0, 3, 4, 1, 5)]


def test_turns_wait_or_have_an_answer_or_are_put_aside(stores: Stores) -> None:
    put = stores.put(turn(1), turn(2, "公司", WORK), turn(3))
    assert stores.turns.keep(batch("b-1", reply="{}"), [put[0]])
    assert [line.count for line in stores.turns.lines()] == [1, 1]
    assert stores.turns.keep(batch("b-2", error="empty"), [put[2]])
    assert (stores.turns.size().waiting, stores.turns.size().dead) == (2, 1)
    assert stores.turns.size(WORK).waiting == 1
    assert not stores.turns.keep(batch("b-3", reply="{}"), [replace(put[1], user_text="别的")])
    assert [line.scope for line in stores.turns.lines()] == ["公司"]
    assert stores.turns.retry() == 1
    assert stores.turns.size().dead == 0
    stores.turns.drop_answers()
    assert (len(stores.turns.lines()), stores.turns.batches()) == (2, [])


def test_of_an_answer_that_waits_nothing_is_left_when_one_of_its_turns_goes(
    stores: Stores,
) -> None:
    assert stores.turns.keep(batch("b-1", reply="{}"), stores.put(turn(1), turn(2)))
    assert stores.turns.lines() == []
    stores.turns.drop(["t-1"])
    (line,) = stores.turns.lines()
    assert (line.count, stores.turns.batches()) == (1, [])


def test_in_a_full_queue_whoever_holds_the_most_makes_room_but_for_what_is_read(
    stores: Stores,
) -> None:
    said = ["家人 a", "家人 b", "家人 b", "家人 b", "dm-1-x c", "dm-2-x d", "dm-3-x e"]
    for number, (scope, who) in enumerate(map(str.split, said)):
        stores.put(turn(number, scope, who, person=who))
    stores.turns.read_now = ["t-1"]

    def dropped(number: int, scope: str, who: str) -> str:
        put = turn(number, scope, who, person=who)
        return stores.turns.put_instead(put, day=NOON.date())

    assert dropped(10, "公司", "f") == "t-2"  # the loudest of the family, and not what is read
    assert dropped(11, "dm-4-x", "g") == "t-6"  # strangers are one group
    assert dropped(12, "dm-4-x", "g") == "t-11"
    assert {one.group: one.dropped for one in stores.book.shares(NOON.date())} == {
        "家人": 1,
        UNMAPPED: 2,
    }


def test_every_table_that_holds_words_or_tells_of_a_memory_has_a_scope(tmp_path: Path) -> None:
    file = SqliteLoopFile(tmp_path / "loop.sqlite")
    file.open()
    found = file.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    names = {str(name) for (name,) in found} - {"meta", "spent", "fact", "sqlite_sequence"}
    assert {"turn", "batch", "evidence"} <= names
    for name in names:
        columns = {str(row[1]) for row in file.rows(f"PRAGMA table_info({name})")}
        assert "scope" in columns, name
    file.close()
