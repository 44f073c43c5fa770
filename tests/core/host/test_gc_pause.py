"""The garbage collector around imports."""

from __future__ import annotations

import gc

import pytest

from astrbot_plugin_scoped_memory.core.host.gc_pause import gc_paused

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


def test_it_is_off_inside_and_as_it_was_afterwards() -> None:
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_import_that_fails_leaves_it_on() -> None:
    with pytest.raises(ImportError), gc_paused():
        raise ImportError
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
