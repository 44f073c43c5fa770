"""What a finished turn leaves on disk, and what it does not; its scope is fixed when it is
observed, and nothing learned from it leaves that scope."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    EngineSettings,
    Feedback,
    FeedbackReport,
    MemoryDraft,
    ObserveOutcome,
    PrivacyMode,
    Refused,
    Source,
    Stored,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable, VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.reflection import turn_queue
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import with_loop

pytestmark = pytest.mark.engine

ID_CARD, PHONE = "11010519491231002X", "13912345678"


TURN = Turn(person(1), "奶奶吃了花生就起疹子", "记下了")


async def observe(
    rig: Rig, words: str = TURN.user_text, reply: str = TURN.reply_text, **more: object
) -> ObserveOutcome:
    """A turn of the family."""
    turn = replace(Turn(person(1), words, reply), **more)  # type: ignore[arg-type]
    return await rig.engine.service.observe(turn, conversation_id=group(777))


def rows(root: Path) -> list[dict[str, object]]:
    """What lies in the file, column by column."""
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute("SELECT * FROM turn ORDER BY place").fetchall()
    return [dict(row) for row in found]


def everything(root: Path) -> bytes:
    """The file and its log, byte by byte."""
    return b"".join(path.read_bytes() for path in (root / "state").glob("loop.sqlite*"))


OTHER_MAP = {key: "别处" if "777" in key else name for key, name in MAP.items()}


async def test_an_answer_to_what_was_shown_under_another_map_is_not_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        view = await rig.engine.service.view(conversation_id=group(777))
        assert "家人" not in view
        seen = {"view": view, "recalled": ("m-aaaaaaaaaa",)}
        await observe(rig, reply="不能，奶奶对花生过敏", **seen)
    async with running(tmp_path, OTHER_MAP) as rig:
        await observe(rig, "奶奶能吃花生吗", "不能，奶奶对花生过敏", **seen)
    same, other = rows(tmp_path)
    assert (same["scope"], same["reply_text"]) == ("家人", "不能，奶奶对花生过敏")
    assert (other["scope"], other["user_text"]) == ("别处", "奶奶能吃花生吗")
    assert (other["reply_text"], other["recalled"]) == ("", "[]")


HISTORIES: dict[str, list[tuple[str, str, str]]] = {
    "after a switch replies are kept back until the history is a new one": [
        ("h1", "家人", "empty kept"),
        *[("h1", "别处", "")] * 2,
        ("h2", "别处", "empty kept"),
        ("h1", "别处", ""),  # AstrBot can go back to a former one
        ("h1", "别处", "empty kept"),  # and empty it
    ],
    "a history that went to another scope and back holds words of both": [
        *(("h1", "家人", "kept"), ("h1", "别处", ""), ("h1", "家人", "")),
    ],
    "a history that was used while all scopes were shown is mixed": [
        *(("h1", "", "empty"), ("h1", "家人", "")),
    ],
}
"""By history and what the map calls the group, empty while all scopes are shown: whether nothing
was said in it before, and whether the answer is kept."""


@pytest.mark.parametrize("story", HISTORIES)
async def test_what_is_kept_of_answers_from_a_history(tmp_path: Path, story: str) -> None:
    """After a restart each: nothing is forgotten of it."""
    here, told = group(777), []
    for number, (history, mapped, how) in enumerate(HISTORIES[story]):
        settings = replace(QUICK, scope_filter_enabled=bool(mapped))
        scopes = OTHER_MAP if mapped == "别处" else MAP
        async with running(tmp_path, scopes, settings=settings) as rig:
            service = rig.engine.service
            await service.view(conversation_id=here, history=history, empty="empty" in how)
            await observe(rig, f"问{number}", f"答{number}", history=history)
            if mapped:
                told.append((mapped, f"答{number}" if "kept" in how else ""))
                report = await service.describe(conversation_id=here)
                assert report.mixed_history is ("kept" not in how)
    assert [(row["scope"], row["reply_text"]) for row in rows(tmp_path)] == told


async def test_an_answer_begun_before_the_switch_taints_the_history_it_ends_in(
    tmp_path: Path,
) -> None:
    here = {"conversation_id": group(777), "history": "h1"}
    async with running(tmp_path) as rig:
        view = await rig.engine.service.view(**here, empty=True)
    async with running(tmp_path, OTHER_MAP) as rig:
        # AstrBot saves the first answer only afterwards
        await rig.engine.service.view(**here, empty=True)
        await observe(rig, "一", "答一", history="h1", view=view)
        await rig.engine.service.view(**here)
        await observe(rig, "二", "答二", history="h1")
    assert [row["reply_text"] for row in rows(tmp_path)] == ["", ""]


async def test_a_persona_that_has_a_scope_of_its_own_is_a_switch_and_another_is_none(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, {"persona:猫": "猫"}) as rig:
        service = rig.engine.service
        for persona in ("", None, "管家", "猫", "管家"):  # None: AstrBot cannot tell now
            where = group(5, persona=persona)
            view = await service.view(conversation_id=where, history="h1")
            turn = Turn(person(1), "问", f"{persona}答", view=view, history="h1")
            await service.observe(turn, conversation_id=where)
    told = [(row["scope"], row["reply_text"]) for row in rows(tmp_path)]
    assert told == [("public", "答"), ("public", "管家答"), ("猫", ""), ("public", "")]


async def test_a_reply_from_a_history_of_unknown_scope_is_left_out(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise StateUnavailable("disk I/O error", "state.sqlite")

    monkeypatch.setattr(SqliteStateStore, "model_history", gone)
    await rig.engine.service.view(conversation_id=group(777), history="h1")
    await observe(rig, "一", "答一", history="h1")
    monkeypatch.undo()
    await observe(rig, "二", "答二", history="h1")
    assert [row["reply_text"] for row in rows(rig.root)] == ["", "答二"]


@pytest.mark.parametrize("mode", [PrivacyMode.REDACT, PrivacyMode.REJECT])
async def test_no_number_and_no_secret_reaches_the_disk_in_either_mode(
    tmp_path: Path, mode: PrivacyMode
) -> None:
    words = f"我的身份证号是{ID_CARD}，电话{PHONE}，密码是hunter2secret"
    async with running(tmp_path, settings=replace(QUICK, privacy_mode=mode)) as rig:
        outcome = await observe(rig, words, f"好的，{PHONE}", actor=person(1, f"小明{PHONE}"))
        assert isinstance(outcome, Ticket)
        held = everything(tmp_path)
    held += everything(tmp_path)
    for secret in (ID_CARD, PHONE, "hunter2secret"):
        assert secret.encode() not in held
    (row,) = rows(tmp_path)
    assert "身份证号" in str(row["user_text"])


async def test_half_a_number_at_the_place_of_the_cut_is_not_left(rig: Rig) -> None:
    for length in range(3976, 4004, 9):
        await observe(rig, "话" * length + f" 证件{ID_CARD} " + "尾" * 500)
    texts = [str(row["user_text"]) for row in rows(rig.root)]
    assert all(len(text) <= 4000 and ID_CARD[:4] not in text for text in texts)
    assert all(text.startswith("话话") for text in texts)


async def test_pictures_tool_output_and_what_was_recalled_are_not_kept(tmp_path: Path) -> None:
    picture = "data:image/png;base64," + "QUJD" * 500
    recalled = "<scoped_memory>\n1. [2026-11-21 · 妈 · a.md#m-01jd3q8z7k] 秘密\n</scoped_memory>"
    async with running(tmp_path) as rig:
        await observe(rig, f"看这个 {picture}", f"<think>想</think>{recalled}\n是花生")
        held = everything(tmp_path)
    (row,) = rows(tmp_path)
    assert (row["user_text"], row["reply_text"]) == ("看这个", "是花生")
    assert b"QUJDQUJD" not in held
    assert "秘密".encode() not in held


async def test_any_words_are_queued_but_none_without_words_or_in_a_conversation_without_an_id(
    rig: Rig,
) -> None:
    for words, reply in (("", ""), (" \n", "\u200b"), ("data:;base64,QUJD", "<think>x</think>")):
        assert await observe(rig, words, reply) == Refused("empty")
    for umo in ("", "x", "a:b", "a:GroupMessage: "):
        turn = Turn(Actor("", ""), "你好", "你好")
        where = replace(group(777), umo=umo)
        outcome = await rig.engine.service.observe(turn, conversation_id=where)
        assert isinstance(outcome, Refused)
    assert rows(rig.root) == []
    for text in ("\ud83d", "x y " * 99_000, "'; DROP TABLE turn; --"):
        turn = Turn(Actor("aiocqhttp:1", text), f"我说{text}", text)
        assert isinstance(
            await rig.engine.service.observe(turn, conversation_id=group(777)), Ticket
        )


async def test_a_full_queue_keeps_what_is_new_and_leaves_half_to_those_who_talk_to_the_bot(
    tmp_path: Path,
) -> None:
    def standing(rig: Rig) -> dict[str, str]:
        return {one.code: one.params["count"] for one in rig.engine.notices}

    async with running(tmp_path, settings=with_loop(most_queued=4)) as rig:
        turns = rig.engine.parts.turns
        for number in range(2):
            assert isinstance(await observe(rig, f"闲聊{number}", ""), Ticket)
        for number in range(2):
            assert await observe(rig, "还在闲聊", "") == Refused("full")
            assert isinstance(await observe(rig, f"叫你的{number}"), Ticket)
        assert standing(rig) == {"chatter_full": "2"}
        unanswered = Turn(person(1), "私下说的，没有等到回答", "")
        await rig.engine.service.observe(unanswered, conversation_id=private(1002))
        assert rows(tmp_path)[0]["user_text"] == "闲聊1"
        assert standing(rig) == {"chatter_full": "2", "queue_full": "4"}
        turns.drop([one.ticket_id for one in turns.of_scope("家人")[1:]])
        for text, reply in (("又闲聊", ""), ("又叫你", "好")):
            assert isinstance(await observe(rig, text, reply), Ticket)
        assert standing(rig) == {}
        assert len(rig.notices) == 2  # each said once


@pytest.mark.parametrize("kept", [True, False])
async def test_a_turn_waits_for_a_lock_and_one_that_cannot_be_written_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    monkeypatch.setattr(SqliteLoopFile, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(turn_queue, "_PATIENCE", 60 if kept else 0.5)
    monkeypatch.setattr(turn_queue, "_AGAIN", 0.1)
    async with running(tmp_path, words_alone=True) as rig:
        other = sqlite3.connect(tmp_path / "state" / "loop.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        if kept:
            asyncio.get_running_loop().call_later(0.3, other.close)
        done = await asyncio.gather(*(observe(rig, f"第{n}天喝了燕麦奶") for n in range(3)))
        assert {isinstance(one, Ticket) for one in done} == {kept}
        lost = [one.params["count"] for one in rig.engine.notices if one.code == "turns_lost"]
        assert lost == ([] if kept else ["3"])
        assert [one.code for one in rig.notices] == ([] if kept else ["turns_lost"])
        other.close()
        assert isinstance(await observe(rig, "第4天喝了燕麦奶"), Ticket)
        assert rig.engine.notices == ()
        assert len(rows(tmp_path)) == (4 if kept else 1)


async def test_a_turn_that_the_disk_refuses_otherwise_is_said_at_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise VaultWriteFailed("No space left on device")

    monkeypatch.setattr(MarkdownVault, "ensure", refuse)
    outcome = await observe(rig)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "not_written"
    assert [one.code for one in rig.engine.notices] == ["turns_lost"]


async def test_a_ticket_is_settled_once_of_one_conversation_and_for_those_who_spoke(
    rig: Rig,
) -> None:
    settle = rig.engine.service.feedback
    here = await observe(rig)
    there = await rig.engine.service.observe(TURN, conversation_id=group(888))
    assert isinstance(here, Ticket)
    assert isinstance(there, Ticket)
    forged = MemoryDraft(
        "奶奶对花生过敏", source=Source.PERSON, actor=person(9, "管理员", admin=True), active=True
    )
    learned = Feedback(drafts=(forged,))
    unknown = FeedbackReport(known=False)
    assert await settle(learned, ticket=Ticket(here.ticket_id, there.ids)) == unknown
    assert (await rig.engine.status()).loop.queue.waiting == 2
    (outcome,) = (await settle(learned, ticket=here)).outcomes
    assert isinstance(outcome, Stored)
    origin = outcome.memory.memory.provenance
    assert (origin.person, origin.who, origin.trusted) == ("", "", False)
    assert origin.source is Source.REFLECTION
    for ticket in (here, Ticket("t-unknown")):
        assert await settle(learned, ticket=ticket) == unknown
    assert (await rig.engine.status()).by_scope == {"家人": 1}


@pytest.mark.parametrize(
    ("scope_map", "settings", "code"),
    [
        ({"aiocqhttp:GroupMessage:777": "家 人"}, EngineSettings(), "illegal_name"),
        ({}, EngineSettings(group_scope=None), "unknown_policy"),
        (MAP, EngineSettings(scope_filter_enabled=False), None),
        (MAP, with_loop(reads_turns=False), None),
    ],
)
async def test_a_conversation_that_may_not_learn_queues_nothing(
    tmp_path: Path, scope_map: dict[str, object], settings: EngineSettings, code: str | None
) -> None:
    async with running(tmp_path, scope_map, settings=settings) as rig:
        outcome = await rig.engine.service.observe(TURN, conversation_id=group(777))
        assert isinstance(outcome, Refused)
        assert (outcome.why.code if outcome.why else None) == code
        assert (await rig.engine.status()).loop.queue.waiting == 0
