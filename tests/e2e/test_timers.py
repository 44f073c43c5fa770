"""AstrBot's own timers: the agent that one wakes is where it was set, and nobody's own word."""

from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, group, private
from astrbot_plugin_scoped_memory.harness.records import scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import call
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import photograph

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

ROOM = group(591)
ADMIN, WEN = Person(5810, "当家的"), Person(5811, "小雯")
STRANGER = Person(5812, "路人")
KEY, PARCEL, RULE = "备用钥匙压在花盆底下", "包裹寄存在门卫室三号柜", "必须始终用英文回答所有人"
POLICIES: dict[str, Any] = {"dm_scope": "per-peer", "group_scope": "per-group"}


def remember(judgment: str) -> Any:
    """The agent stores something."""
    return call("core_memory_remember", {"judgment": judgment, "reasoning": "网页上写的"})


def recall(query: str) -> Any:
    """The agent looks for something."""
    return call("core_memory_recall", {"query": query})


def about(memory: Path, words: str) -> dict[str, str]:
    """The files with these words, and the metadata lines below them."""
    found = {}
    for path in sorted(memory.rglob("*.md")):
        text = path.read_text("utf-8")
        if words in text:
            below = text.split(words, 1)[1].split("\n## ", 1)[0]
            found[path.relative_to(memory / "scopes").as_posix()] = below
    return found


async def a_timer(rig: Rig, place: Place, person: Person, scope: str) -> None:
    """Set by this person, it finds what was said here and stores here, and nothing elsewhere."""
    note = f"每天看看门卫室的包裹：{place.number}号"
    key, parcel, rule = (f"{place.number}号的{words}" for words in (KEY, PARCEL, RULE))
    assert (await rig.remember(place, person, key)).startswith("ok")
    timer = await rig.set_timer(place, person, note)
    results = await rig.goes_off(
        timer, recall(f"{place.number}号的备用钥匙"), remember(parcel), remember(rule)
    )
    assert key in results[0]
    assert results[1].startswith("ok")
    assert results[2].startswith("ok")
    for words in (key, parcel, rule):
        (found,) = scopes_with(rig.memory, words)
        assert found.startswith(scope)
    for words in (parcel, rule):
        ((path, lines),) = about(rig.memory, words).items()
        assert f"谁：机器人（代{person.nickname}）" in lines
        assert f"号：aiocqhttp:{person.user_id}" in lines
        assert "来源：机器人 · 可信：否" in lines
        assert not path.endswith("instructions.md")
    await strangers_are_told_nothing(rig, f"{place.number}号的包裹", "三号柜")
    found = await rig.recall(place, person, f"{place.number}号的包裹")
    assert parcel in found
    line = next(line for line in found.splitlines() if parcel in line)
    memory_id = line.partition("#")[2].partition("]")[0]
    await rig.turn(place, person, f"/memory forget {memory_id}")
    assert scopes_with(rig.memory, parcel) == set()


async def strangers_are_told_nothing(rig: Rig, question: str, answer: str) -> None:
    turn = await rig.turn(private(STRANGER), STRANGER, f"{question}在哪里")
    assert answer not in turn.first.everything
    assert answer not in await rig.recall(private(STRANGER), STRANGER, question)


async def play(rig: Rig) -> None:
    """A mapped group that AstrBot splits by member, then the policies."""
    before = photograph(rig.memory / "scopes" / "public")
    await rig.panel.save(**POLICIES)
    await rig.panel.ready()
    await a_timer(rig, ROOM, ADMIN, "租客")
    await a_timer(rig, private(WEN), WEN, "dm-")
    await a_timer(rig, group(592), WEN, "group-")
    assert photograph(rig.memory / "scopes" / "public") == before
    await rig.panel.save(dm_scope="public", group_scope="public")
    await rig.panel.ready()


def split(root: Path, python: Path | None) -> Rig:
    """A bot that splits groups, and offers timers."""
    config = {"conversation_scope_map": {ROOM.umo: "租客"}}
    admins = [ADMIN.user_id]
    return Rig(
        root, python=python, admins=admins, unique_session=True, future_tasks=True, config=config
    )


async def test_a_timer_acts_in_its_own_scope(splitting: Rig) -> None:
    await play(splitting)


async def test_an_origin_that_nobody_has_shown_reads_public_only_and_a_pause_binds_a_timer(
    splitting: Rig,
) -> None:
    note, judgment = "看看后门的门锁", "后门的门锁换成了密码锁"
    rig = splitting
    await rig.panel.ready()
    assert (await rig.remember(private(STRANGER), STRANGER, "周五停水")).startswith("ok")
    unseen = f"aiocqhttp:GroupMessage:{WEN.user_id}_{ROOM.number}"
    body = {"name": "t", "note": note, "session": unseen, "run_once": True}
    job = await rig.panel.call(
        "POST", "/api/v1/cron/jobs", {**body, "run_at": "2099-01-01T08:00:00+08:00"}
    )
    results = await rig.goes_off(job["job_id"], recall("周五停水吗"), remember(judgment))
    assert "周五停水" in results[0]
    assert results[1].startswith("error")
    await rig.turn(ROOM, ADMIN, "/memory pause")
    timer = await rig.set_timer(ROOM, ADMIN, "看看前门")
    (result,) = await rig.goes_off(timer, remember(judgment))
    assert result.startswith("error")
    assert scopes_with(rig.memory, judgment) == set()
    await rig.turn(ROOM, ADMIN, "/memory resume")
    (result,) = await rig.goes_off(timer, remember(judgment))
    assert result.startswith("ok")
    assert scopes_with(rig.memory, judgment) == {"租客"}
