"""Rooms and people of a test's own, and a watch over the log of every bot."""

import itertools
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.bots import when
from astrbot_plugin_scoped_memory.tests.support.dictionary import digested_dictionary

HERE = Path(__file__).parent
_numbers = itertools.count(600_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What lives through a reload or a kill comes behind the rest of its bot. The first test of a
    bot waits for its start as well."""
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    others = [item for item in items if not item.path.is_relative_to(HERE)]
    items[:] = [*sorted(ours, key=when), *others]
    for item in ours:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session", autouse=True)
def dictionary() -> None:
    """Made once, and not by each bot."""
    Rig.dictionary = digested_dictionary()


@pytest.fixture
def room() -> Place:
    """A group that no other test talks in; not mapped."""
    return group(next(_numbers))


@pytest.fixture
def person() -> Person:
    """A person whom no other test knows; not mapped."""
    number = next(_numbers)
    return Person(number, f"友{number}")


@pytest.fixture(autouse=True)
def no_traceback_from_us() -> Iterator[None]:
    """Whatever a test does to a bot, AstrBot's log gets no traceback that names the plugin."""
    yield
    for rig in Rig.running:
        assert rig.bot.own_tracebacks() == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the end of its bot's log."""
    report = yield
    if report.failed:
        for rig in Rig.running:
            report.sections.append((f"end of the log in {rig.root.name}", rig.bot.logs()[-6000:]))
    return report
