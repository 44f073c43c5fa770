"""Chroma's faults become one error of ours; the passing one is tried again; stops pass."""

import asyncio
from collections.abc import Callable

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import DirectoryInUse, IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.vector.faults import attempt, translated

pytestmark = pytest.mark.unit


class Panic(BaseException):
    """What a panic of a native part looks like: no Exception."""


def failing(times: int, message: str) -> Callable[[], int]:
    """A call that fails so many times and then answers how often it was called."""
    calls = 0

    def call() -> int:
        nonlocal calls
        calls += 1
        if calls <= times:
            raise RuntimeError(message)
        return calls

    return call


@pytest.mark.parametrize("error", [RuntimeError("x"), Panic("x"), AttributeError("x"), OSError(28)])
def test_foreign_errors_are_translated_with_their_cause(error: BaseException) -> None:
    message = f"opening: {type(error).__name__}"
    with pytest.raises(IndexUnavailable, match=message) as raised, translated("opening"):
        raise error
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt(), SystemExit(1), GeneratorExit(), asyncio.CancelledError()]
)
def test_requests_to_stop_pass(stop: BaseException) -> None:
    with pytest.raises(type(stop)), translated("opening"):
        raise stop


def test_errors_of_ours_pass_as_they_are() -> None:
    with pytest.raises(DirectoryInUse), translated("opening"):
        raise DirectoryInUse("index")


@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_passing_fault_is_tried_again(times: int) -> None:
    assert attempt("query", failing(times, "Internal error: Error finding id")) == times + 1


@pytest.mark.parametrize(
    ("message", "asked"), [("Internal error: Error finding id", 4), ("disk is full", 1)]
)
def test_what_stays_is_given_up_and_another_fault_at_once(message: str, asked: int) -> None:
    call = failing(4, message)
    with pytest.raises(IndexUnavailable, match=message):
        attempt("query", call)
    for _ in range(4 - asked):  # are left to fail
        with pytest.raises(RuntimeError, match=message):
            call()
    assert call() == 5
