"""``GET /recalls``: the last recalls for the owner, without a word of a memory or a question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.host.web_api import recalls_json
from astrbot_plugin_scoped_memory.core.plugin_names import RECALLS_ROUTE, STATUS_ROUTE
from astrbot_plugin_scoped_memory.llm_memory.models.recall import DropReason
from astrbot_plugin_scoped_memory.llm_memory.recall.explanations import KEPT
from astrbot_plugin_scoped_memory.tests.core.host.test_status_api import unopened
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

KEYS = {
    "conversation", "at", "scopes", "arm", "dense_weight", "tokens", "milliseconds",
    "dropped", "notes",
}  # fmt: skip
SEEN = ["public", "@shared"]
OF_A_CANDIDATE = {"scope", "id", "lexical", "coverage", "similarity", "score", "dropped"}


async def recalls(plugin: Any) -> list[dict[str, Any]]:
    """What the route answers, as it comes out of JSON."""
    made = recalls_json(plugin)
    assert made.keys() == {"recalls"}
    read: dict[str, Any] = json.loads(json.dumps(made, allow_nan=False))
    assert read == made
    for one in read["recalls"]:
        assert one.keys() >= KEYS
        assert all(candidate.keys() >= OF_A_CANDIDATE for candidate in one["candidates"])
    listed: list[dict[str, Any]] = read["recalls"]
    return listed


async def of(rig: Rig) -> list[dict[str, Any]]:
    return await recalls(FakePlugin(rig))


def test_the_route_stands_beside_that_of_the_status() -> None:
    assert RECALLS_ROUTE.rpartition("/")[0] == STATUS_ROUTE.rpartition("/")[0]
    assert RECALLS_ROUTE != STATUS_ROUTE


async def test_a_plugin_that_is_off_or_not_open_has_recalled_nothing(tmp_path: Path) -> None:
    assert await recalls(None) == []
    plugin = unopened(tmp_path)
    assert await recalls(plugin) == []
    await plugin.close()
    assert await recalls(plugin) == []


async def test_each_recall_is_there_with_its_way_and_no_word_of_a_memory(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        hit = await rig.remember("小明对猫毛过敏", group(777))
        await rig.remember("窗台上晾着被子", group(777))
        await rig.until_indexed()
        await rig.recall("谁对猫毛过敏", group(777))
        await rig.recall("猫在哪里", group(888))
        newest, oldest = await of(rig)
    assert newest["scopes"] == ["公司", *SEEN]
    assert newest["candidates"] == []
    assert oldest["scopes"] == ["家人", *SEEN]
    assert oldest["conversation"] == group(777).umo
    first = oldest["candidates"][0]
    assert (first["id"], first["scope"]) == (hit.memory.memory.memory_id, "家人")
    assert first["dropped"] is None
    reasons = {candidate["dropped"] for candidate in oldest["candidates"]}
    assert reasons <= {None, *(reason.value for reason in DropReason)}
    assert oldest["tokens"] > 0
    told = json.dumps([newest, oldest], ensure_ascii=False)
    for words in ("小明对", "窗台", "被子", "猫毛", "猫在哪"):
        assert words not in told


async def test_so_many_are_kept_and_no_more(rig: Rig) -> None:
    for number in range(KEPT + 3):
        await rig.recall(f"第{number}问", group(777))
    listed = await of(rig)
    kept = [told.query for told in rig.engine.service.last_recalls()]
    assert len(listed) == KEPT
    assert kept == [f"第{n}问" for n in range(KEPT + 2, 2, -1)]


async def test_a_long_question_is_cut(rig: Rig) -> None:
    await rig.recall("猫" * 5000, group(777))
    (one,) = rig.engine.service.last_recalls()
    assert 0 < len(one.query) < 500


async def test_an_engine_that_is_closed_tells_of_nothing_any_more(rig: Rig) -> None:
    await rig.recall("猫在哪里", group(777))
    assert len(await of(rig)) == 1
    await rig.engine.close()
    assert await of(rig) == []
