"""What the index does not know yet is counted as it is listed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import key_of
from astrbot_plugin_scoped_memory.llm_memory.index.index_queue import IndexQueue
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key, Passage
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC

pytestmark = pytest.mark.unit

AT = datetime(2026, 11, 21, tzinfo=UTC)


def stored(number: int, text: str = "奶奶对花生过敏") -> StoredMemory:
    memory = Memory(f"m-aaaaaaaaa{number}", text, AT)
    return StoredMemory(PUBLIC, "entities.md", memory)


Act = Callable[[IndexQueue, int], None]
ACTS: dict[str, Act] = {
    "put": lambda queue, number: queue.put(stored(number, f"第{len(queue)}句")),
    "remove": lambda queue, number: queue.remove(stored(number)),
    "suggest": lambda queue, number: queue.suggest(key_of(stored(number)), stored(number)),
    "suggest gone": lambda queue, number: queue.suggest(key_of(stored(number)), None),
    "mark_written": lambda queue, number: queue.mark_written(queue.first(number)),
    "park": lambda queue, _: [queue.park(entry) for entry in queue.first(1)] and None,
    "unpark": lambda queue, _: queue.unpark(),
    "postpone": lambda queue, _: [queue.postpone(entry) for entry in queue.first(1)] and None,
}


STORIES = st.lists(st.tuples(st.sampled_from([*ACTS]), st.integers(0, 3)), max_size=40)


def listed(queue: IndexQueue) -> dict[Key, Passage | None]:
    """What a lag that begins now tells of a few keys: None for what is gone."""
    with queue.lag() as lag:
        living = {key_of(passage): passage for passage in lag.living()}
        keys = [key_of(stored(number)) for number in range(4)]
        return {key: living.get(key) for key in keys if key in lag}


@given(STORIES, STORIES)
def test_a_lag_knows_all_that_was_on_the_list_at_some_time_and_the_newest_state_of_it(
    before: list[tuple[str, int]], while_it_is_asked: list[tuple[str, int]]
) -> None:
    queue = IndexQueue()
    for act, number in before:
        ACTS[act](queue, number)
    with queue.lag() as lag:
        seen = listed(queue)
        for act, number in while_it_is_asked:
            ACTS[act](queue, number)
            now = listed(queue)
            gone = sum(passage is None for passage in now.values())
            assert (queue.removals, queue.lacking) == (gone, len(now) - gone)
            assert queue.lacking == len(queue.living)
            seen |= now
        assert {key for key in seen if key in lag} == {*seen}
        assert {key_of(one): one for one in lag.living()} == {
            key: passage for key, passage in seen.items() if passage is not None
        }
