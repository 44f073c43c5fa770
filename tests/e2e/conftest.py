"""Bots that files of tests share; conversations keep tests apart."""

import itertools
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.story_steps import CONFIG
from astrbot_plugin_scoped_memory.tests.e2e.cast import MAP
from astrbot_plugin_scoped_memory.tests.e2e.shared_bots import ADMINS, LEARNING, QUEUEING
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


def bot_of_a_session(name: str, **options: Any) -> Any:
    """A fixture: a running bot that lives as long as the tests of a process."""

    @pytest_asyncio.fixture(scope="session", loop_scope="session", name=name)
    async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
        root = tmp_path_factory.mktemp(f"{name}-bot")
        async with Rig(root, **options) as rig:
            yield rig

    return running


rig = bot_of_a_session("rig", admins=ADMINS["plain"], config={"conversation_scope_map": MAP})
learning = bot_of_a_session(
    "learning", admins=ADMINS["learning"], config=LEARNING, moved_clock=True
)
queueing = bot_of_a_session("queueing", admins=ADMINS["queueing"], config=QUEUEING)
vectors = bot_of_a_session(
    "vectors", embedding_dimensions=64, config={"conversation_scope_map": {group(555).umo: "重启"}}
)
splitting = bot_of_a_session(
    "splitting",
    admins=ADMINS["splitting"],
    unique_session=True,
    future_tasks=True,
    config={"conversation_scope_map": {group(571).umo: "合租", group(591).umo: "租客"}},
)
owners = bot_of_a_session("owners", admins=ADMINS["owners"], config=CONFIG)


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
