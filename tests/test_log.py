"""The engine's log: in the owner's language, with the file and line of the caller."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import log, texts

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def in_chinese() -> Iterator[None]:
    """A test begins and ends with the language of an owner who has set none."""
    log.logger.speak("zh")
    yield
    log.logger.speak("zh")


@pytest.fixture
def records() -> Iterator[list[Any]]:
    """What a sink of the engine's logger hears from INFO up."""
    heard: list[Any] = []
    sink = log.logger.add(lambda message: heard.append(message.record), level="INFO")
    assert sink is not None
    yield heard
    log.logger.remove(sink)


@pytest.mark.parametrize("level", ["info", "warning", "error"])
def test_a_line_names_its_level_and_where_it_was_logged_also_without_loguru(
    records: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    level: str,
) -> None:
    monkeypatch.setattr(log, "_make_loguru", lambda: None)
    standard = log.Logger()
    assert standard.add(print) is None
    standard.speak("en")
    with caplog.at_level(logging.INFO, "scoped_memory"):
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        getattr(log.logger, level)("notes_read", count=1)
        getattr(standard, level)("notes_read", count=1)
        standard.debug("{} is not heard", "100%")
    (ours,), (plain,) = records, caplog.records
    assert (ours["level"].name, plain.levelname) == (level.upper(), level.upper())
    assert (ours["file"].name, ours["line"]) == (Path(__file__).name, line)
    assert (plain.filename, plain.lineno) == (Path(__file__).name, line + 1)
    assert (ours["message"], plain.getMessage()) == ("读到笔记 1 段", "Pieces of notes read: 1")


def test_braces_of_what_is_filled_in_stay(records: list[Any]) -> None:
    log.logger.forward("WARNING", "{x} 100%")
    log.logger.info("state_not_written", error="{x} 100%")
    assert [record["message"] for record in records] == ["{x} 100%", "状态没能写下：{x} 100%"]


def test_no_catalogue_is_read_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "catalogue", pytest.fail)
    log.logger.error("notes_read", count=1)
    sink = log.logger.add(print, level="CRITICAL")
    log.logger.error("notes_read", count=1)
    if sink is not None:
        log.logger.remove(sink)
