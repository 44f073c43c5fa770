"""One bot for most tests, because each start costs seconds; conversations keep tests apart."""

import itertools
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MAP
from astrbot_plugin_scoped_memory.tests.support.dictionary import digested_dictionary

_numbers = itertools.count(600_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of a file may wait for a bot's start as well. A mark of its own is nearer."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session", autouse=True)
def dictionary() -> None:
    """Made once, and not by each bot."""
    Rig.dictionary = digested_dictionary()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """A running bot with two mapped groups and one mapped private chat."""
    root = tmp_path_factory.mktemp("shared-bot")
    config = {"conversation_scope_map": MAP}
    async with Rig(root, admins=[ADMIN.user_id], config=config) as running:
        yield running


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
def no_traceback_from_us(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test does to the bot, AstrBot's log gets no traceback that names the plugin."""
    names = [name for name in ("rig", "running") if name in request.fixturenames]
    rigs: list[Rig] = [request.getfixturevalue(name) for name in names]
    starts = [len(rig.bot.logs(all_starts=True)) for rig in rigs]
    yield
    for rig, start in zip(rigs, starts, strict=True):
        written = rig.bot.logs(all_starts=True)[start:]
        for block in written.split("Traceback (most recent call last)")[1:]:
            assert "astrbot_plugin_scoped_memory" not in block[:6000], block[:6000]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the end of its bot's log."""
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Rig):
                report.sections.append(("end of the bot's log", value.bot.logs()[-6000:]))
    return report
