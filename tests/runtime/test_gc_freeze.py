"""What lives as long as the engine is set apart from what the garbage collector looks at."""

from __future__ import annotations

import gc

import pytest

from astrbot_plugin_scoped_memory.llm_memory.runtime.gc_freeze import GROWTH, MANY, GcFreeze

pytestmark = pytest.mark.unit


class Calls(list[str]):
    """What the collector was told."""

    def living(self) -> GcFreeze:
        """Something that tells it here."""
        return GcFreeze(lambda: self.append("freeze"), lambda: self.append("unfreeze"))


def grow(living: GcFreeze, count: int) -> None:
    """So many more memories."""
    for _ in range(count):
        living.grow(1)


def test_a_small_store_leaves_the_collector_alone() -> None:
    calls = Calls()
    living = calls.living()
    grow(living, MANY - 1)
    living.release()
    assert calls == []


@pytest.mark.parametrize("steps", [1, 3])
def test_a_large_one_is_set_apart_now_and_then_and_given_back_once(steps: int) -> None:
    calls = Calls()
    living = calls.living()
    grow(living, MANY + (steps - 1) * GROWTH)
    assert calls == ["freeze"] * steps
    living.release()
    living.release()
    grow(living, MANY - 1)
    assert calls == ["freeze"] * steps + ["unfreeze"]


def test_what_many_records_become_is_set_apart_before_the_collector_looks_at_it() -> None:
    calls = Calls()
    living = calls.living()
    assert living.made(MANY - 1, gc.isenabled)
    assert calls == []
    assert not living.made(MANY, gc.isenabled)
    assert (calls, gc.isenabled()) == (["freeze"], True)

    def fails() -> None:
        assert not gc.isenabled()
        raise LookupError

    with pytest.raises(LookupError):
        living.made(MANY, fails)
    assert gc.isenabled()
    gc.disable()
    try:
        living.made(MANY, list)
        assert not gc.isenabled()
    finally:
        gc.enable()
    living.release()
    assert calls == ["freeze"] * 3 + ["unfreeze"]


def test_the_interpreters_own_collector_is_what_is_told() -> None:
    before = gc.get_freeze_count()
    living = GcFreeze()
    try:
        grow(living, MANY)
        assert gc.get_freeze_count() > before
    finally:
        living.release()
    assert gc.get_freeze_count() == 0
