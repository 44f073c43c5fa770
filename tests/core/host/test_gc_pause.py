"""The garbage collector around imports."""

from __future__ import annotations

import gc

import pytest

from astrbot_plugin_scoped_memory.core.host.gc_pause import gc_paused

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


@pytest.mark.parametrize("before", [True, False])
def test_it_is_off_inside_and_as_it_was_afterwards_though_the_import_fails(before: bool) -> None:
    try:
        if not before:
            gc.disable()
        with pytest.raises(ImportError), gc_paused():
            assert not gc.isenabled()
            raise ImportError
        assert gc.isenabled() is before
    finally:
        gc.enable()
