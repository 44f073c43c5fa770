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
    ConversationId,
    Feedback,
    MemoryDraft,
    ObserveOutcome,
    PrivacyMode,
    Refused,
    Source,
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
from astrbot_plugin_scoped_memory.tests.support.reflecting import FAMILY, with_loop

pytestmark = pytest.mark.engine

SAID = "奶奶吃了花生就起疹子"
OTHER_MAP = {key: "别处" if "777" in key else name for key, name in MAP.items()}
CAT = {"persona:猫": "猫"}
ID_CARD, PHONE = "11010519491231002X", "13912345678"


async def observe(
    rig: Rig,
    words: str = SAID,
    reply: str = "记下了",
    where: ConversationId = FAMILY,
    **more: object,
) -> ObserveOutcome:
    """A finished turn. ``more``: of it."""
    turn = replace(Turn(person(1), words, reply), **more)  # type: ignore[arg-type]
    return await rig.engine.service.observe(turn, conversation_id=where)


def rows(root: Path) -> list[dict[str, object]]:
    """What lies in the file, column by column."""
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute("SELECT * FROM turn ORDER BY place").fetchall()
    return [dict(row) for row in found]


def kept(root: Path) -> list[tuple[object, object]]:
    """The scope of each turn, and its answer."""
    return [(row["scope"], row["reply_text"]) for row in rows(root)]


async def test_an_answer_to_what_was_shown_under_another_map_is_not_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        view = await rig.engine.service.view(conversation_id=FAMILY)
        seen = {"view": view, "recalled": ("m-aaaaaaaaaa",)}
        await observe(rig, **seen)
    async with running(tmp_path, OTHER_MAP) as rig:
        await observe(rig, **seen)
    assert kept(tmp_path) == [("家人", "记下了"), ("别处", "")]
    assert [row["recalled"] for row in rows(tmp_path)] == ['["m-aaaaaaaaaa"]', "[]"]


@pytest.mark.parametrize(
    ("steps", "answers"),
    [
        # It went to another scope and came back: it holds words of both.
        ([(MAP, ""), (OTHER_MAP, ""), (MAP, "")], ["答", "", ""]),
        ([(None, ""), (MAP, "")], [""]),  # all scopes were shown
        # A persona with a scope of its own is a switch, another is none, and None is not known now.
        ([(CAT, persona) for persona in ("", None, "管家", "猫", "管家")], ["答", "答", "", ""]),
    ],
)
async def test_an_answer_from_a_history_that_is_mixed_is_not_kept(
    tmp_path: Path, steps: list[tuple[dict[str, str] | None, str | None]], answers: list[str]
) -> None:
    """After a restart each."""
    for scopes, persona in steps:
        settings = replace(QUICK, scope_filter_enabled=scopes is not None)
        async with running(tmp_path, scopes or {}, settings=settings) as rig:
            here, service = group(777, persona=persona), rig.engine.service
            await service.view(conversation_id=here, history="h", empty=scopes is None)
            await observe(rig, "问", "答", here, history="h")
            mixed = (await service.describe(conversation_id=here)).mixed_history
    assert [answer for _, answer in kept(tmp_path)] == answers
    assert mixed


