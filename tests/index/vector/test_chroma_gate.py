"""Closing waits for the calls inside and lets no other in."""

from threading import Event, Thread

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import Gate

pytestmark = pytest.mark.unit


def test_closing_waits_for_the_call_inside() -> None:
    gate, inside, leave = Gate(), Event(), Event()
    order: list[str] = []

    def call() -> None:
        with gate:
            inside.set()
            leave.wait(30)
            order.append("call ended")

    def close() -> None:
        gate.close()
        order.append("closed")

    threads = [Thread(target=call), Thread(target=close)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    while not gate.closed:
        pass
    with pytest.raises(IndexUnavailable), gate:
        raise AssertionError
    leave.set()
    for thread in threads:
        thread.join(30)
    assert order == ["call ended", "closed"]
