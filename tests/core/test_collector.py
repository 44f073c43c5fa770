"""The garbage collector around imports."""

from __future__ import annotations

import gc

import pytest

from astrbot_plugin_scoped_memory.core.collector import collector_paused

pytestmark = pytest.mark.unit


def test_it_is_off_inside_and_as_it_was_afterwards() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_import_that_fails_leaves_it_on() -> None:
    with pytest.raises(ImportError), collector_paused():
        raise ImportError
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
