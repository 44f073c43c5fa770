"""What lives as long as the engine is set apart from what the garbage collector looks at."""

from __future__ import annotations

import gc

import pytest

from astrbot_plugin_scoped_memory.llm_memory.runtime.lifecycle import long_lived

pytestmark = pytest.mark.unit


def test_what_is_made_to_stay_is_set_apart_before_the_collector_looks_at_it() -> None:
    try:
        with pytest.raises(LookupError), long_lived():
            assert not gc.isenabled()
            made = [[number] for number in range(1000)]
            raise LookupError
        assert gc.isenabled()
        assert gc.get_freeze_count() >= len(made)
    finally:
        gc.unfreeze()
