"""What one load of the plugin says of itself: on the panel's routes, with the same keys in every
state; of recalls no word of a memory or a question."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_jsonable_python

from astrbot_plugin_scoped_memory.core.host.panel_map import MAP_KEY, NotSaved, PanelMap
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.core.plugin_names import plugin_version
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import EngineClosed, LoopStatus, MigrationStatus, Turn
from astrbot_plugin_scoped_memory.llm_memory.models.recall import DropReason
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakePlugin, loaded

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

MIGRATION, LOOP = map(to_jsonable_python, (MigrationStatus(), LoopStatus()))
EMPTY: dict[str, Any] = {
    "version": plugin_version(), "ready": False, "embedder": "", "index": "off", "words": "waiting",
    "memories": {"total": 0, "by_scope": {}}, "notes": {}, "migration": MIGRATION,
    "queue": 0, "loop": LOOP, "backlog": 0, "leaving": 0,
    "scope_check_drops": 0, "left_behind": [], "warnings": [], "recalls": [],
}  # fmt: skip
OF_A_RECALL = {"conversation", "at", "scopes", "arm", "milliseconds", "dropped", "notes", "chance"}
OF_A_CANDIDATE = {"scope_name", "memory_id", "score", "terms"}


async def status(plugin: Any) -> dict[str, Any]:
    """What the route answers, as it comes out of JSON."""
    made = await PluginContext.status(plugin)
    read: dict[str, Any] = json.loads(json.dumps(made, allow_nan=False))
    assert read == made
    assert made.keys() == EMPTY.keys()
    assert made["memories"]["total"] == sum(made["memories"]["by_scope"].values())
    assert all(isinstance(warning, str) for warning in made["warnings"])
    return read


async def test_a_plugin_that_is_not_open_or_cannot_be_has_all_keys_and_its_warnings(
    tmp_path: Path,
) -> None:
    data = tmp_path / "a-file-instead-of-a-folder"
    data.write_text("x", encoding="utf-8")
    plugin = loaded(data, conversation_scope_map=MAP, auto_inject_topk="viele")

    async def warned(most: int) -> dict[str, Any] | None:
        answer = await status(plugin)
        return answer if len(answer["warnings"]) > most else None

    for opened in (False, True):
        if opened:
            plugin.open()
        answer = await until(partial(warned, opened), within=60, what="a warning")
        for name in ("version", "ready", "memories", "recalls"):
            assert answer[name] == EMPTY[name]
        assert "viele" in "\n".join(answer["warnings"])
    await plugin.close()
    assert list(tmp_path.iterdir()) == [data]


async def test_an_open_engine_counts_by_scope_and_folder_and_a_closed_one_still_answers(
    tmp_path: Path,
) -> None:
    for folder in ("scopes/家人", "shared", "roles/猫娘"):
        note = tmp_path / "memory" / folder / "旅行.md"
        note.parent.mkdir(parents=True)
        note.write_text("# 京都\n\n住在四条\n\n# 大阪\n\n住在难波\n", "utf-8")
    async with running(tmp_path) as rig:
        await rig.engine.scan_notes()
        for number in (777, 888, 999):
            await rig.remember(f"一件事{number}", group(number))
        await rig.until_indexed()
        answer = await status(FakePlugin(rig))
        by_scope = {"家人": 1, "公司": 1, "public": 1}
        assert answer["memories"] == {"total": 3, "by_scope": by_scope}
        assert answer["notes"] == {"scopes/家人": 2, "shared": 2, "roles/猫娘": 2}
        state = [answer[name] for name in ("ready", "index", "backlog", "embedder")]
        assert state == [True, "ready", 0, "fake"]
        await rig.engine.close()
        assert (await status(FakePlugin(rig)))["ready"] is False


async def test_the_queue_counts_vectors_to_be_made_and_turns_to_be_read_and_names_nobody(
    rig: Rig,
) -> None:
    service, plugin = rig.engine.service, FakePlugin(rig)
    await rig.remember("窗台上有猫", group(777))
    for where in (group(777), group(888)):
        turn = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")
        await service.observe(turn, conversation_id=where)
    await service.pause(conversation_id=group(888), actor=person(9, admin=True))
    answer = await status(plugin)
    loop, queue = answer["loop"], answer["loop"]["queue"]
    assert (answer["queue"], answer["backlog"], queue["waiting"], queue["dead"]) == (3, 1, 2, 0)
    assert queue["oldest"].startswith("2026-11-21T18:00")
    assert (loop["spent"]["tokens"], loop["budget"], loop["paused"]) == (0, 50_000, 1)
    for words in ("GroupMessage", "花生"):
        assert words not in json.dumps(loop, ensure_ascii=False)


async def test_what_ends_behind_the_bot_before_its_time_is_logged_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What has no name was to end anyway; a closed engine ends it without a word."""
    plugin = loaded(tmp_path)

    async def breaks(error: Exception) -> None:
        raise error

    for error, name, warns in (
        (EngineClosed("closed"), "files", False),
        (RuntimeError("a bug"), "", False),
        (RuntimeError("a bug"), "files", True),
    ):
        await asyncio.wait([plugin.spawn(breaks(error), name)])
        await asyncio.sleep(0)
        assert ((await status(plugin))["warnings"] != []) is warns
        assert ("a bug" in caplog.text) is ("a bug" in str(error))
    await plugin.close()


async def test_a_provider_that_is_not_there_is_a_warning_once_astrbot_is_up(tmp_path: Path) -> None:
    plugin = loaded(tmp_path, advanced={"rerank_provider": "mein"})
    for up in (False, True):
        assert ("mein" in "\n".join((await status(plugin))["warnings"])) is up
        plugin.up.set()
    await plugin.close()


async def test_each_recall_is_there_with_its_way_and_no_word_of_a_memory(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        hit = await rig.remember("小明对猫毛过敏", group(777))
        await rig.remember("窗台上晾着被子", group(777))
        await rig.until_indexed()
        await rig.recall("谁对猫毛过敏", group(777))
        await rig.recall("猫在哪里", group(888))
        newest, oldest = (await status(FakePlugin(rig)))["recalls"]
    assert newest.keys() >= OF_A_RECALL
    assert all(one.keys() >= OF_A_CANDIDATE for one in oldest["considered"])
    assert (newest["scopes"], newest["considered"]) == (["公司", "public", "@shared"], [])
    assert oldest["scopes"] == ["家人", "public", "@shared"]
    assert oldest["conversation"] == group(777).umo
    first, memory_id = oldest["considered"][0], hit.memory.memory.memory_id
    assert (first["memory_id"], first["scope_name"], first["dropped"]) == (memory_id, "家人", None)
    reasons = {candidate["dropped"] for candidate in oldest["considered"]}
    assert reasons <= {None, *(reason.value for reason in DropReason)}
    told = json.dumps([newest, oldest], ensure_ascii=False)
    for words in ("小明对", "窗台", "被子", "猫毛", "猫在哪"):
        assert words not in told


class FullDisk(dict[str, Any]):
    async def save_config_async(self) -> None:
        raise OSError("no space left")


@pytest.mark.parametrize("before", [{}, {MAP_KEY: {"a": "家人"}}, {"language": "en-US"}])
async def test_what_could_not_be_saved_leaves_the_settings_as_they_were(
    before: dict[str, Any],
) -> None:
    config = FullDisk(before)
    with pytest.raises(NotSaved):
        await PanelMap(config).save({MAP_KEY: {"b": "公司"}, "dm_scope": "main"})
    assert config == before
