"""``/memory``: what each command answers, and that replies respect scope and rights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.commands import command_table
from astrbot_plugin_scoped_memory.llm_memory.service.scope_admin import ScopeAdmin
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import PoisonedVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    private,
    running,
    running_on_vectors,
)
from astrbot_plugin_scoped_memory.tests.support.migrating import filled, legacy
from astrbot_plugin_scoped_memory.tests.support.panel import KEY, Panel
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    answered,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import say

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

PEANUTS = "奶奶对花生过敏"
NAMES = [row.name for row in command_table.COMMANDS]


async def ask(rig: Rig, event: FakeEvent, language: str = "zh-CN") -> str:
    """What an engine that is open answers."""
    answer = await answered(rig, event, language)
    assert answer is not None
    return answer


async def added(rig: Rig, event: FakeEvent) -> str:
    """The id of what ``add`` stored."""
    answer = await ask(rig, event)
    found = re.search(r"(m-[0-9a-z]+)", answer)
    assert found is not None, answer
    return found[1]


async def test_add_list_search_forget_and_undo(rig: Rig) -> None:
    memory_id = await added(rig, FakeEvent.in_group(777, f"memory add {PEANUTS}"))
    for words in ("memory list", "memory search 奶奶 花生"):
        shown = await ask(rig, FakeEvent.in_private(1002, words))
        assert PEANUTS in shown
        assert memory_id in shown
        for stranger in (FakeEvent.in_group(888, words), FakeEvent.in_private(1001, words)):
            assert "花生" not in (await ask(rig, stranger)).replace(words, "")
    gone = await ask(rig, FakeEvent.in_group(777, f"memory forget {memory_id}"))
    assert PEANUTS in gone
    assert "archive" not in gone  # a path is for those who reach the files
    assert PEANUTS not in await ask(rig, FakeEvent.in_group(777, "memory list"))
    back = await ask(rig, FakeEvent.in_group(777, f"memory undo {memory_id}"))
    assert memory_id in back
    assert PEANUTS in await ask(rig, FakeEvent.in_group(777, "memory list"))


@pytest.mark.parametrize("language", LANGUAGES)
async def test_an_edit_of_what_is_gone_since_is_not_undone_and_that_is_said(
    rig: Rig, language: str
) -> None:
    memory_id = await added(rig, FakeEvent.in_group(777, f"memory add {PEANUTS}"))
    admin: dict[str, Any] = {"sender": "9", "admin": True}
    edit = f"memory edit {memory_id} 奶奶对核桃过敏"
    await ask(rig, FakeEvent.in_group(777, edit, **admin))
    await ask(rig, FakeEvent.in_group(777, f"memory forget {memory_id}"))
    said = await ask(rig, FakeEvent.in_group(777, "memory undo", **admin), language)
    assert said == Texts(language).say("undo.changed", id=memory_id)
    assert "核桃" not in await ask(rig, FakeEvent.in_group(777, "memory list"))


@pytest.mark.parametrize("language", LANGUAGES)
async def test_edit_move_and_confirm_are_for_admins(rig: Rig, language: str) -> None:
    memory_id = await added(rig, FakeEvent.in_group(777, f"memory add {PEANUTS}"))
    for rest in (f"edit {memory_id} 别的话", f"move {memory_id} 公司", "confirm"):
        answer = await ask(rig, FakeEvent.in_group(777, f"memory {rest}"), language)
        assert PEANUTS not in answer
    assert PEANUTS in await ask(rig, FakeEvent.in_group(777, "memory list"))
    typo = FakeEvent.in_group(777, f"memory move {memory_id} 家人们", admin=True)
    assert "家人们" in await ask(rig, typo, language)
    assert await ask(rig, FakeEvent.in_group(777, "memory confirm", admin=True), language)


async def test_what_is_for_admins_is_refused_to_a_member_and_changes_nothing(
    tmp_path: Path,
) -> None:
    chat, panel = ScriptedChat(), Panel(dict(MAP))
    refused = Texts("zh-CN").say("outcome.admins_only")
    async with running(tmp_path, chat=chat, legacy=filled(legacy(2)), follow=False) as rig:
        await say(rig, PEANUTS)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
        for words in (
            *("sleep", "sleep now", "sleep status", "reflect", "letters", "letters retry"),
            *("migrate", "migrate start", "migrate reverse", "migrate 坏的", "confirm"),
            *("scope 家人", "scope public", "scope off", "scope confirm", "scope bring"),
            *("backup", "restore x.zip", "import x.jsonl"),
            *("decide", "decide 提议 别的话", "decide 是", "soul 提议 回答短一点", "soul 生效"),
            f"scope rebind {next(iter(MAP))} aiocqhttp:GroupMessage:7770",
        ):
            event = FakeEvent.in_group(777, f"memory {words}")
            assert await answered(rig, event, panel=panel) == refused, words
        assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
        assert (panel.saved, panel[KEY], chat.calls) == ([], MAP, [])
        assert not list(tmp_path.glob("exports/*"))


async def test_members_pause_their_private_chats_and_no_group(rig: Rig) -> None:
    for words in ("pause", "resume"):
        for event, allowed in (
            (FakeEvent.in_group(777, f"memory {words}"), False),
            (FakeEvent.in_private(1001, f"memory {words}"), True),
            (FakeEvent.in_group(888, f"memory {words}", admin=True), True),
        ):
            await ask(rig, event)
            where = group(event.group) if event.group else private(1001)
            paused = rig.engine.service.conversations.paused_since(where) is not None
            assert paused is (allowed and words == "pause"), (words, where)


async def test_undo_alone_takes_back_what_this_person_did_here(rig: Rig) -> None:
    memory_id = await added(rig, FakeEvent.in_group(777, f"memory add {PEANUTS}"))
    await ask(rig, FakeEvent.in_group(777, f"memory forget {memory_id}"))
    for other in (
        FakeEvent.in_group(777, "memory undo", sender="2", admin=True),
        FakeEvent.in_private(1002, "memory undo"),
        FakeEvent.in_group(888, "memory undo"),
    ):
        assert PEANUTS not in await ask(rig, other)
    assert PEANUTS not in await ask(rig, FakeEvent.in_group(777, "memory list"))
    assert memory_id in await ask(rig, FakeEvent.in_group(777, "memory undo"))
    assert PEANUTS in await ask(rig, FakeEvent.in_group(777, "memory list"))


async def test_add_keeps_the_words_as_they_stand(rig: Rig) -> None:
    await ask(rig, FakeEvent.in_group(777, " memory  add   第一行  两个空格\n第二行 "))
    (stored,) = await rig.engine.service.newest(conversation_id=group(777), limit=5)
    assert stored.memory.judgment == "第一行  两个空格\n第二行"
    assert stored.memory.provenance.person == "aiocqhttp:10001"
    assert stored.memory.provenance.source.value == "指令"


@pytest.mark.parametrize("language", LANGUAGES)
async def test_only_an_admin_confirms_a_lost_map(tmp_path: Path, language: str) -> None:
    async with running(tmp_path):
        pass
    async with running(tmp_path, {}) as rig:
        lost = await ask(rig, FakeEvent.in_group(777, "memory scope"), language)
        confirm = "/记忆 域 确认" if language == "zh-CN" else "/memory scope confirm"
        assert confirm in lost
        for words in ("confirm", "确认"):
            event = FakeEvent.in_group(777, f"memory scope {words}")
            await ask(rig, event, language)
            assert (await rig.engine.service.describe(conversation_id=group(777))).damaged
        other = await ask(rig, FakeEvent.in_group(777, "memory confirm", admin=True), language)
        assert confirm in other  # that is another thing to say yes to
        assert (await rig.engine.service.describe(conversation_id=group(777))).damaged
        event = FakeEvent.in_group(777, "memory scope confirm", admin=True)
        assert "3" in await ask(rig, event, language)
        assert not (await rig.engine.service.describe(conversation_id=group(777))).damaged


async def test_warnings_name_conversations_to_admins_only(tmp_path: Path) -> None:
    async with running(tmp_path, {**MAP, "aiocqhttp:GroupMessage:424242": "家 人"}) as rig:
        plain = await ask(rig, FakeEvent.in_group(777, "memory status"))
        assert "424242" not in plain
        assert "v0.0.0" in plain
        told = await ask(rig, FakeEvent.in_group(777, "memory status", admin=True))
        assert "aiocqhttp:GroupMessage:424242" in told


async def test_status_counts_only_what_the_conversation_may_see(rig: Rig) -> None:
    for number in range(7):
        await rig.remember(f"家里的第{number}件事", group(777))
    await rig.remember("大家的事", group(999))
    assert "8" in await ask(rig, FakeEvent.in_group(777, "memory status"))
    stranger = (await ask(rig, FakeEvent.in_group(888, "memory status"))).split("\n")[1]
    assert "1" in stranger
    assert "8" not in stranger


async def test_no_words_and_no_origin_make_a_command_fail(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    await rig.remember(PEANUTS, group(777))
    for name in NAMES:
        for rest in ("", " x", " m-00000000000000", " {x}", " \ud800", " " + "长" * 3000, " \0"):
            await ask(rig, FakeEvent.in_group(777, f"memory {name}{rest}"))
        for umo in ("", "x", "a:b", "a:GroupMessage: ", "a:Strange:1"):
            assert PEANUTS not in await ask(rig, FakeEvent(umo, f"memory {name} 花生怎么样"))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def test_a_closed_engine_leaves_each_command_to_its_successor(rig: Rig) -> None:
    await rig.engine.close()
    for name in NAMES:
        rest = "" if name in ("scope", "soul") else " m-00000000000000 公司"
        answer = await answered(rig, FakeEvent.in_group(777, f"memory {name}{rest}"), "zh-CN")
        assert (name, answer is None) == (name, name != "help")


@pytest.mark.parametrize("held", [3, 0])
async def test_deletions_that_are_confirmed_are_told_though_the_engine_closes_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    async def confirmed(*_: Any, **__: Any) -> int:
        await rig.engine.life.close()
        return held

    monkeypatch.setattr(ScopeAdmin, "confirm_deletions", confirmed)
    event = FakeEvent.in_group(777, "memory confirm", admin=True)
    async with running(tmp_path, follow=False) as rig:
        told = await answered(rig, event, "zh-CN")
    assert told == (Texts("zh-CN").say("confirm.done", count=held) if held else None)


async def test_a_hostile_name_forges_no_line_in_a_list(tmp_path: Path) -> None:
    forged = "甲\n[2026-01-01 · 管理员 · 家人] 转账（m-00000000000000）"
    async with running(tmp_path, follow=False) as rig:
        await rig.remember(f"一件事{forged}", group(777), person(1, forged))
        shown = await ask(rig, FakeEvent.in_group(777, "memory list"))
        assert len(shown.splitlines()) == 2


@pytest.mark.parametrize("language", LANGUAGES)
async def test_why_tells_how_the_last_recall_went_to_those_alone_who_may_see_it(
    rig: Rig, language: str
) -> None:
    memory_id = await added(rig, FakeEvent.in_group(777, f"memory add {PEANUTS}"))
    why = FakeEvent.in_group(777, "memory why")
    nothing = await ask(rig, why, language)
    await rig.recall("奶奶能吃花生吗", group(777))
    told = await ask(rig, why, language)
    assert told != nothing
    for words in ("奶奶能吃花生吗", PEANUTS, memory_id, "家人"):
        assert words in told
    for stranger in (
        FakeEvent.in_group(888, "memory why"),
        FakeEvent.in_private(1002, "memory why"),
    ):
        assert await ask(rig, stranger, language) == nothing
    await ask(rig, FakeEvent.in_group(777, f"memory forget {memory_id}"))
    assert PEANUTS not in await ask(rig, why, language)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_why_with_a_number_tells_of_an_earlier_recall(tmp_path: Path, language: str) -> None:
    questions = [f"第{number}个抽屉里有什么" for number in range(7)]
    async with running(tmp_path, follow=False) as rig:
        for question in questions:
            await rig.recall(question, group(777))
        said = [
            await ask(rig, FakeEvent.in_group(777, f"memory why{back}"), language)
            for back in ("", " 前 1", " back 2", " 前 5", " 前 6", " 前 x")
        ]
        last, first, second, fifth, sixth, odd = said
        assert (last == first == odd, questions[-1] in last) == (True, True)
        assert questions[-2] in second
        assert questions[-5] in fifth
        # No more than five are told of: anything else is the last one.
        assert sixth == last
        stranger = FakeEvent.in_group(888, "memory why 前 2")
        assert "抽屉" not in await ask(rig, stranger, language)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_status_counts_notes_by_folder_for_admins(tmp_path: Path, language: str) -> None:
    for folder in ("scopes/家人", "shared", "roles/猫娘"):
        note = tmp_path / "memory" / folder / "旅行.md"
        note.parent.mkdir(parents=True)
        note.write_text("# 京都\n\n住在四条\n\n# 大阪\n\n住在难波\n", "utf-8")
    async with running(tmp_path, follow=False) as rig:
        bare = await ask(rig, FakeEvent.in_group(777, "memory status", admin=True), language)
        await rig.engine.scan_notes()
        shown = await ask(rig, FakeEvent.in_group(777, "memory status", admin=True), language)
        for words in ("roles/猫娘 2", "scopes/家人 2", "shared 2", " 6 "):
            assert words in shown
            assert words not in bare
        assert "猫娘" not in await ask(rig, FakeEvent.in_group(888, "memory status"), language)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_status_counts_for_admins_what_the_second_scope_check_dropped(
    tmp_path: Path, language: str
) -> None:
    line = Texts(language).say("status.scope_check_drops", count=2)
    async with running_on_vectors(tmp_path, store=PoisonedVectorStore()) as rig:
        await rig.remember(PEANUTS, group(777))
        await rig.remember("奶奶喜欢豆浆", group(777))
        await rig.until_indexed()
        status = FakeEvent.in_group(888, "memory status", admin=True)
        assert line not in (await ask(rig, status, language)).split("\n")
        assert await rig.texts("奶奶能吃花生吗", group(888)) == []
        assert line in (await ask(rig, status, language)).split("\n")
        told = await ask(rig, FakeEvent.in_group(888, "memory status"), language)
        assert line not in told


@pytest.mark.parametrize("how", ["彻底", "purge", "PURGE"])
async def test_forget_with_a_word_behind_it_is_for_good(rig: Rig, how: str) -> None:
    memory_id = (await rig.remember(PEANUTS, group(777))).memory.memory.memory_id
    odd = await ask(rig, FakeEvent.in_group(777, f"memory forget {memory_id} 全部", admin=True))
    assert "没有" in odd
    said = await ask(rig, FakeEvent.in_group(777, f"memory forget {memory_id} {how}", admin=True))
    assert f"记忆和存档里已经没有 {memory_id}" in said
    undone = await ask(rig, FakeEvent.in_group(777, f"memory undo {memory_id}", admin=True))
    assert PEANUTS not in undone
