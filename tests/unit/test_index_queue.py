"""What the index does not know yet is counted as it is listed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.service.catalogue import key_of
from astrbot_plugin_scoped_memory.llm_memory.service.index_queue import IndexQueue

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
    "settle": lambda queue, number: queue.settle(queue.first(number)),
    "park": lambda queue, _: [queue.park(entry) for entry in queue.first(1)] and None,
    "unpark": lambda queue, _: queue.unpark(),
    "postpone": lambda queue, _: [queue.postpone(entry) for entry in queue.first(1)] and None,
}


@given(st.lists(st.tuples(st.sampled_from([*ACTS]), st.integers(0, 3)), max_size=40))
def test_the_counts_are_those_of_the_lists_whatever_happened(
    story: list[tuple[str, int]],
) -> None:
    queue = IndexQueue()
    for act, number in story:
        ACTS[act](queue, number)
        listed = queue.snapshot()
        gone = sum(passage is None for passage in listed.values())
        assert (queue.removals, queue.lacking) == (gone, len(listed) - gone)
        assert queue.lacking == len(queue.living)
