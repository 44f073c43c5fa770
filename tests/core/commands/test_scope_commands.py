"""``/memory scope``: a conversation gets its scope in chat, for good, and nothing leaks. What is
answered stands on the pages of ``tests/says``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.llm_memory import (
    CognitiveService,
    DmScope,
    EngineClosed,
    Feedback,
    MemoryDraft,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.panel import KEY, Panel
from astrbot_plugin_scoped_memory.tests.support.plugin import Desk

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

HERE = "aiocqhttp:GroupMessage:555"
KEPT, QUESTION = "钥匙在花盆下面", "钥匙在哪"
PEANUTS = "奶奶对花生过敏"


async def test_an_admin_maps_a_conversation_for_good_and_at_once(tmp_path: Path) -> None:
    panel = Panel(dict(MAP))
    async with running(tmp_path, follow=False) as rig:
        desk = Desk(rig, panel=panel)
        await rig.remember("早先在这里说的话", group(555))
        await desk("scope 家人", 555)
        await desk.alone("scope 家人", 4242, admin=True)
        assert panel.saved[-1] == {**MAP, HERE: "家人", "aiocqhttp:FriendMessage:4242": "家人"}
        await rig.remember(KEPT, group(555))
        for where, sees in ((group(777), True), (private(4242), True), (group(888), False)):
            assert await rig.texts(QUESTION, where) == [KEPT] * sees
        assert await rig.texts("早先在这里说的什么话", group(999))  # it stays where it was
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        assert await rig.texts(QUESTION, group(555))
        desk = Desk(rig, panel=panel)
        for words, entry, sees in (("public", "public", False), ("取消", None, False)):
            await desk(f"scope {words}", 555)
            assert panel[KEY].get(HERE) == entry
            assert bool(await rig.texts(QUESTION, group(555))) is sees


async def test_a_change_that_is_made_is_told_though_the_engine_closes_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def closed(_: CognitiveService, **__: Any) -> None:
        await rig.engine.life.close()
        raise EngineClosed("closed")

    monkeypatch.setattr(CognitiveService, "describe", closed)
    async with running(tmp_path, follow=False) as rig:
        desk = Desk(rig, panel=Panel(dict(MAP)))
        here = desk.say("scope.here")
        told = desk.say("scope.set_private", place=here, scope="家人", count=3)
        assert told in await desk("scope 家人", 555)


async def test_what_is_no_name_changes_nothing_and_no_panel_is_said_so(rig: Rig) -> None:
    panel = Panel(dict(MAP))
    for name in ("家 人", "a/b", "dm-1", "con", "长" * 65, "😀"):
        assert name[:9] in await Desk(rig, panel=panel)(f"scope {name}", 555)
    assert (panel.saved, panel[KEY]) == ([], MAP)
    assert "没有改动" in await Desk(rig, panel=None)("scope 家人", 555)


PER_PEER = replace(QUICK, dm_scope=DmScope.PER_PEER)
LINKED = replace(PER_PEER, identity_links={"aiocqhttp:1": "小明"})
PUBLIC = replace(QUICK, dm_scope=DmScope.PUBLIC)


async def left_behind(root: Path) -> str:
    """Two memories in a scope of ``per-peer``; its name."""
    async with running(root, {}, settings=PER_PEER, follow=False) as rig:
        await rig.engine.service.meet(private(1), person(1))
        for text in ("存折放在饼干盒里", "备用钥匙在花盆下面"):
            stored = await rig.remember(text, private(1), person(1))
        return stored.memory.scope.name


@pytest.mark.parametrize("by", [1, 9])
async def test_of_what_was_left_its_person_is_told_and_brings_it_or_an_admin_does(
    tmp_path: Path, by: int
) -> None:
    former = await left_behind(tmp_path)
    async with running(tmp_path, {}, settings=LINKED, follow=False) as rig:
        desk = Desk(rig)

        async def told(words: str, *, by: int = 1) -> bool:
            said = await desk.alone(words, by, admin=by == 9)
            assert former not in said
            what, there = desk.plugin.texts.listed("counts", memories=2), private(1).umo
            here = desk.say("place.dm")
            return any(
                desk.say(code, target=here, id=there, words=there, what=what) in said
                for code in ("scope.left", "status.left", "scope.brought")
            )

        seen = [await told("scope"), await told("scope", by=2), await told("status")]
        assert seen == [True, False, False]
        assert await told("status", by=9)
        for other in {2, 9} - {by}:  # nothing is left of their own
            assert not await told("scope bring", by=other)
        await desk.alone(f"scope bring {private(1).umo}", 2)
        assert "饼干盒" not in await desk.alone("list", 1)
        assert await told(f"scope 带来 {private(1).umo}", by=by)
        assert "饼干盒" in await desk.alone("list", 1)
        assert not await told("scope")
        await desk.alone("undo", by, admin=by == 9)
        assert await told("scope")
        assert "饼干盒" not in await desk.alone("list", 1)


async def test_what_others_would_see_is_brought_after_a_yes(tmp_path: Path) -> None:
    former = await left_behind(tmp_path)
    async with running(tmp_path, {}, settings=PUBLIC, follow=False) as rig:
        desk = Desk(rig)
        for words, brought in (
            (f"scope bring {former} 别处", False),
            ("scope bring", False),
            ("yes", True),
        ):
            if not brought:
                left = (await PluginContext.status(desk.plugin))["left_behind"]  # type: ignore[arg-type]
                of = {"source": former, "target": "public", "memories": 2, "turns": 0}
                assert left == [of]
            await desk.alone(words, 1, admin=True)
            assert ("饼干盒" in await desk.alone("list", 2)) is brought


async def lost_in_a_typo(rig: Rig, panel: Panel) -> Desk:
    """What was said while a group had a name that was mistyped, and an admin in it."""
    desk = Desk(rig, panel=panel)
    await desk("scope 新建 家入", 555)
    await rig.remember(KEPT, group(555))
    return desk


async def seen_by(rig: Rig, *numbers: int) -> set[int]:
    """The groups that see it."""
    return {number for number in numbers if await rig.texts(QUESTION, group(number)) == [KEPT]}


@pytest.mark.parametrize(
    ("words", "where"), [("bring 家入", 555), ("bring 家入 家人", 777), ("rename 家入 家人", 888)]
)
async def test_what_lies_under_a_typo_that_nobody_has_any_more_is_brought_and_back(
    tmp_path: Path, words: str, where: int
) -> None:
    async with running(tmp_path, follow=False) as rig:
        desk = await lost_in_a_typo(rig, Panel(dict(MAP)))
        await desk("scope 家人", 555)
        assert await desk(f"scope {words}", where, admin=False) == desk.say("outcome.admins_only")
        assert await seen_by(rig, 555, 777, 888, 999) == set()
        await desk(f"scope {words}", where)
        assert await seen_by(rig, 555, 777, 888, 999) == {555, 777}
        await desk("undo", where)
        assert await seen_by(rig, 555, 777, 888, 999) == set()


async def test_a_scope_gets_another_name_with_all_that_have_it(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        desk = await lost_in_a_typo(rig, panel := Panel(dict(MAP)))
        service, where = rig.engine.service, group(555)
        ticket = await service.observe(Turn(person(1), "雨伞在门后", "好"), conversation_id=where)
        assert isinstance(ticket, Ticket)
        gone = await rig.remember("雨伞在门后", where, person(1))
        await desk(f"forget {gone.memory.memory.memory_id}", 555)
        await desk("scope rename 家入 小家", 888)
        assert panel[KEY] == {**MAP, HERE: "小家"}
        assert await seen_by(rig, 555, 777, 888, 999) == {555}
        draft = MemoryDraft("雨伞在门后", actor=person(1), active=False)
        await service.feedback(Feedback(drafts=(draft,)), ticket=ticket)
        assert await rig.newest(where) == [KEPT]
    async with running(tmp_path, panel[KEY], follow=False) as rig:
        assert await seen_by(rig, 555, 777, 888, 999) == {555}
        assert (await rig.engine.status()).notices == ()


async def test_two_scopes_become_one_after_a_yes(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        desk = await lost_in_a_typo(rig, panel := Panel(dict(MAP)))
        wrong = (
            "家入",
            "家入 家入",
            "家入 公共",
            "public 家人",
            "没有 家人",
            "dm-x 家人",
            "家入 a/b",
        )
        for words in (*wrong, "家入 家人", "家入 公司"):
            await desk(f"scope rename {words}", 555)
            assert await seen_by(rig, 555, 777, 888, 999) == {555}, words
            assert panel[KEY] == {**MAP, HERE: "家入"}
        await desk("yes", 555)
        assert await seen_by(rig, 555, 777, 888, 999) == {555, 888}
        assert panel[KEY] == {**MAP, HERE: "公司"}


@pytest.mark.parametrize(
    ("renaming", "back"),
    [
        (["scope rename 家入 小家"], ["scope rename 小家 家入"]),
        (["scope 小家", "scope bring 家入"], ["undo", "scope 家入", "yes"]),
    ],
)
async def test_what_was_forgotten_goes_along_with_a_scope_and_back(
    tmp_path: Path, renaming: list[str], back: list[str]
) -> None:
    archive = tmp_path / "memory" / "scopes" / "小家" / "archive"
    async with running(tmp_path, follow=False) as rig:
        desk = await lost_in_a_typo(rig, Panel(dict(MAP)))
        gone = await rig.remember("雨伞在门后", group(555), person(1))
        memory_id = gone.memory.memory.memory_id
        for words in (f"edit {memory_id} 雨伞在门前", f"forget {memory_id}", *renaming):
            await desk(words, 555)
        assert "雨伞" in "".join(one.read_text("utf-8") for one in archive.rglob("*.md"))
        for words in back:
            await desk(words, 555)
        assert "雨伞在门前" in await desk(f"undo {memory_id}", 555)
        assert sorted(await rig.newest(group(555))) == [KEPT, "雨伞在门前"]


@pytest.mark.parametrize(("name", "where"), [("公司", 777), ("家入", 999), ("没有", 777)])
async def test_what_is_not_to_be_brought_here_is_told_truly(
    rig: Rig, name: str, where: int
) -> None:
    desk = await lost_in_a_typo(rig, Panel(dict(MAP)))
    await rig.remember(PEANUTS, group(888))
    await desk("scope 家人", 555)
    code = "reject.unknown_scope" if name == "没有" else "reject.not_left"
    assert desk.say(code, detail=name) == await desk(f"scope bring {name}", where)
    assert await seen_by(rig, 555, 777, 999) == set()


async def test_a_name_that_is_none_is_not_offered_to_go_back_to(rig: Rig) -> None:
    desk = Desk(rig, panel=Panel({**MAP, HERE: "open club!"}))
    said = await desk("scope 家人", 555)
    assert ("open club!" in said, desk.say("scope.set_back", word="") in said) == (False, False)
    assert desk.say("scope.set_back", word="家人") in await desk("scope 公司", 555)


@pytest.mark.parametrize("name", ["公共", "公共域", "Public"])
async def test_public_has_one_set_of_names_for_every_command(rig: Rig, name: str) -> None:
    desk = Desk(rig, panel=(panel := Panel(dict(MAP))))
    await rig.remember(KEPT, group(777))
    await desk("list")
    await desk(f"move 1 {name}")
    assert await seen_by(rig, 777, 888) == {777, 888}
    await desk(f"scope {name}")
    assert panel[KEY]["aiocqhttp:GroupMessage:777"] == "public"


@pytest.mark.parametrize(
    ("words", "then"),
    [
        *(("家入", "家人"), ("team", "Team"), ("TEAM", "Team"), ("Ｔｅａｍ", "Team")),
        *(("Tеam", "Team"), ("Taem", "Team"), ("Teamm", "Team"), ("Tem", "Team")),
        *(("家人们", "家人"), ("新建 家入", "家入"), ("new Tea", "Tea"), ("Team2", "Team2")),
        *(("二班", "二班"), ("邻居", "邻居"), ("老王", None)),
    ],
)
async def test_a_name_that_is_nearly_that_of_a_scope_or_of_a_person_is_asked_about(
    rig: Rig, words: str, then: str | None
) -> None:
    panel = Panel(
        before := {**MAP, "aiocqhttp:GroupMessage:1": "Team", "aiocqhttp:GroupMessage:2": "一班"}
    )
    await rig.engine.service.meet(group(777), person(1, "老王"))
    await rig.engine.service.change_map(
        before, conversation_id=group(1), actor=person(9, admin=True)
    )
    desk = Desk(rig, panel=panel)
    said = await desk(f"scope {words}", 555)
    asked = then is None or then not in words.split()
    assert (HERE not in panel[KEY]) is asked
    assert (f"新建 {words}" in said) is (asked and then is not None)
    await desk("yes", 555)
    assert panel[KEY][HERE] == (then or words)


@pytest.mark.parametrize(
    "word", ["列表", "查看", "LIST", "show", "帮助", "help", "状态", "記住", "search", "确认", "否"]
)
async def test_no_word_of_a_command_becomes_a_scope(rig: Rig, word: str) -> None:
    await rig.remember(KEPT, group(777))
    desk = Desk(rig, panel=(panel := Panel(dict(MAP))))
    said = await desk(f"scope {word}", 555)
    for words in (f"scope 新建 {word}", f"scope rename 家人 {word}", f"join {word}"):
        await desk(words, 555)
    assert panel[KEY] == MAP
    lists = word in ("列表", "查看", "LIST", "show")
    assert ("“家人”（1 条）：" in said) is ("“公司”：" in said) is lists
    assert "公司" not in await desk(f"scope {word}", 777, admin=False)


async def test_a_group_is_let_into_what_a_scope_holds_after_a_yes_alone(rig: Rig) -> None:
    await rig.remember(KEPT, group(777))
    desk = Desk(rig, panel=(panel := Panel(dict(MAP))))
    asked = desk.say("scope.opens", scope="家人", count=1)
    for words in ("scope 家人", "join 家人", "scope 公司"):
        assert (asked in await desk(words, 555)) is ("家人" in words)
        assert (HERE in panel[KEY]) is ("公司" in words)
    await desk("scope 家人", 555)
    assert await seen_by(rig, 555, 777) == {777}
    await desk("yes", 555)
    assert await seen_by(rig, 555, 777) == {555, 777}
    said = await desk("scope off", 555)
    assert desk.say("scope.set_public", place=desk.say("scope.here")) in said
