"""The status payload in every state of the plugin: the same keys, always JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.host.web_api import (
    migration_json,
    recalls_json,
    status_json,
)
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.core.plugin_names import plugin_version
from astrbot_plugin_scoped_memory.core.replies.loop_text import loop_json
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.llm_memory import (
    LoopStatus,
    MigrationStatus,
    QueueSize,
    Resting,
    Spent,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.loop import Share
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.plugin import FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
KEYS = {
    "version", "ready", "embedder", "index", "memories", "notes", "migration", "queue", "backlog",
    "scope_check_drops",
    "left_behind",
    "warnings", "loop",
}  # fmt: skip
COUNTERS = (
    "scanned", "patched", "skipped", "remaining", "adopted", "merged", "quarantined", "broken",
)  # fmt: skip
IDLE = {"state": "idle", "mode": "auto", "mode_on": False, **dict.fromkeys(COUNTERS, 0)}


def unopened(data: Path, **config: Any) -> PluginContext:
    """A plugin that AstrBot has loaded, whose engine is not open yet."""
    context = SimpleNamespace(
        get_config=lambda umo=None: {},
        provider_manager=SimpleNamespace(inst_map={}, provider_insts=[]),
    )
    return PluginContext(context, config, data)


async def payload(plugin: Any) -> dict[str, Any]:
    """What the route answers, as it comes out of JSON."""
    made = await status_json(plugin)
    read: dict[str, Any] = json.loads(json.dumps(made, allow_nan=False))
    assert read == made
    assert made.keys() == KEYS
    assert made["memories"].keys() == {"total", "by_scope"}
    assert made["memories"]["total"] == sum(made["memories"]["by_scope"].values())
    assert made["notes"].keys() == {"total", "by_folder"}
    assert made["notes"]["total"] == sum(made["notes"]["by_folder"].values())
    assert made["migration"] == IDLE
    assert all(isinstance(warning, str) for warning in made["warnings"])
    return read


async def test_a_plugin_that_is_switched_off_is_not_ready() -> None:
    assert await payload(None) == {
        "version": plugin_version(),
        "ready": False,
        "embedder": "",
        "index": "off",
        "memories": {"total": 0, "by_scope": {}},
        "notes": {"total": 0, "by_folder": {}},
        "migration": IDLE,
        "queue": 0,
        "loop": loop_json(LoopStatus()),
        "backlog": 0,
        "scope_check_drops": 0,
        "left_behind": [],
        "warnings": [],
    }
    assert migration_json(MigrationStatus()) == IDLE


async def test_before_the_engine_is_open_everything_is_there_and_empty(tmp_path: Path) -> None:
    plugin = unopened(tmp_path, conversation_scope_map=MAP)
    answer = await payload(plugin)
    assert answer["version"] == plugin_version()
    assert answer["ready"] is False
    assert answer["embedder"] == ""
    assert answer["memories"] == {"total": 0, "by_scope": {}}
    assert (answer["queue"], answer["backlog"]) == (0, 0)
    assert list(tmp_path.iterdir()) == []
    await plugin.close()
    assert (await payload(plugin))["ready"] is False


async def test_warnings_about_the_config_come_before_the_engine_is_open(tmp_path: Path) -> None:
    plugin = unopened(tmp_path, auto_inject_topk="viele", dm_scope="per-pear")
    warnings = (await payload(plugin))["warnings"]
    assert any("auto_inject_topk" in warning and "viele" in warning for warning in warnings)
    assert any("per-pear" in warning for warning in warnings)
    await plugin.close()


async def counted(rig: Rig) -> dict[str, Any]:
    """The payload over an engine of the tests."""
    return await payload(FakePlugin(rig))


async def test_an_open_engine_counts_its_memories_by_scope(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        for number in (777, 888, 999):
            await rig.remember(f"一件事{number}", group(number))
            await rig.remember(f"另一件{number}", group(number))
        await rig.until_indexed()
        answer = await counted(rig)
        expected = {"家人": 2, "公司": 2, "public": 2}
        assert answer["memories"] == {"total": 6, "by_scope": expected}
        assert answer["ready"] is True
        assert (answer["index"], answer["backlog"]) == ("ready", 0)
        assert answer["embedder"] == "fake"


async def test_an_engine_without_an_embedder_is_ready_and_says_what_waits(rig: Rig) -> None:
    await rig.remember("窗台上有猫", group(777))
    answer = await counted(rig)
    assert (answer["ready"], answer["embedder"], answer["index"]) == (True, "", "waiting")
    assert answer["memories"]["total"] == 1


async def test_words_alone_are_a_choice_and_no_warning(tmp_path: Path) -> None:
    async with running(tmp_path, words_alone=True) as rig:
        await rig.remember("窗台上有猫", group(777))
        await rig.until_indexed()
        answer = await counted(rig)
        assert (answer["embedder"], answer["index"]) == ("lexical", "lexical")
        assert (answer["backlog"], answer["queue"], answer["warnings"]) == (0, 0, [])


async def test_the_queue_counts_vectors_still_to_be_made_and_turns_still_to_be_read(
    rig: Rig,
) -> None:
    await rig.remember("窗台上有猫", group(777))
    await rig.remember("阳台上有狗", group(777))
    answer = await counted(rig)
    assert (answer["queue"], answer["backlog"], answer["loop"]["waiting"]) == (2, 2, 0)
    turn = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")
    await rig.engine.service.observe(turn, conversation_id=group(777))
    answer = await counted(rig)
    assert (answer["queue"], answer["backlog"], answer["loop"]["waiting"]) == (3, 2, 1)


async def test_an_engine_that_is_closed_still_answers(rig: Rig) -> None:
    await rig.remember("窗台上有猫", group(777))
    await rig.engine.close()
    assert (await counted(rig))["ready"] is False


async def test_an_engine_that_could_not_open_says_why(tmp_path: Path) -> None:
    data = tmp_path / "a-file-instead-of-a-folder"
    data.write_text("x", encoding="utf-8")
    plugin = unopened(data)

    async def warned() -> dict[str, Any] | None:
        answer = await payload(plugin)
        return answer if answer["warnings"] else None

    plugin.open(just_started=False)
    plugin.astrbot_is_up()
    try:
        answer = await until(warned, within=60, what="a warning")
        assert answer["ready"] is False
        assert answer["memories"] == {"total": 0, "by_scope": {}}
        assert recalls_json(plugin) == {"recalls": []}
    finally:
        await plugin.close()


async def test_warnings_of_the_engine_are_texts(tmp_path: Path) -> None:
    async with running(tmp_path, {"aiocqhttp:GroupMessage:1": "家 人"}) as rig:
        (warning, *_) = (await counted(rig))["warnings"]
        assert "aiocqhttp:GroupMessage:1" in warning


async def test_a_rerank_provider_that_is_not_there_is_a_warning_once_providers_are_loaded(
    tmp_path: Path,
) -> None:
    kind = SimpleNamespace(provider_type=SimpleNamespace(value="rerank"))
    loaded = {"mine": SimpleNamespace(meta=lambda: kind)}
    for name, missing in (("mine", False), ("mein", True)):
        plugin = unopened(tmp_path, embedding="lexical", advanced={"rerank_provider": name})
        plugin.astrbot.provider_manager.inst_map = loaded
        plugin.astrbot.get_all_embedding_providers = list
        assert (await payload(plugin))["warnings"] == []
        assert plugin.choose_embedder() is None
        warnings = (await payload(plugin))["warnings"]
        assert any("rerank_provider" in text and "mein" in text for text in warnings) is missing
        plugin.astrbot.provider_manager.inst_map = {"mein": loaded["mine"], **loaded}
        assert (await payload(plugin))["warnings"] == []
        await plugin.close()


async def test_notes_are_counted_by_the_folder_in_which_they_stand(tmp_path: Path) -> None:
    for folder in ("scopes/家人", "shared", "roles/猫娘"):
        note = tmp_path / "memory" / folder / "旅行.md"
        note.parent.mkdir(parents=True)
        note.write_text("# 京都\n\n住在四条\n\n# 大阪\n\n住在难波\n", "utf-8")
    async with running(tmp_path) as rig:
        await rig.engine.scan_notes()
        counts = {"scopes/家人": 2, "shared": 2, "roles/猫娘": 2}
        assert (await counted(rig))["notes"] == {"total": 6, "by_folder": counts}


async def test_the_loop_is_told_in_numbers_and_names_no_conversation(tmp_path: Path) -> None:
    admin = person(9, admin=True)
    async with running(tmp_path) as rig:
        service = rig.engine.service
        for where in (group(777), group(888)):
            turn = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")
            await service.observe(turn, conversation_id=where)
        await service.pause(conversation_id=group(888), actor=admin)
        answer = await payload(FakePlugin(rig))
        loop = answer["loop"]
        assert (answer["queue"], loop["waiting"], loop["dead"]) == (2, 2, 0)
        assert loop["oldest"].startswith("2026-11-21T18:00")
        assert (loop["calls_today"], loop["tokens_today"], loop["daily_tokens"]) == (0, 0, 50_000)
        assert loop["paused"] == 1
        assert "GroupMessage" not in json.dumps(answer["loop"])
        assert "花生" not in json.dumps(answer["loop"], ensure_ascii=False)


def test_every_part_of_the_loops_status_is_in_its_json() -> None:
    told = loop_json(
        LoopStatus(
            provider="auto",
            resting=Resting.BUDGET,
            queue=QueueSize(1, 2, NOW),
            spent=Spent(NOW.date(), 4, 5, 6),
            budget=7,
            error="failed: 500",
            paused=8,
            slept_at=NOW,
            sleeping=True,
            next_sleep=NOW,
            shares=(Share("家人", 8, 9),),
            unasked=11,
        )
    )
    assert told == {
        "provider": "auto", "resting": "budget", "waiting": 1, "dead": 2,
        "oldest": NOW.isoformat(), "calls_today": 4, "failed_today": 5, "tokens_today": 6,
        "daily_tokens": 7, "error": "failed: 500", "paused": 8, "unasked": 11, "sleeping": True,
        "slept_at": NOW.isoformat(), "next_sleep": NOW.isoformat(),
        "shares": [{"scope": "家人", "tokens": 8, "dropped": 9}],
    }  # fmt: skip
    json.dumps(told, allow_nan=False)
