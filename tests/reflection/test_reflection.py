"""Finished turns are read, and what they teach is stored in the scope in which they were said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.commands.look_commands import why_lines
from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    MemoryKind,
    ReflectionReport,
    Source,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import closed_by
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import is_done
from astrbot_plugin_scoped_memory.llm_memory.consolidation.leaving import FADED
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_facts import Evidence
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import (
    group,
    person,
    private,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    Bot,
    answer,
    learned,
    reading,
    reflect,
    say,
    texts_of,
)

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

HONG = person(2, "小红")
FAMILY_CHAT = private(1002)
PEANUTS = "奶奶对花生过敏"
OWED, PAID = "小红欠小明三百块", "小红已经把三百块还给小明了"


def named(bot: Bot, text: str) -> StoredMemory:
    """The living memory of these words."""
    (stored,) = (s for s in bot.living() if s.memory.judgment == text)
    return stored


async def test_what_was_mentioned_in_passing_is_remembered_where_it_was_said(bot: Bot) -> None:
    report = await bot.hears(
        "奶奶昨天吃了花生又起疹子，原来是过敏",
        learned(PEANUTS, kind="knowledge", strength=80, tags=["健康"], who="s1"),
    )
    assert (report.read, report.stored, report.waiting) == (1, 1, 0)
    memory = bot.only().memory
    assert (memory.judgment, memory.strength, memory.tags) == (PEANUTS, 80, ("健康",))
    assert (memory.active, memory.kind) == (False, MemoryKind.KNOWLEDGE)
    origin = memory.provenance
    assert (origin.who, origin.person) == ("小明", "aiocqhttp:1")
    assert (origin.source, origin.trusted) == (Source.REFLECTION, False)
    assert origin.conversation == FAMILY.umo
    assert await bot.texts("奶奶能吃花生吗", private(1002)) == [PEANUTS]
    assert await bot.texts("谁的健康不好", private(1002)) == [PEANUTS]
    assert await bot.texts("奶奶能吃花生吗", group(888)) == []
    assert (await bot.engine.status()).loop.queue.waiting == 0


async def test_no_transcript_stands_in_the_vault(timed_bot: Bot) -> None:
    said, reply = "今天食堂的鱼香肉丝咸得要命", "那可要多留神才行呀"
    await say(timed_bot, said, reply=reply)
    heard = "奶奶昨天吃了花生又起疹子，原来是过敏"
    report = await timed_bot.hears(heard, learned(PEANUTS, who="s1", turn=2), reply=reply)
    assert report.stored == 1
    timed_bot.clock.forward(days=1)
    await timed_bot.night()
    pages = [path for path in (timed_bot.root / "memory").rglob("*") if path.is_file()]
    written = "".join(path.read_text("utf-8") for path in pages)
    assert PEANUTS in written
    assert not any(words in written for words in (said, heard, reply))


async def test_tomorrow_is_the_day_after_it_was_said(timed_bot: Bot) -> None:
    timed_bot.chat.add(answer(learned("小明明天要去体检", kind="event")))
    await say(timed_bot, "我明天要去体检")
    timed_bot.clock.forward(days=3)
    await reflect(timed_bot)
    assert "2026-11-22" in timed_bot.only().memory.judgment
    assert timed_bot.only().memory.created_at.day == 21


async def test_what_the_bot_was_told_to_remember_meanwhile_is_known_to_the_reader(bot: Bot) -> None:
    bot.chat.add(answer(learned(PEANUTS)))
    await say(bot, "记住奶奶对花生过敏")
    stored = await bot.remember(PEANUTS, FAMILY, person(1, admin=True))
    assert stored.memory.memory.provenance.trusted
    await reflect(bot)
    assert PEANUTS in bot.chat.calls[0].prompt.partition("<turns>")[0]
    assert bot.only() == stored.memory  # learned again, it adds nothing and changes nothing


async def test_counters_rise_for_what_is_seen_and_evidence_for_the_own_scope_alone(
    bot: Bot,
) -> None:
    places = dict.fromkeys(("家", "家二", "家三"), FAMILY)
    places |= {"公司": group(888), "大家": group(999)}
    ids = {name: await bot.stored_id(f"{name}的一件事", at) for name, at in places.items()}
    before = {stored.pointer: stored for stored in bot.living()}
    report = await bot.hears(
        "那件事",
        recalled=(ids["家"], ids["家二"], ids["大家"]),
        useful_ids=[ids["家"], ids["公司"], ids["大家"], "m-0000", "x"],
        useless_ids=[ids["家二"], ids["家三"], ids["大家"], ids["公司"]],
    )
    # Not seen: 公司 twice, two made up. Not recalled: 家三. Not its own: 大家 as useless.
    assert report.dropped == 6
    assert {stored.pointer: stored for stored in bot.living()} == before
    uses = bot.engine.parts.uses
    stored = {one.memory.memory_id: one for one in bot.living()}
    counted = {name: uses.of(stored[ids[name]]) for name in ("家", "大家", "公司")}
    # Shown once, and useful.
    assert counted == {"家": 2, "大家": 2, "公司": 0}
    book = bot.engine.parts.loop_book
    assert set(book.evidence("家人")) == {
        Evidence(Key("家人", ids["家"]), 1, 0),
        Evidence(Key("家人", ids["家二"]), 0, 1),
    }
    assert book.evidence("public") == book.evidence("公司") == []


async def hears_of(
    bot: Bot, old: StoredMemory, text: str, said: str, who: Actor | None = None
) -> ReflectionReport:
    """Somebody says what a reader takes for the contrary of a memory."""
    new = {"old_id": old.memory.memory_id, "new": learned(text)}
    shown = (old.memory.memory_id,)
    return await bot.hears(said, contradictions=[new], recalled=shown, who=who or person(1))


async def test_who_takes_his_own_words_back_replaces_them_and_undo_brings_them_back(
    bot: Bot,
) -> None:
    await bot.hears("我住在北京", learned("小明住在北京", strength=70))
    old = bot.only()
    report = await hears_of(bot, old, "小明住在上海", "我上个月搬到上海了")
    assert (report.stored, report.dropped) == (1, 0)
    now, old_id = bot.only().memory, old.memory.memory_id
    assert (now.judgment, now.strength) == ("小明住在上海", 70)
    assert old_id in now.reasoning
    await bot.recall("小明住在哪里", FAMILY)
    (explained, *_) = await bot.engine.service.explain(conversation_id=FAMILY)
    for language in LANGUAGES:
        texts = Texts(language)
        line = texts.say("explain.instead_of", id=old_id)
        assert line in why_lines(texts, explained, [""] * len(explained.hits))
    await bot.restore(old_id, FAMILY, person(9, admin=True))
    assert texts_of(bot) == {"家人": ["小明住在上海", "小明住在北京"]}


async def settled_debt(bot: Bot) -> tuple[StoredMemory, StoredMemory]:
    """小红 owed 小明 money and has paid: the debt, and what settled it."""
    await bot.remember("蓝伞在门后", FAMILY, HONG)
    await bot.hears("小红欠我三百块", learned(OWED, kind="task", tags=["借钱"]))
    before = named(bot, OWED)
    await hears_of(bot, before, PAID, "三百块我还给小明了", HONG)
    debt, paid = named(bot, OWED), named(bot, PAID)
    assert debt.memory.memory_id == before.memory.memory_id
    assert closed_by(debt.memory) == paid.memory.memory_id
    return debt, paid


def settler(bot: Bot) -> str:
    """What has settled the debt now."""
    return closed_by(named(bot, OWED).memory)


async def test_a_debt_that_another_has_paid_is_settled_and_stays_as_it_was_said(bot: Bot) -> None:
    debt, paid = await settled_debt(bot)
    assert (debt.path, debt.memory.provenance.person) == ("TASKS.md", "aiocqhttp:1")
    assert is_done(debt)
    assert (await bot.texts("小红欠小明多少钱", FAMILY))[0] == PAID
    page = (bot.root / "memory/scopes/家人/TASKS.md").read_text("utf-8")
    assert f"了结：{paid.memory.memory_id}" in page
    await bot.hears("小红又借了，小红欠我三百块", learned(OWED, kind="task", tags=["借钱"]))
    assert settler(bot) == ""  # said anew, it is owed again


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
    bot: Bot, where: ConversationId, hers: ConversationId | None, settles: bool
) -> None:
    if hers is not None:
        await bot.remember("蓝伞在门后", hers, HONG)
    await bot.remember(OWED, FAMILY if where in (FAMILY, FAMILY_CHAT) else group(999))
    await bot.remember("周三加班到八点", where, HONG)  # afterwards is too late
    new = {"old_id": named(bot, OWED).memory.memory_id, "new": learned(PAID)}
    said = "三百块我还给小明了"
    assert (await bot.hears(said, where=where, who=HONG, contradictions=[new])).read == 1
    assert bool(settler(bot)) is settles


@pytest.mark.parametrize("how", ["forgotten", "moved", "by hand", "while off", "faded"])
async def test_what_a_person_takes_out_has_settled_nothing(tmp_path: Path, how: str) -> None:
    """What has faded did; but the debt may be told anew."""
    admin = person(9, admin=True)
    async with reading(tmp_path) as bot:
        debt, paid = await settled_debt(bot)
        path = tmp_path / "memory/scopes/家人" / paid.path
        name = paid.memory.memory_id
        if how == "forgotten":
            await bot.forget(name, FAMILY, HONG)
        elif how == "moved":
            await bot.move(name, "公司", FAMILY, admin)
        elif how == "by hand":
            without_block(path, name)
            await bot.engine.reconcile()
        elif how == "faded":
            bot.engine.parts.vault.archive(paid, by=Actor("", FADED[0]), at=bot.clock())
            bot.engine.parts.catalogue.remove(paid)
            assert settler(bot)
            await bot.hears("小红又借了，小红欠我三百块", learned(OWED))
        assert settler(bot) == ("" if how != "while off" else name)
    if how == "while off":
        without_block(path, name)
        async with reading(tmp_path) as bot:
            await bot.engine.reconcile()
            assert settler(bot) == ""
    page = (tmp_path / "memory/scopes/家人" / debt.path).read_text("utf-8")
    assert OWED in page
    assert "了结" not in page


def without_block(path: Path, memory_id: str) -> None:
    blocks = path.read_text("utf-8").split("## ")
    path.write_text("## ".join(one for one in blocks if f"^{memory_id}" not in one), "utf-8")


@pytest.mark.parametrize("claim", ["取代 m-abcd1234", "取\u200b代 m-abcd1234 "])
async def test_a_reader_does_not_say_whose_place_a_memory_took(bot: Bot, claim: str) -> None:
    await bot.hears("我住在上海", learned("小明住在上海", reasoning=f"他自己说的\n{claim}"))
    assert bot.only().memory.reasoning == "他自己说的"


async def test_a_conversation_that_is_read_late_does_not_bring_back_what_was_so_before(
    bot: Bot,
) -> None:
    elsewhere = private(1002)
    await say(bot, "我住在北京")
    await say(bot, "我搬到上海了", where=elsewhere)
    bot.chat.say([answer(learned("小明住在上海"))])
    await reflect(bot, elsewhere)
    newer = bot.only().memory
    found = {"old_id": newer.memory_id, "new": learned("小明住在北京")}
    bot.chat.say([json.dumps({"contradictions": [found]})])
    assert (await reflect(bot)).dropped == 1
    assert texts_of(bot) == {"家人": ["小明住在上海", "小明住在北京"]}
    older = next(s for s in bot.living() if "北京" in s.memory.judgment)
    assert older.memory.created_at < newer.created_at


async def test_a_reader_is_shown_what_the_same_person_said_of_it_before_in_this_scope_alone(
    bot: Bot,
) -> None:
    for text, where, who in (
        ("小明的相机是海棠微单", FAMILY, 1),
        ("小明的相机是旧的那台", group(888), 1),
        ("小刚的相机是松鼠单反", FAMILY, 2),
        ("小明喜欢喝茶", FAMILY, 1),
    ):
        await bot.remember(text, where, person(who))
    await say(bot, "我的相机换成海棠胶片机了")
    await reflect(bot)
    known = bot.chat.calls[0].prompt.partition("<turns>")[0]
    assert "海棠微单" in known
    for other in ("旧的那台", "松鼠单反", "喝茶"):
        assert other not in known
