"""The bots of these tests, by what their owners have set, and what happens to them.

A file or a folder of tests has one bot. A scenario that lives through a kill is an asynchronous
generator: it yields where it waits, and the bot is killed once for all scenarios that stand there.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import pytest
import pytest_asyncio
from xdist.scheduler import LoadFileScheduling

from astrbot_plugin_scoped_memory.harness.places import ADAPTER, TELEGRAM, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MAP, SHORT_KEYS

type WhileDown = Callable[[], object] | None
"""What is done to a bot's files while it does not run."""
type Scenario = Callable[..., AsyncGenerator[WhileDown]]

UNREAD: Final = {"reflect_after_turns": 40, "reflect_idle_minutes": 1440, "prime_after_hours": 0}
"""Turns are queued, and read when an admin says so."""
BOTS: Final[dict[str, dict[str, Any]]] = {
    "plain": {
        "admins": [ADMIN.user_id],
        "config": {
            "conversation_scope_map": MAP | SHORT_KEYS,
            "reflection_provider": "auto",
            "advanced": UNREAD | {"observe_groups": True},
        },
    },
    "learning": {
        "admins": [ADMIN.user_id, 2001, 1002, 3001, 9001, 9100],
        "config": {
            "conversation_scope_map": {
                group(777).umo: "家人",
                f"{ADAPTER}:FriendMessage:1002": "家人",
                group(888).umo: "公司",
                group(7701).umo: "小家",
                f"{ADAPTER}:FriendMessage:9001": "小家",
                group(8801).umo: "单位",
                group(8851).umo: "社团",
                group(6201).umo: "枫林",
                group(6202).umo: "竹海",
            },
            "reflection_provider": "auto",
            "soul_evolution": "auto",
        },
    },
    "accounts": {
        "admins": [ADMIN.user_id, 4201],
        "embedding_dimensions": 64,
        "config": {
            "conversation_scope_map": {
                f"{TELEGRAM}:GroupMessage:-1001234": "家人",
                f"{TELEGRAM}:GroupMessage:-1001234#9": "工作",
                f"{TELEGRAM}:GroupMessage:-1005678": "邻居",
                f"{TELEGRAM}:GroupMessage:-4242": "姐妹",
                group(581).umo: "家人",
                group(701).umo: "公司",
                "mcp:project:site": "公司",
            },
            "dm_scope": "per-peer",
            "identity_links": {f"{TELEGRAM}:4201": "小明", f"{ADAPTER}:5811": "小明"},
            "advanced": {"mcp_share": True},
        },
    },
    "moved": {
        "admins": [9300],
        "unique_session": True,
        "future_tasks": True,
        "config": {
            "conversation_scope_map": {group(571).umo: "合租", group(591).umo: "租客"},
            "group_scope": "per-group",
            "dm_scope": "per-peer",
            "advanced": {"chroma_headers": {"Authorization": "token-7431"}},
        },
    },
    "shipped": {"admins": [9400, 9500], "as_shipped": True},
}


def bot(name: str, *, scope: Any = "module", **more: Any) -> Any:
    """The fixture ``rig``: this bot, as long as the tests of the file, or folder, run."""

    @pytest_asyncio.fixture(scope=scope, loop_scope="session", name="rig")
    async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
        async with Rig(tmp_path_factory.mktemp(f"{name}-bot"), **BOTS[name], **more) as rig:
            await rig.panel.ready()
            yield rig

    return running


@dataclass(frozen=True)
class Waiting:
    """A scenario that stands at its yield, before the kill with this number."""

    story: AsyncGenerator[WhileDown]
    kill: int
    while_down: WhileDown


@dataclass
class Life:
    """How often a bot was killed, and who waits for that."""

    kills: int = 0
    waiting: dict[Scenario, Waiting | None] = field(default_factory=dict)
    """None for one that has not come to its yield."""

    async def before(self, scenario: Scenario, given: dict[str, Any]) -> None:
        self.waiting[scenario] = None
        story = scenario(**given)
        while_down = await anext(story)
        self.waiting[scenario] = Waiting(story, self.kills, while_down)

    async def after(self, rig: Rig, scenario: Scenario) -> None:
        waits = self.waiting[scenario]
        if waits is None:
            pytest.fail("it has failed before the kill")
        if waits.kill == self.kills:
            await self._kill(rig)
        await anext(waits.story, None)

    async def _kill(self, rig: Rig) -> None:
        await asyncio.to_thread(rig.bot.kill9)
        for one in self.waiting.values():
            if one is not None and one.kill == self.kills and one.while_down is not None:
                await asyncio.to_thread(one.while_down)
        self.kills += 1
        await rig.start()
        await rig.panel.ready()


LIVES: WeakKeyDictionary[Rig, Life] = WeakKeyDictionary()


def through_a_kill(scenario: Scenario) -> Any:
    """A scenario as two tests: up to its yield, and behind it. Its fixtures are those of the first.

    The second, played alone or first, plays both: then the first has nothing left to play."""

    @pytest.mark.parametrize("killed", [False, True], ids=["before", "after a kill"])
    async def test(killed: bool, **given: Any) -> None:
        life = LIVES.setdefault(given["rig"], Life())
        if scenario not in life.waiting:
            await life.before(scenario, given)
        if killed:
            await life.after(given["rig"], scenario)

    own = inspect.signature(scenario)
    killed = inspect.Parameter("killed", inspect.Parameter.KEYWORD_ONLY)
    names = [one.replace(kind=killed.kind) for one in own.parameters.values()]
    test.__signature__ = own.replace(parameters=[killed, *names])  # type: ignore[attr-defined]
    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    test.__module__ = scenario.__module__
    return test


def when(item: pytest.Item) -> tuple[str, int]:
    """The bot of a test, and whether it comes before the others, or after the kill."""
    params: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    return whose(item.path), 1 + params["killed"] if "killed" in params else 0


def whose(file: Path) -> str:
    """The name of the file below this folder, or of the folder that it lies in."""
    return file.relative_to(Path(__file__).parent).parts[0].removesuffix(".py")


class ByBot(LoadFileScheduling):
    """A file at a time, and all files of one bot to one process."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        beneath = file.removeprefix("tests/e2e/")
        return file if beneath == file else beneath.split("/")[0]