async def test_an_answer_begun_before_the_switch_taints_the_history_it_ends_in(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        view = await rig.engine.service.view(conversation_id=FAMILY, history="h", empty=True)
    async with running(tmp_path, OTHER_MAP) as rig:
        for more in ({"view": view}, {}):
            # AstrBot saves the first answer only afterwards.
            await rig.engine.service.view(conversation_id=FAMILY, history="h", empty=bool(more))
            await observe(rig, history="h", **more)
    assert kept(tmp_path) == [("别处", "")] * 2


async def test_an_answer_from_a_history_of_unknown_scope_is_left_out(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise StateUnavailable("disk I/O error", "state.sqlite")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStateStore, "model_history", gone)
        await rig.engine.service.view(conversation_id=FAMILY, history="h")
        await observe(rig, history="h")
    await observe(rig, history="h")
    assert kept(rig.root) == [("家人", ""), ("家人", "记下了")]


@pytest.mark.parametrize("mode", [PrivacyMode.REDACT, PrivacyMode.REJECT])
async def test_no_secret_no_picture_and_nothing_that_was_recalled_reaches_the_disk(
    tmp_path: Path, mode: PrivacyMode
) -> None:
    words = f"我的身份证号是{ID_CARD}，密码是hunter2secret data:image/png;base64,{'QUJD' * 500}"
    recalled = "<scoped_memory>\n1. [2026-11-21 · 妈 · a.md#m-01jd3q8z7k] 秘密\n</scoped_memory>"
    reply, who = f"<think>想</think>{recalled}\n好的，{PHONE}", person(1, f"小明{PHONE}")
    async with running(tmp_path, settings=replace(QUICK, privacy_mode=mode)) as rig:
        assert isinstance(await observe(rig, words, reply, actor=who), Ticket)
        for length in (3976, 3985, 3994):  # half a number at the place of the cut
            await observe(rig, "话" * length + f" 证件{ID_CARD} " + "尾" * 500)
        held = b"".join(path.read_bytes() for path in (tmp_path / "state").glob("loop.sqlite*"))
    for secret in (ID_CARD[:4], PHONE, "hunter2secret", "QUJDQUJD", "秘密", "想"):
        assert secret.encode() not in held
    first, *long = [str(row["user_text"]) for row in rows(tmp_path)]
    assert "身份证号" in first
    assert all(len(text) <= 4000 and text.startswith("话话") for text in long)


async def test_nothing_is_queued_without_words_or_in_a_conversation_without_an_id(
    rig: Rig,
) -> None:
    for words, reply in (("", ""), (" \n", "\u200b"), ("data:;base64,QUJD", "<think>x</think>")):
        assert await observe(rig, words, reply) == Refused("empty")
    for umo in ("", "x", "a:b", "a:GroupMessage: "):
        assert isinstance(await observe(rig, where=replace(FAMILY, umo=umo)), Refused)
    assert rows(rig.root) == []


async def test_a_full_queue_keeps_what_is_new_and_leaves_half_to_those_who_talk_to_the_bot(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, settings=with_loop(most_queued=4)) as rig:

        def standing() -> dict[str, str]:
            return {one.code: one.params["count"] for one in rig.engine.notices}

        for number in range(2):
            assert isinstance(await observe(rig, f"闲聊{number}", ""), Ticket)
        for number in range(2):
            assert await observe(rig, "还在闲聊", "") == Refused("full")
            assert isinstance(await observe(rig, f"叫你的{number}"), Ticket)
        assert standing() == {"chatter_full": "2"}
        await observe(rig, "私下说的，没有等到回答", "", private(1002))
        assert rows(tmp_path)[0]["user_text"] == "闲聊1"
        assert standing() == {"chatter_full": "2", "queue_full": "4"}
        turns = rig.engine.parts.turns
        turns.drop([one.ticket_id for one in turns.of_scope("家人")[1:]])
        for reply in ("", "好"):
            assert isinstance(await observe(rig, "又说一句", reply), Ticket)
        assert (standing(), len(rig.notices)) == ({}, 2)  # each said once


@pytest.mark.parametrize("how", ["locked a moment", "locked", "full"])
async def test_a_turn_waits_for_a_lock_and_one_that_cannot_be_written_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    def full(*_: object) -> None:
        raise VaultWriteFailed("No space left on device")

    frees, lock = how == "locked a moment", tmp_path / "state" / "loop.sqlite"
    monkeypatch.setattr(SqliteLoopFile, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(turn_queue, "_PATIENCE", 0.5 if how == "locked" else 60)
    monkeypatch.setattr(turn_queue, "_AGAIN", 0.1)
    async with running(tmp_path, words_alone=True) as rig:
        with (
            closing(sqlite3.connect(lock, isolation_level=None)) as other,
            monkeypatch.context() as patch,
        ):
            if how == "full":
                patch.setattr(MarkdownVault, "ensure", full)
            else:
                other.execute("BEGIN IMMEDIATE")
            if frees:
                asyncio.get_running_loop().call_later(0.3, other.close)
            done = await asyncio.gather(*(observe(rig, f"第{n}天喝了燕麦奶") for n in range(3)))
        assert {isinstance(one, Ticket) for one in done} == {frees}
        lost = [(one.code, one.params["count"]) for one in rig.engine.notices]
        assert lost == [("turns_lost", "3")] * (not frees)
        assert len(rig.notices) == (not frees)
        assert isinstance(await observe(rig, "第4天喝了燕麦奶"), Ticket)
        assert rig.engine.notices == ()
    assert len(rows(tmp_path)) == (4 if frees else 1)


async def test_a_ticket_is_settled_once_of_one_conversation_and_for_those_who_spoke(
    rig: Rig,
) -> None:
    here, there = await observe(rig), await observe(rig, where=group(888))
    assert isinstance(here, Ticket) and isinstance(there, Ticket)
    boss = person(9, "管理员", admin=True)
    forged = MemoryDraft("奶奶对花生过敏", source=Source.PERSON, actor=boss, active=True)
    for ticket, known in (
        *((Ticket(here.ticket_id, there.ids), False), (Ticket("t-unknown"), False)),
        *((here, True), (here, False)),
    ):
        report = await rig.engine.service.feedback(Feedback(drafts=(forged,)), ticket=ticket)
        assert (report.known, len(report.outcomes)) == (known, known)
    origin = rig.only().memory.provenance
    assert (origin.person, origin.who, origin.trusted) == ("", "", False)
    assert (origin.source, rig.only().scope.name) == (Source.REFLECTION, "家人")


async def test_a_history_that_is_mixed_counts_as_that_however_many_come_after_it() -> None:
    class State:
        def __init__(self) -> None:
            self.noted = {"q:0": ("公司", False)}

        def model_history(self, umo: str, _: str) -> tuple[str, bool] | None:
            return self.noted.get(umo)

        def note_model_history(self, umo: str, _: str, scope: str, *, mixed: bool) -> None:
            self.noted[umo] = (scope, mixed)

    histories = turn_queue.ModelHistories(State())  # type: ignore[arg-type]
    for number in range(4_200):
        await histories.is_mixed(f"q:{number}", "c1", "家人")
    assert [histories.current_is_mixed(umo) for umo in ("q:0", "q:1")] == [True, False]
