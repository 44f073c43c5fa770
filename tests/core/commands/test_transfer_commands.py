"""``/memory export``, ``import`` and ``restore``: the file, the plan, and why nothing was done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.commands import file_commands
from astrbot_plugin_scoped_memory.core.commands.file_commands import imported_lines
from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    Imported,
    LineFault,
    Reason,
    Refused,
    RefusedLine,
)
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import export_store
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable, TransferFailed
from astrbot_plugin_scoped_memory.llm_memory.service.paths import local_now
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk, FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"
FILE = "house.jsonl"


def test_a_report_tells_all_that_it_knows() -> None:
    report = Imported(
        "家人", stored=11, known=14, redacted=16,
        refused=17, stopped_at=99,
        lines=(
            RefusedLine(5, LineFault.NOT_JSON, "x ^m-01jd3q8z7kab"),
            RefusedLine(6, rejected=Refused(Reason.EMPTY)),
        ),
    )  # fmt: skip
    said = "\n".join(imported_lines(Texts("zh-CN"), report))
    told = ("家人", *map(str, (11, 14, 16, 17, 99, 5, 6)))
    assert [one for one in told if one not in said] == []


class Panel(dict[str, Any]):
    """AstrBot's configuration. ``overtaken``: the panel's page saves at the same moment."""

    overtaken = False

    async def save_config_async(self) -> None:
        if self.overtaken:
            self["reflection_daily_tokens"] = 9


class MovablePlugin(FakePlugin):
    """One whose store can be restored. ``frees``: the engine is closed meanwhile, as it should."""

    frees = True

    @property
    def paths(self) -> EnginePaths:
        return EnginePaths.under(self._rig.root)

    async def reopen(self, between: Callable[[], Awaitable[None]]) -> None:
        if self.frees:
            await self._rig.engine.close()
        await between()


async def moved(root: Path, rig: Rig, panel: Panel, settings: dict[str, Any]) -> MovablePlugin:
    """A plugin, with a backup of another bot in its ``imports/``."""
    async with running(root / "old", follow=False) as old:
        await old.remember(PEANUTS, group(777))
    (rig.root / "imports").mkdir()
    paths = EnginePaths.under(root / "old")
    export_store(paths, rig.root / "imports" / FILE, now=local_now(), settings=settings)
    return MovablePlugin(rig, "en-US", panel=panel)


async def test_the_plan_names_what_changes_and_no_door_is_opened(tmp_path: Path) -> None:
    opened = {f"qq:GroupMessage:{number}": "新的" for number in range(20)} | {"qq:9:x": "家人"}
    links = {"aiocqhttp:1": "老李", "telegram:7": "老李"}
    doors = {"advanced.scope_filter_enabled": False, "advanced.mcp_share": True}
    saved = {"conversation_scope_map": opened, "identity_links": links, **doors}
    panel = Panel(identity_links={"aiocqhttp:1": "老李"})
    async with running(tmp_path / "new", follow=False) as rig:
        await rig.remember(PEANUTS, group(777))
        desk = Desk(rig, plugin=await moved(tmp_path, rig, panel, saved))
        plan = await desk(f"restore {FILE}")
        assert desk.say("moving.plan_opens", count=1, scopes="家人") in plan
        for name in ("conversation_scope_map", "identity_links"):
            assert name in plan
        assert panel == {"identity_links": {"aiocqhttp:1": "老李"}}
        await desk("yes")
        assert panel == {"conversation_scope_map": opened, "identity_links": links}


async def test_the_plan_shows_the_words_that_the_bot_would_go_by(tmp_path: Path) -> None:
    """Not what nobody vouched for, and no note of a scope."""
    async with running(tmp_path / "old", follow=False) as old:
        for text, admin in (("骂人", False), ("先问小明", True), ("用敬语", True)):
            await old.remember(f"回答必须{text}", group(777), person(9, admin=admin))
        desk = Desk(old)
        for words in ("decide 定 家里不养狗", "yes"):
            await desk(words)
    for name, text in {
        "shared/CONSTITUTION.md": "# 宪章\n\n一切听小明的\n",
        "shared/DECISIONS.md": "# 决定\n\n## D-0001 群文件公开\n",
        "roles/猫娘/SOUL.md": "说话像小明\n",
        "scopes/家人/MEMORY.md": "门朝南\n",
        "scopes/家人/CONSTITUTION.md": "进门脱鞋\n",
    }.items():
        file = tmp_path / "old" / "memory" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    async with running(tmp_path / "new", follow=False) as rig:
        plan = await Desk(rig, plugin=await moved(tmp_path, rig, Panel(), {}))(f"restore {FILE}")
        for words in ("一切听小明的", "D-0001", "说话像小明", "回答必须先问小明", "回答必须用敬语"):
            assert words in plan
        for name, words in (("CONSTITUTION", "进门脱鞋"), ("decisions", "家里不养狗")):
            assert f"what 家人/{name}.md says: {words}" in plan
        for words in ("骂人", "门朝南", PEANUTS):
            assert words not in plan


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, "another bot is using the data folder"),
        (TransferFailed("unreadable", "x"), "Nothing was done: it cannot be read (x)"),
        (StateUnavailable("locked"), "It could not be written to disk (locked)"),
        (OSError("disk gone"), "Nothing was done: disk gone"),
        ("overtaken", "The panel was saving its settings at the same moment"),
    ],
)
async def test_why_something_was_not_restored_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception | str | None, words: str
) -> None:
    """Without an error: another program has the folder."""

    def fail(*_: object, **__: object) -> None:
        assert isinstance(error, Exception)
        raise error

    async with running(tmp_path / "new", follow=False) as rig:
        panel = Panel()
        plugin = await moved(tmp_path, rig, panel, {"reflection_daily_tokens": 7})
        plugin.frees, panel.overtaken = error is not None, error == "overtaken"
        if isinstance(error, Exception):
            monkeypatch.setattr(file_commands, "owned", fail)
        desk = Desk(rig, plugin=plugin)
        await desk(f"restore {FILE}")
        said = await desk("yes")
        assert words in said
        assert str(tmp_path) not in said
