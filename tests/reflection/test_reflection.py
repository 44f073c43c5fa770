"""Finished turns are read, and what they teach is stored in the scope in which they were said."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.replies.explanation import why_text
from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    MemoryDraft,
    MemoryKind,
    Resting,
    Source,
    StateUnavailable,
    Stored,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed_by
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import is_done
from astrbot_plugin_scoped_memory.llm_memory.consolidation.archive_step import FADED_BY
from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.loop import Batch
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
from astrbot_plugin_scoped_memory.llm_memory.remember.memory_handlers import MemoryHandlers
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import Evidence
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    StandingClock,
    answer,
    learned,
    reflect,
    say,
    texts_of,
    with_loop,
)

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

HONG = person(2, "小红")
FAMILY_CHAT = private(1002)
PEANUTS = "奶奶对花生过敏"


def only(rig: Rig) -> StoredMemory:
    """The one memory that lives."""
    (stored,) = rig.engine.rooms.catalogue.all()
    return stored


def named(rig: Rig, text: str) -> StoredMemory:
    """The living memory of these words."""
    (stored,) = (s for s in rig.engine.rooms.catalogue.all() if s.memory.judgment == text)
    return stored


async def test_what_was_mentioned_in_passing_is_remembered_where_it_was_said(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(
        answer(learned(PEANUTS, kind="knowledge", strength=80, tags=["健康"], who="s1"))
    )
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "奶奶昨天吃了花生又起疹子，原来是过敏")
        report = await reflect(rig)
        assert (report.read, report.stored, report.waiting) == (1, 1, 0)
        memory = only(rig).memory
        assert (memory.judgment, memory.strength, memory.tags) == (PEANUTS, 80, ("健康",))
        assert (memory.active, memory.kind) == (False, MemoryKind.KNOWLEDGE)
        origin = memory.provenance
        assert (origin.who, origin.person) == ("小明", "aiocqhttp:1")
        assert (origin.source, origin.trusted) == (Source.REFLECTION, False)
        assert origin.conversation == FAMILY.umo
        assert await rig.texts("奶奶能吃花生吗", private(1002)) == [PEANUTS]
        assert await rig.texts("谁的健康不好", private(1002)) == [PEANUTS]
        assert await rig.texts("奶奶能吃花生吗", group(888)) == []
        assert (await rig.engine.status()).queue == 0


async def test_a_memory_of_a_made_up_kind_is_knowledge(tmp_path: Path) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS, kind="allergy")))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "奶奶对花生过敏")
        await reflect(rig)
        assert only(rig).memory.judgment == PEANUTS
        assert only(rig).memory.kind is MemoryKind.KNOWLEDGE
        assert len(chat.calls) == 1


async def test_no_transcript_stands_in_the_vault_and_a_memory_says_where_it_was_said(
    tmp_path: Path,
) -> None:
    said = ("奶奶昨天吃了花生又起疹子，原来是过敏", "今天食堂的鱼香肉丝咸得要命")
    chat = ScriptedChat(answer(learned(PEANUTS, who="s1")))
    clock = StandingClock()
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        for text in said:
            await say(rig, text, reply="那可要多留神才行呀")
        assert (await reflect(rig)).stored == 1
        assert only(rig).memory.provenance.conversation == FAMILY.umo
        clock.forward(days=1)
        await rig.engine.loop.sleep.run_once("nightly")
    pages = [path for path in (tmp_path / "memory").rglob("*") if path.is_file()]
    written = "".join(path.read_text("utf-8") for path in pages)
    assert PEANUTS in written
    for words in (*said, "那可要多留神才行呀"):
        assert words not in written


async def test_three_who_talk_at_once_are_three_speakers(tmp_path: Path) -> None:
    chat = ScriptedChat(
        answer(
            learned("小明周日去爬山", turn=1, who="s1"),
            learned("小红对花粉过敏", turn=2, who="s2"),
            learned("小刚负责开车", turn=3, who="s3"),
        )
    )
    async with running(tmp_path, chat=chat) as rig:
        for number, name, text in (
            (1, "小明", "我周日去爬山"),
            (2, "小红", "我对花粉过敏"),
            (3, "小刚", "我负责开车"),
        ):
            await say(rig, text, who=person(number, name))
        assert (await reflect(rig)).read == 3
        assert len(chat.calls) == 1
        who = {m.memory.judgment[:2]: m.memory.provenance for m in rig.engine.rooms.catalogue.all()}
        assert {name: origin.who for name, origin in who.items()} == {n: n for n in who}
        assert {origin.person for origin in who.values()} == {f"aiocqhttp:{n}" for n in (1, 2, 3)}


async def test_tomorrow_is_the_day_after_it_was_said(tmp_path: Path) -> None:
    clock = StandingClock()
    chat = ScriptedChat(answer(learned("小明明天要去体检", kind="event")))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        await say(rig, "我明天要去体检")
        clock.forward(days=3)
        await reflect(rig)
        assert "2026-11-22" in only(rig).memory.judgment
        assert only(rig).memory.created_at.day == 21


async def test_a_conversation_is_read_when_that_pays_and_nothing_waits_for_ever(
    tmp_path: Path,
) -> None:
    clock, chat = StandingClock(), ScriptedChat()
    settings = with_loop(after_turns=10, idle_minutes=10)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings) as rig:
        reader = rig.engine.loop.reflection
        for _ in range(7):
            await say(rig, "今天说了一句话")
        await reader.read_due()
        assert chat.calls == []  # they may go on talking
        clock.forward(minutes=10)
        assert (await reader.read_due()).read == 7
        for _ in range(10):
            await say(rig, "哈哈")
            clock.forward(minutes=30)
        await reader.read_due()
        assert len(chat.calls) == 2  # as many as are read together
        await say(rig, "又说了一句话")
        clock.forward(days=6)
        await reader.read_due()
        assert len(chat.calls) == 2
        clock.forward(days=1)
        assert (await reader.read_due()).read == 1
        clock.forward(days=9)
        await reader.read_due()
        assert len(chat.calls) == 3


async def test_in_a_queue_that_is_nearly_full_nothing_waits_for_more(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat, settings=with_loop(most_queued=5)) as rig:
        for number, expected in enumerate((0, 0, 0, 4), start=1):
            await say(rig, f"今天说了第{number}句话")
            assert (await rig.engine.loop.reflection.read_due()).read == expected


async def test_one_call_reads_one_conversation_one_scope_and_one_persona(tmp_path: Path) -> None:
    chat = ScriptedChat(*(answer(learned(f"第{one}处说好了周日去爬山")) for one in range(5)))
    places = [FAMILY, private(1002), group(777, persona="海盗"), group(888), group(999)]
    async with running(tmp_path, chat=chat, settings=with_loop(after_turns=1)) as rig:
        for number, where in enumerate(places):
            await say(rig, f"第{number}处说好了周日去爬山", where=where)
        assert (await rig.engine.loop.reflection.read_due()).read == 5
        assert [call.prompt.count('"turn": ') for call in chat.calls] == [1] * 5
        assert {call.conversation for call in chat.calls} == {where.umo for where in places}
        roles = {stored.memory.role for stored in rig.engine.rooms.catalogue.all()}
        assert "海盗" in roles


async def test_a_reader_sees_what_was_recalled_as_far_as_the_scope_sees_it(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat) as rig:
        ids = {
            name: (await rig.remember(f"{name}都知道的一件事", where)).memory.memory.memory_id
            for name, where in (("家里", FAMILY), ("公司", group(888)), ("大家", group(999)))
        }
        await say(rig, "那件事怎么样了", recalled=(*ids.values(), "m-00000000000000"))
        await reflect(rig)
        (call,) = chat.calls
        assert "家里都知道" in call.prompt
        assert "大家都知道" in call.prompt
        assert "公司都知道" not in call.prompt


async def test_what_the_bot_was_told_to_remember_meanwhile_is_known_to_the_reader(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "记住奶奶对花生过敏")
        draft = MemoryDraft(PEANUTS, actor=person(1, admin=True))
        stored = await rig.engine.service.remember(draft, conversation_id=FAMILY)
        assert isinstance(stored, Stored)
        assert stored.memory.memory.provenance.trusted
        await reflect(rig)
        assert PEANUTS in chat.calls[0].prompt.partition("<turns>")[0]
        assert only(rig) == stored.memory  # learned again, it adds nothing and changes nothing


async def test_counters_rise_for_what_is_seen_and_evidence_for_the_own_scope_alone(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        ids = {
            name: (await rig.remember(f"{name}的一件事", where)).memory.memory.memory_id
            for name, where in (
                ("家", FAMILY),
                ("家二", FAMILY),
                ("家三", FAMILY),
                ("公司", group(888)),
                ("大家", group(999)),
            )
        }
        rig.engine.parts.chat.say(  # type: ignore[union-attr]
            [
                json.dumps(
                    {
                        "useful_ids": [ids["家"], ids["公司"], ids["大家"], "m-0000", "x"],
                        "useless_ids": [ids["家二"], ids["家三"], ids["大家"], ids["公司"]],
                    }
                )
            ]
        )
        await say(rig, "那件事", recalled=(ids["家"], ids["家二"], ids["大家"]))
        before = {stored.pointer: stored for stored in rig.engine.rooms.catalogue.all()}
        report = await reflect(rig)
        # Not seen: 公司 twice, two made up. Not recalled: 家三. Not its own: 大家 as useless.
        assert report.dropped == 6
        assert {stored.pointer: stored for stored in rig.engine.rooms.catalogue.all()} == before
        uses = rig.engine.rooms.uses
        stored = {one.memory.memory_id: one for one in rig.engine.rooms.catalogue.all()}
        counted = {name: uses.of(stored[ids[name]]) for name in ("家", "大家", "公司")}
        # Shown once, and useful.
        assert counted == {"家": 2, "大家": 2, "公司": 0}
        book = rig.engine.parts.loop_book
        assert set(book.evidence("家人")) == {
            Evidence(Key("家人", ids["家"]), 1, 0),
            Evidence(Key("家人", ids["家二"]), 0, 1),
        }
        assert book.evidence("public") == book.evidence("公司") == []


async def contradicted(rig: Rig, new: dict[str, object], said: str, who: int = 1) -> str:
    """小明 lives in 北京; then a turn says something, and a reader calls that a contradiction."""
    chat = rig.engine.parts.chat
    assert isinstance(chat, ScriptedChat)
    chat.say([answer(learned("小明住在北京", strength=70))])
    await say(rig, "我住在北京")
    await reflect(rig)
    old = next(s for s in rig.engine.rooms.catalogue.all() if s.memory.judgment == "小明住在北京")
    old_id = old.memory.memory_id
    chat.say([json.dumps({"contradictions": [{"old_id": old_id, "new": new}]})])
    await say(rig, said, who=person(who, "小明" if who == 1 else "小刚"), recalled=(old_id,))
    return old_id


async def test_who_takes_his_own_words_back_replaces_them_and_undo_brings_them_back(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        old_id = await contradicted(rig, learned("小明住在上海"), "我上个月搬到上海了")
        report = await reflect(rig)
        assert (report.stored, report.dropped) == (1, 0)
        now = only(rig).memory
        assert now.judgment == "小明住在上海"
        assert now.strength == 70
        assert old_id in now.reasoning
        await rig.recall("小明住在哪里", FAMILY)
        (explained, *_) = await rig.engine.service.explain(conversation_id=FAMILY)
        for language in LANGUAGES:
            texts = Texts(language)
            line = texts.say("explain.instead_of", ids=old_id, id=old_id)
            assert line in why_text(texts, explained, detail=True).split("\n")
        await rig.engine.service.restore(
            old_id, conversation_id=FAMILY, actor=person(9, admin=True)
        )
        assert texts_of(rig) == {"家人": ["小明住在上海", "小明住在北京"]}


@pytest.mark.parametrize(
    ("new", "said", "who"),
    [
        (learned("小明住在上海"), "小明住在上海", 2),
        (learned("小明住在上海", who="s2"), "我搬到上海了", 1),
        (learned("小明住在上海", turn=7), "我搬到上海了", 1),
        (learned("小明住在上海"), "今天天气不错", 1),
    ],
)
async def test_no_other_speaker_replaces_them_and_both_stay(
    tmp_path: Path, new: dict[str, object], said: str, who: int
) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        await contradicted(rig, new, said, who)
        if new["turn"] == 7:
            await say(rig, "还有一件事")  # with one turn alone it would be clear which is meant
        report = await reflect(rig)
        assert report.dropped == 1
        assert texts_of(rig) == {"家人": ["小明住在上海", "小明住在北京"]}


async def test_a_debt_that_another_has_paid_is_settled_and_stays_as_it_was_said(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat) as rig:
        await rig.remember("蓝伞在门后", FAMILY, HONG)
        debt = learned("小红欠小明三百块", kind="task", tags=["借钱"])
        chat.say([answer(debt)])
        await say(rig, "小红欠我三百块")
        await reflect(rig)
        old = named(rig, "小红欠小明三百块")
        assert old.path == "TASKS.md"
        paid = learned("小红已经把三百块还给小明了", tags=["借钱"])
        chat.say([json.dumps({"contradictions": [{"old_id": old.memory.memory_id, "new": paid}]})])
        await say(rig, "三百块我还给小明了", who=HONG)
        report = await reflect(rig)
        assert (report.stored, report.dropped) == (1, 0)
        asked = await rig.texts("小红欠小明多少钱", FAMILY)
        assert asked[0] == "小红已经把三百块还给小明了"
        found = {s.memory.judgment: s for s in rig.engine.rooms.catalogue.all()}
        by = found["小红已经把三百块还给小明了"]
        settled = found["小红欠小明三百块"]
        assert settled.memory.memory_id == old.memory.memory_id
        assert settled.memory.provenance == old.memory.provenance
        assert closed_by(settled.memory) == by.memory.memory_id
        assert is_done(settled)
        text = (tmp_path / "memory/scopes/家人/TASKS.md").read_text("utf-8")
        assert f"了结：{by.memory.memory_id}" in text
        # Forgotten, or with the debt said anew, it is owed again.
        await rig.engine.service.forget(by.memory.memory_id, conversation_id=FAMILY, actor=HONG)
        assert not is_done(named(rig, "小红欠小明三百块"))
        assert closed_by(named(rig, "小红欠小明三百块").memory) == ""
        chat.say([json.dumps({"contradictions": [{"old_id": old.memory.memory_id, "new": paid}]})])
        await say(rig, "我又还了，三百块还给小明了", who=HONG)
        await reflect(rig)
        assert is_done(next(s for s in rig.engine.rooms.catalogue.all() if s.path == "TASKS.md"))
        chat.say([answer(debt)])
        await say(rig, "小红又借了，小红欠我三百块")
        await reflect(rig)
        found = {s.memory.judgment: s for s in rig.engine.rooms.catalogue.all()}
        assert closed_by(found["小红欠小明三百块"].memory) == ""
        assert not is_done(found["小红欠小明三百块"])


@pytest.mark.parametrize(
    ("where", "hers", "settles"),
    [
        (group(999), group(999), True),
        (group(999), None, False),  # a nickname that nobody bore there
        (group(999), group(998), False),  # nor where it was said
        (group(998), group(998), False),  # in public never across conversations
        (FAMILY, FAMILY, True),
        (FAMILY, None, False),
        (FAMILY_CHAT, FAMILY_CHAT, True),  # of one private scope
    ],
)
async def test_who_is_named_settles_a_matter_only_if_the_account_bore_that_name_there_before(
    tmp_path: Path,
    where: ConversationId,
    hers: ConversationId | None,
    settles: bool,
) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat) as rig:
        told = FAMILY if where in (FAMILY, FAMILY_CHAT) else group(999)
        if hers is not None:
            await rig.remember("蓝伞在门后", hers, HONG)
        await rig.remember("小红欠小明三百块", told)
        await rig.remember("周三加班到八点", where, HONG)  # afterwards is too late
        debt = named(rig, "小红欠小明三百块")
        new = {"old_id": debt.memory.memory_id, "new": learned("小红已经把三百块还给小明了")}
        chat.say([json.dumps({"contradictions": [new]})])
        await say(rig, "三百块我还给小明了", where=where, who=HONG)
        assert (await reflect(rig, where)).read == 1
        assert bool(settler(rig)) is settles


async def settled_debt(rig: Rig) -> tuple[StoredMemory, StoredMemory]:
    """小红 owed 小明 money and has paid: the debt, and what settled it."""
    chat = rig.engine.parts.chat
    assert isinstance(chat, ScriptedChat)
    await rig.remember("蓝伞在门后", FAMILY, HONG)
    chat.say([answer(learned("小红欠小明三百块"))])
    await say(rig, "小红欠我三百块")
    await reflect(rig)
    debt_id = named(rig, "小红欠小明三百块").memory.memory_id
    await contradict(rig, debt_id, "小红已经把三百块还给小明了", "三百块我还给小明了")
    found = {s.memory.judgment: s for s in rig.engine.rooms.catalogue.all()}
    debt, paid = found["小红欠小明三百块"], found["小红已经把三百块还给小明了"]
    assert closed_by(debt.memory) == paid.memory.memory_id
    return debt, paid


async def contradict(rig: Rig, old_id: str, text: str, said: str) -> None:
    """小红 says what a reader calls a contradiction."""
    chat = rig.engine.parts.chat
    assert isinstance(chat, ScriptedChat)
    chat.say([json.dumps({"contradictions": [{"old_id": old_id, "new": learned(text)}]})])
    await say(rig, said, who=HONG)
    await reflect(rig)


def settler(rig: Rig) -> str:
    """What has settled the debt now."""
    return closed_by(named(rig, "小红欠小明三百块").memory)


async def test_what_takes_the_place_of_what_settled_a_debt_has_settled_it(tmp_path: Path) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        _, paid = await settled_debt(rig)
        new = "小红其实没有把三百块还给小明，转账失败了"
        await contradict(rig, paid.memory.memory_id, new, f"{new}，刚发现")
        found = {s.memory.judgment: s.memory.memory_id for s in rig.engine.rooms.catalogue.all()}
        assert settler(rig) == found[new]
        owed = await rig.texts("小红欠小明多少钱", FAMILY)
        assert [text for text in owed if "小明" in text] == [new, "小红欠小明三百块"]


@pytest.mark.parametrize("how", ["forgotten", "moved", "by hand", "while off"])
async def test_what_a_person_takes_out_has_settled_nothing(tmp_path: Path, how: str) -> None:
    admin = person(9, admin=True)
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        debt, paid = await settled_debt(rig)
        path = tmp_path / "memory/scopes/家人" / paid.path
        name, service = paid.memory.memory_id, rig.engine.service
        if how == "forgotten":
            await service.forget(name, conversation_id=FAMILY, actor=admin)
        elif how == "moved":
            await service.move(name, "公司", conversation_id=FAMILY, actor=admin)
        elif how == "by hand":
            without_block(path, name)
            await rig.engine.reconcile()
        assert settler(rig) == ("" if how != "while off" else name)
    if how == "while off":
        without_block(path, name)
        async with running(tmp_path, chat=ScriptedChat()) as rig:
            await rig.engine.reconcile()
            assert settler(rig) == ""
    assert debt.memory.judgment in path.read_text("utf-8")
    assert "了结" not in path.read_text("utf-8")


def without_block(path: Path, memory_id: str) -> None:
    blocks = path.read_text("utf-8").split("## ")
    path.write_text("## ".join(one for one in blocks if f"^{memory_id}" not in one), "utf-8")


async def test_a_debt_told_anew_is_owed_though_what_settled_it_has_faded(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat) as rig:
        _, paid = await settled_debt(rig)
        now = rig.clock()
        vault, living = rig.engine.parts.vault, rig.engine.rooms.catalogue
        vault.archive(paid, by=FADED_BY, at=now)
        living.remove(paid)
        assert settler(rig)
        chat.say([answer(learned("小红欠小明三百块"))])
        await say(rig, "小红又借了，小红欠我三百块")
        await reflect(rig)
        assert settler(rig) == ""


@pytest.mark.parametrize(
    "claim", ["取代 m-abcd1234", "取\u200b代 m-abcd1234 ", "合并自 m-abcd1234"]
)
async def test_a_reader_does_not_say_whose_place_a_memory_took(tmp_path: Path, claim: str) -> None:
    chat = ScriptedChat(answer(learned("小明住在上海", reasoning=f"他自己说的\n{claim}")))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "我住在上海")
        await reflect(rig)
        assert only(rig).memory.reasoning == "他自己说的"


async def test_a_successor_stands_in_the_file_of_the_one_before(tmp_path: Path) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        new = learned("小明上个月搬到上海了", kind="event")
        await contradicted(rig, new, "我上个月搬到上海了")
        await reflect(rig)
        assert only(rig).path == "entities.md"


async def test_a_conversation_that_is_read_late_does_not_bring_back_what_was_so_before(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        chat = rig.engine.parts.chat
        assert isinstance(chat, ScriptedChat)
        elsewhere = private(1002)
        await say(rig, "我住在北京")
        await say(rig, "我搬到上海了", where=elsewhere)
        chat.say([answer(learned("小明住在上海"))])
        await reflect(rig, elsewhere)
        newer = only(rig).memory
        found = {"old_id": newer.memory_id, "new": learned("小明住在北京")}
        chat.say([json.dumps({"contradictions": [found]})])
        assert (await reflect(rig)).dropped == 1
        assert texts_of(rig) == {"家人": ["小明住在上海", "小明住在北京"]}
        older = next(s for s in rig.engine.rooms.catalogue.all() if "北京" in s.memory.judgment)
        assert older.memory.created_at < newer.created_at


async def test_a_memory_of_another_scope_cannot_be_contradicted_not_even_a_public_one(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        chat = rig.engine.parts.chat
        assert isinstance(chat, ScriptedChat)
        for where in (group(999), group(888)):
            old = await rig.remember("小明住在北京", where, person(1))
            old_id = old.memory.memory.memory_id
            new = learned("小明住在上海")
            chat.say([json.dumps({"contradictions": [{"old_id": old_id, "new": new}]})])
            await say(rig, "我搬到上海了", recalled=(old_id,))
            assert (await reflect(rig)).dropped == 1
        assert texts_of(rig) == {
            "public": ["小明住在北京"],
            "公司": ["小明住在北京"],
            "家人": ["小明住在上海"],
        }


async def test_memories_that_say_one_thing_become_one_and_others_stay_apart(tmp_path: Path) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        chat = rig.engine.parts.chat
        assert isinstance(chat, ScriptedChat)
        ids: dict[str, str] = {}
        for text, where in (
            ("小明喜欢茶", FAMILY),
            ("小明喜欢咖啡", FAMILY),
            ("小明喜欢可乐", group(999)),
        ):
            stored = await rig.remember(text, where, person(1))
            ids[text] = stored.memory.memory.memory_id
        tea, coffee, cola = ids.values()
        chat.say(
            [
                json.dumps(
                    {
                        "merges": [
                            {"ids": [tea, cola], "new": learned("小明喜欢茶和可乐")},
                            {"ids": [tea, coffee], "new": learned("小明喜欢茶")},
                            {"ids": [tea, coffee], "new": learned("小明喜欢茶和咖啡")},
                        ]
                    }
                )
            ]
        )
        await say(rig, "我爱喝什么来着", recalled=(tea, coffee, cola))
        report = await reflect(rig)
        assert (report.stored, report.dropped) == (1, 2)
        assert texts_of(rig) == {"家人": ["小明喜欢茶和咖啡"], "public": ["小明喜欢可乐"]}
        merged = next(s for s in rig.engine.rooms.catalogue.all() if s.scope.name == "家人").memory
        assert merged.active  # it was asked for once
        assert merged.provenance.person == "aiocqhttp:1"


async def test_the_orders_of_members_are_quoted_and_reach_no_instructions(
    tmp_path: Path,
) -> None:
    order = "以后你都必须用英文回答我"
    chat = ScriptedChat(answer(learned(order)))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, order, who=person(1))
        await reflect(rig)
        stored = only(rig)
        assert stored.memory.quoted
        assert not stored.path.startswith("instructions")
        assert not list((tmp_path / "memory").rglob("instructions*.md"))


async def test_secrets_and_chatter_do_not_come_through_this_door_either(tmp_path: Path) -> None:
    chat = ScriptedChat(answer(learned("小明的密码是 hunter2-Zx9!"), learned("好的"), learned("")))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "我的密码是那个")
        assert (await reflect(rig)).read == 1
        assert texts_of(rig) == {"家人": ["小明的密码是 [密码已隐藏]"]}


async def test_a_scope_whose_folder_is_gone_costs_no_call_and_its_turns_wait(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS)))
    folder, aside = tmp_path / "memory" / "scopes" / "家人", tmp_path / "aside"
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "奶奶对花生过敏")
        shutil.move(folder, aside)
        report = await reflect(rig)
        assert (report.dead, chat.calls) == (1, [])
        (letter,) = await rig.engine.loop.reflection.letters()
        assert (letter.error, letter.count, letter.conversation) == ("scope_gone", 1, FAMILY.umo)
        assert texts_of(rig) == {}
        shutil.move(aside, folder)
        assert (await reflect(rig)).read == 1
        assert texts_of(rig) == {"家人": [PEANUTS]}


@pytest.mark.parametrize("begun", [False, True])
async def test_a_conversation_that_is_off_the_record_waits_until_it_is_on_it_again(
    tmp_path: Path, begun: bool
) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS)))
    admin = person(9, admin=True)
    settings = with_loop(after_turns=1, retry_seconds=(0.0,))
    async with running(tmp_path, chat=chat, settings=settings) as rig:
        await say(rig, "奶奶对花生过敏")
        if begun:
            chat.say([ChatFailed("failed"), answer(learned(PEANUTS))])
            await rig.engine.loop.reflection.read_due()
        await rig.engine.service.pause(conversation_id=FAMILY, actor=admin)
        assert (await rig.engine.loop.reflection.read_due()).read == 0
        assert (await reflect(rig)).read == 0
        assert len(chat.calls) == begun
        await rig.engine.service.resume(conversation_id=FAMILY, actor=admin)
        assert (await rig.engine.loop.reflection.read_due()).read == 1


@pytest.mark.parametrize("first", [answer(learned(PEANUTS)), "不是 JSON"])
async def test_an_answer_that_comes_after_the_pause_is_stored_after_the_resume(
    tmp_path: Path, first: str
) -> None:
    chat, admin = ScriptedChat(first, answer(learned(PEANUTS))), person(9, admin=True)
    chat.release.clear()
    async with running(tmp_path, chat=chat, settings=with_loop(after_turns=1)) as rig:
        reader, service = rig.engine.loop.reflection, rig.engine.service
        await say(rig, "奶奶对花生过敏")
        reading = asyncio.create_task(reader.read_due())
        await chat.asked.wait()
        await service.pause(conversation_id=FAMILY, actor=admin)
        chat.release.set()
        report = await reading
        assert (report.read, report.waiting, texts_of(rig)) == (0, 1, {})
        assert (await reader.read_due()).read == 0
        assert len(chat.calls) == 1
        await service.resume(conversation_id=FAMILY, actor=admin)
        assert (await reader.read_due()).read == 1
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert len(chat.calls) == (1 if first.startswith("{") else 2)


async def test_nothing_is_read_while_the_scope_filter_is_off(tmp_path: Path) -> None:
    async with running(tmp_path, chat=ScriptedChat()) as rig:
        await say(rig, "奶奶对花生过敏")
    chat = ScriptedChat(answer(learned(PEANUTS)))
    off = replace(QUICK, scope_filter_enabled=False)
    async with running(tmp_path, chat=chat, settings=off) as rig:
        report = await reflect(rig)
        assert (report.resting, report.waiting) == (Resting.PAUSED_LEARNING, 1)
        assert (chat.calls, texts_of(rig)) == ([], {})
    async with running(tmp_path, chat=chat) as rig:
        assert (await reflect(rig)).read == 1


async def test_one_who_knows_the_words_twice_stores_them_once(tmp_path: Path) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS), learned(PEANUTS)), answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat) as rig:
        for _ in range(2):
            await say(rig, "奶奶对花生过敏")
            await reflect(rig)
        assert texts_of(rig) == {"家人": [PEANUTS]}
        assert not only(rig).memory.active  # twice by the way is not once on purpose


async def test_it_looks_when_woken_and_else_a_minute_apart_at_least(tmp_path: Path) -> None:
    waits: list[float] = []
    looked = asyncio.Event()

    async def wait(woken: asyncio.Event, seconds: float) -> None:
        waits.append(seconds)
        looked.set()
        await woken.wait()

    chat, clock = ScriptedChat(), StandingClock()
    settings = with_loop(after_turns=10, idle_minutes=10)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings) as rig:
        reader = rig.engine.loop.reflection
        reader.wait = wait
        task = asyncio.create_task(reader.run())
        for said, forward in ((7, 0), (0, 9.9), (0, 0.1), (0, 600)):
            await asyncio.wait_for(looked.wait(), 30)
            looked.clear()
            for _ in range(said):
                await say(rig, "说了一句话")
            clock.forward(minutes=forward)
            reader.wake()
        await asyncio.wait_for(looked.wait(), 30)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert len(chat.calls) == 1
        assert waits[0] == 3600.0  # nothing waits
        assert waits[1] == timedelta(minutes=10).total_seconds()
        assert waits[2] == 60.0  # due in six seconds, and looked for in a minute
        assert min(waits) >= 60.0


async def test_while_only_overheard_turns_wait_it_looks_seldom_but_not_for_those_to_the_bot(
    tmp_path: Path,
) -> None:
    chat, clock = ScriptedChat(otherwise=Completion("{}", tokens=30_000)), StandingClock()
    settings = with_loop(after_turns=8, idle_minutes=5, daily_tokens=12_000)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings) as rig:
        reader = rig.engine.loop.reflection
        for _ in range(16):
            await say(rig, "闲聊了一句", reply="")
            await reader.read_due()
        assert reader.resting is Resting.OVERHEARD
        assert await reader.seconds_until_due() == 600.0
        for _ in range(7):
            await say(rig, "叫到你的一句")
        await reader.read_due()
        assert await reader.seconds_until_due() == 300.0


async def test_a_learned_memory_that_a_person_threw_away_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = ScriptedChat(answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "奶奶对花生过敏")

        def full(*_: object, **__: object) -> None:
            raise StateUnavailable("disk full")

        with monkeypatch.context() as patch:
            patch.setattr(rig.engine.parts.turns, "drop", full)
            with pytest.raises(StateUnavailable):
                await reflect(rig)
        await rig.engine.service.forget(
            only(rig).memory.memory_id, conversation_id=FAMILY, actor=person(1)
        )
        assert (await reflect(rig)).read == 1
        assert texts_of(rig) == {}


async def test_an_answer_that_breaks_what_applies_it_is_put_aside_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = ScriptedChat(answer(learned("坏掉的一条")), answer(learned(PEANUTS)))
    async with running(tmp_path, chat=chat, settings=with_loop(after_turns=1)) as rig:
        write = MemoryHandlers.write

        async def breaks(
            handlers: MemoryHandlers, draft: MemoryDraft, *rest: object, **more: object
        ) -> object:
            if draft.judgment == "坏掉的一条":
                raise RuntimeError("a fault of ours")
            return await write(handlers, draft, *rest, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(MemoryHandlers, "write", breaks)
        await say(rig, "说了坏掉的一句话")
        await say(rig, "奶奶对花生过敏", where=group(888))
        report = await rig.engine.loop.reflection.read_due()
        assert (report.dead, report.read) == (1, 1)
        assert texts_of(rig) == {"公司": [PEANUTS]}
        (letter,) = await rig.engine.loop.reflection.letters()
        assert letter.error == "internal: RuntimeError"


async def test_a_batch_without_turns_is_dropped_and_blocks_no_other(tmp_path: Path) -> None:
    chat, clock = ScriptedChat(answer(learned(PEANUTS))), StandingClock()
    settings = with_loop(after_turns=1)
    async with running(tmp_path, chat=chat, clock=clock, settings=settings) as rig:
        store = rig.engine.parts.turns
        store.make_batch(Batch("b-empty", "家人", FAMILY.umo, "", clock()), ["t-unknown"])
        await say(rig, "奶奶对花生过敏")
        assert (await rig.engine.loop.reflection.read_due()).read == 1
        assert store.batches() == []


async def test_a_reader_is_shown_what_the_same_person_said_of_it_before_in_this_scope_alone(
    tmp_path: Path,
) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat) as rig:
        for text, where, who in (
            ("小明的相机是海棠微单", FAMILY, 1),
            ("小明的相机是旧的那台", group(888), 1),
            ("小刚的相机是松鼠单反", FAMILY, 2),
            ("小明喜欢喝茶", FAMILY, 1),
        ):
            await rig.remember(text, where, person(who))
        await say(rig, "我的相机换成海棠胶片机了")
        await reflect(rig)
        known = chat.calls[0].prompt.partition("<turns>")[0]
        assert "海棠微单" in known
        for other in ("旧的那台", "松鼠单反", "喝茶"):
            assert other not in known
