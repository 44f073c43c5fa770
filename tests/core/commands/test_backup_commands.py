"""``/memory restore``: the plan, what was done, and why nothing was, in two languages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.commands import backup_commands as moving_commands
from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.llm_memory import Actor, EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import export_store
from astrbot_plugin_scoped_memory.llm_memory.composition.paths import local_now
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable, TransferFailed
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

ADMIN = Actor("10001", "老李", admin=True)
FILE = "house.jsonl"
SETTINGS: dict[str, Any] = {
    "conversation_scope_map": {"qq:GroupMessage:1": "家人", "qq:GroupMessage:2": "公司"},
    "reflection_daily_tokens": 7,
}
FULL_WIDTH = set("、；，。：（）")


class Panel(dict[str, Any]):
    """AstrBot's configuration."""

    async def save_config_async(self) -> None:
        pass


class SavedMeanwhile(Panel):
    """One that the panel's page saves at the same moment."""

    async def save_config_async(self) -> None:
        self["reflection_daily_tokens"] = 9


class MovablePlugin(FakePlugin):
    """One whose store can be restored. ``frees``: the engine is closed meanwhile, as it should."""

    def __init__(self, rig: Rig, language: str, panel: Panel, *, frees: bool = True) -> None:
        super().__init__(rig, language, panel=panel)
        self.paths = EnginePaths.under(rig.root)
        self._frees = frees

    async def reopen(self, between: Callable[[], Awaitable[None]]) -> None:
        if self._frees:
            await self._rig.engine.close()
        await between()


async def put_backup(folder: Path, rig: Rig, settings: dict[str, Any] = SETTINGS) -> None:
    """A backup of another bot in the ``imports/`` of the rig."""
    async with running(folder, follow=False) as old:
        await old.remember("奶奶对花生过敏", group(777))
    imports = rig.root / "imports"
    imports.mkdir()
    paths = EnginePaths.under(folder)
    export_store(paths, imports / FILE, now=local_now(), settings=settings)


async def restore(plugin: MovablePlugin, rest: str) -> str:
    """What is answered."""
    return await Commands(cast("Any", plugin)).restore(group(777), ADMIN, rest)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_plan_names_every_scope_that_it_opens_and_each_person_it_joins(
    tmp_path: Path, language: str
) -> None:
    opened = {f"qq:GroupMessage:{number}": "新的" for number in range(20)} | {"qq:9:x": "家人"}
    links = {"aiocqhttp:1": "老李", "telegram:7": "老李"}
    doors = {
        "advanced.scope_filter_enabled": False,
        "advanced.mcp_share": True,
        "advanced.mcp_share_address": "0.0.0.0:9321",
    }
    saved = {"conversation_scope_map": opened, "identity_links": links, **doors}
    async with running(tmp_path / "new", follow=False) as rig:
        await rig.remember("奶奶对花生过敏", group(777))
        await put_backup(tmp_path / "old", rig, saved)
        panel, say = Panel(identity_links={"aiocqhttp:1": "老李"}), Texts(language).say
        plugin = MovablePlugin(rig, language, panel)
        plan = await restore(plugin, FILE)
        existing = say(
            "moving.plan_scope_existing", scope="家人", memories=1, count=1, keys="qq:9:x → 家人"
        )
        assert existing in plan
        new = say("moving.plan_scope_new", scope="新的", count=20, keys="\n").partition("\n")[0]
        assert new in plan
        both = say("common.and").join(links)
        assert say("moving.plan_link", person="老李", count=2, ids=both) in plan
        await restore(plugin, f"{FILE} confirm")
        assert panel == {"conversation_scope_map": opened, "identity_links": links}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_folder_in_use_is_said_in_words(tmp_path: Path, language: str) -> None:
    async with running(tmp_path / "new", follow=False) as rig:
        await put_backup(tmp_path / "old", rig)
        said = await restore(MovablePlugin(rig, language, Panel(), frees=False), f"{FILE} confirm")
        assert Texts(language).say("engine_off.directory_in_use") in said
        assert str(tmp_path) not in said


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TransferFailed("unreadable", "x"), "it cannot be read (x)"),
        (StateUnavailable("locked"), "something went wrong (StateUnavailable)"),
        (OSError("disk gone"), "disk gone"),
    ],
)
async def test_why_nothing_was_restored_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    async with running(tmp_path / "new", follow=False) as rig:
        await put_backup(tmp_path / "old", rig)
        monkeypatch.setattr(moving_commands, "owned", fail)
        said = await restore(MovablePlugin(rig, "en-US", Panel()), f"{FILE} confirm")
        assert said.startswith("nothing was restored: " + words)


async def test_a_panel_that_saves_meanwhile_is_given_as_the_reason(tmp_path: Path) -> None:
    async with running(tmp_path / "new", follow=False) as rig:
        await put_backup(tmp_path / "old", rig)
        plugin = MovablePlugin(rig, "en-US", SavedMeanwhile())
        said = await restore(plugin, f"{FILE} confirm")
        assert "the panel was saving its settings at the same moment" in said
