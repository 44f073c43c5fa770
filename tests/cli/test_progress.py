"""How far something is, on a terminal and in a file."""

from __future__ import annotations

import io

import pytest

from astrbot_plugin_scoped_memory.llm_memory.cli.progress import ProgressLine

pytestmark = pytest.mark.unit


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def shown(stream: io.StringIO, steps: list[tuple[float, int]]) -> str:
    clock = Clock()
    with ProgressLine(stream, clock) as line:
        for seconds, done in steps:
            clock.now += seconds
            line.show("words", done, 200)
    return stream.getvalue()


def test_a_terminal_has_one_line_that_is_drawn_over_and_ends() -> None:
    text = shown(Terminal(), [(0, 0), (0.01, 1), (0.5, 100), (0.01, 200)])
    drawn = text.split("\r")
    assert [one.split()[-1] for one in drawn[1:]] == [
        "0/200\x1b[K",
        "100/200\x1b[K",
        "200/200\x1b[K",
    ]
    assert "[" + "#" * 15 + "." * 15 + "]" in drawn[2]
    assert text.endswith("\n")
    assert text.count("\n") == 1


def test_a_file_has_a_line_now_and_then() -> None:
    text = shown(io.StringIO(), [(1, 10), (8, 20), (2, 30), (9, 40), (2, 50)])
    assert text == "words 30/200\nwords 50/200\n"


def test_what_takes_no_time_says_nothing_into_a_file() -> None:
    assert shown(io.StringIO(), [(0, 0), (0.1, 200)]) == ""


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_nothing_to_do_is_not_shown(kind: type[io.StringIO]) -> None:
    stream, clock = kind(), Clock()
    with ProgressLine(stream, clock) as line:
        clock.now += 60
        line.show("words", 0, 0)
    assert stream.getvalue() == ""


def test_the_same_twice_is_said_once() -> None:
    text = shown(io.StringIO(), [(20, 10), (20, 10), (20, 11)])
    assert text == "words 10/200\nwords 11/200\n"
