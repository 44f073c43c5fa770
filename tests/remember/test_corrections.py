"""What a person has corrected or accepted stays so: nothing said before brings back the one, and
nothing said later replaces, merges or fades the other; a proposal is recalled as not decided."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    Provenance,
    Source,
    Stored,
    is_changed,
    is_stored,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import is_over
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    accepted,
    is_accepted,
    is_proposed,
    proposed,
    rejected,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import (
    MADE_OF_ENTRIES,
)
from astrbot_plugin_scoped_memory.llm_memory.consolidation.leaving import may_leave, weaker_of
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import MergeThresholds
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.deeds import CORRECTIONS, DeedKind
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.remember.deeds import Deeds, lost
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.text.attribution import standing
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    Ticker,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    Bot,
    StandingClock,
    answer,
    learned,
    reflect,
    say,
    texts_of,
)

pytestmark = pytest.mark.engine

PEANUTS = "奶奶对花生过敏"
PRAWNS = "奶奶对虾过敏"
MING, ADMIN = person(1), person(9, "管理员", admin=True)


async def forget(bot: Bot, memory_id: str, where: ConversationId = FAMILY) -> None:
    """Some seconds later, and some before what comes next."""
    bot.clock.forward(seconds=5)
    assert is_changed(await bot.forget(memory_id, where, ADMIN), DeedKind.FORGOTTEN)
    bot.clock.forward(seconds=5)


async def test_what_the_bot_repeats_after_a_correction_is_not_said_anew(timed_bot: Bot) -> None:
    """Its chat history still holds the words."""
    timed_bot.chat.add(answer(), answer())
    await forget(timed_bot, await timed_bot.stored_id(PEANUTS, FAMILY, MING))
    await say(timed_bot, "刚才说到哪了", reply=f"你说周六去爬山。还说{PEANUTS}。")
    await reflect(timed_bot)
    assert "周六去爬山" in timed_bot.chat.calls[0].prompt
    assert "花生" not in timed_bot.chat.calls[0].prompt
    await say(timed_bot, f"还是记一下，{PEANUTS}", reply=f"好，{PEANUTS}。")
    await reflect(timed_bot)
    assert timed_bot.chat.calls[1].prompt.count("花生") == 2


async def test_words_to_which_an_entry_was_edited_back_are_not_removed(timed_bot: Bot) -> None:
    memory_id = await timed_bot.stored_id(PEANUTS, FAMILY, MING)
    for words in (PRAWNS, PEANUTS):
        timed_bot.clock.forward(seconds=5)
        edited = await timed_bot.edit(memory_id, words, FAMILY, ADMIN)
        assert is_changed(edited, DeedKind.EDITED)
    assert [one.words for one in timed_bot.engine.parts.corrected.of_scope("家人")] == [PRAWNS]


async def test_what_a_person_says_of_himself_is_distinguished_from_what_others_say(
    timed_bot: Bot,
) -> None:
    """What says the same is not learned, what only resembles it is: ``rules/test_corrected.py``."""
    timed_bot.chat.add(
        answer(learned("小明爱吃榴莲", who="s1"), {**learned("小红爱吃榴莲", who="s2"), "turn": 2})
    )
    memory_id = await timed_bot.stored_id("我爱吃榴莲", FAMILY, MING)
    await say(timed_bot, "我爱吃榴莲", who=MING, reply="原来你爱吃榴莲")
    await say(timed_bot, "我爱吃榴莲", who=person(2, "小红"))
    await forget(timed_bot, memory_id)
    await reflect(timed_bot)
    assert texts_of(timed_bot) == {"家人": ["小红爱吃榴莲"]}
    assert timed_bot.chat.calls[0].prompt.count("榴莲") == 1


async def test_what_is_adopted_again_stays_out_though_its_id_is_another(timed_bot: Bot) -> None:
    outcome = await timed_bot.remember(PEANUTS, FAMILY, MING)
    scope, memory = outcome.memory.scope, outcome.memory.memory
    again, tomorrow = replace(memory, memory_id="m-1"), timed_bot.clock.now + timedelta(days=1)
    later = replace(again, memory_id="m-2", created_at=tomorrow)
    await forget(timed_bot, memory.memory_id)
    taken = await timed_bot.engine.parts.handlers.take(scope, [again, later])
    assert [one.memory for one in taken] == [later]


async def test_what_its_speaker_took_back_does_not_come_back_from_an_older_turn(
    tmp_path: Path,
) -> None:
    clock = StandingClock()
    oats, soy = "妈妈早上喝燕麦奶", "妈妈早上改喝豆奶了"
    async with running(tmp_path, chat=(chat := ScriptedChat()), clock=clock) as rig:
        await say(rig, oats, where=private(1002), who=person(1002, "妈妈"))
        clock.forward(minutes=1)
        old_id = await rig.stored_id(oats, FAMILY, person(1002, "妈妈"))
        clock.forward(minutes=1)
        await say(rig, "我早上改喝豆奶了，不喝燕麦奶了", who=person(1002, "妈妈"))
        new = learned(soy, who="s1")
        chat.add(answer(contradictions=[{"old_id": old_id, "new": new}]))
        await reflect(rig)
        assert texts_of(rig) == {"家人": [soy]}
        chat.add(answer(learned(oats, who="s1")))
        await reflect(rig, private(1002))
        assert texts_of(rig) == {"家人": [soy]}


async def test_an_entry_that_is_being_typed_is_one_correction(timed_bot: Bot) -> None:
    """An editor that saves at each key: only what stood there before counts as removed."""
    await timed_bot.stored_id(PEANUTS, FAMILY, MING)
    path = timed_bot.root / "memory/scopes/家人/preferences.md"
    for words in ("奶奶对花生", "奶奶对", "奶奶对虾", "奶奶对虾过敏"):
        before = path.read_text("utf-8").splitlines()[0].split(" ^m-")[0]
        path.write_text(path.read_text("utf-8").replace(before, f"## {words}"), "utf-8")
        timed_bot.clock.forward(seconds=2)
        await timed_bot.engine.reconcile()
    assert [one.words for one in timed_bot.engine.parts.corrected.of_scope("家人")] == [PEANUTS]


async def test_an_entry_that_a_person_puts_back_by_hand_is_corrected_no_more(
    timed_bot: Bot,
) -> None:
    await timed_bot.stored_id(PEANUTS, FAMILY, MING)
    path = timed_bot.root / "memory/scopes/家人/preferences.md"
    before = path.read_text("utf-8")
    for text, count in (("", 1), (before, 0)):
        path.write_text(text, "utf-8")
        await timed_bot.engine.reconcile()
        assert len(timed_bot.engine.parts.corrected.of_scope("家人")) == count
    assert texts_of(timed_bot) == {"家人": [PEANUTS]}


async def test_a_journal_of_an_earlier_version_leaves_when_what_it_repeats_is_corrected(
    timed_bot: Bot,
) -> None:
    day = timed_bot.clock.now - timedelta(days=3)
    for where in (FAMILY, group(888)):
        outcome = await timed_bot.remember(PEANUTS, where, MING)
        scope, memory = outcome.memory.scope, outcome.memory.memory
        journal = replace(
            memory,
            memory_id="m-journal1",
            judgment=f"{day:%Y-%m-%d}记下了 2 条：小明：{PEANUTS}；小明：书在架上",
            created_at=day,
            extra=(MADE_OF_ENTRIES,),
        )
        await timed_bot.engine.parts.handlers.take(scope, [journal])
    await forget(timed_bot, memory.memory_id, group(888))
    told = [one for one in timed_bot.living() if "书在架上" in one.memory.judgment]
    assert [one.scope.name for one in told] == ["家人"]


SCOPE = Scope.parse("家人")
EARLIER = datetime(2026, 11, 20, tzinfo=UTC)
WORDS = "我们决定检索面用 PostgreSQL"


def as_accepted(judgment: str, memory_id: str = "m-aaaa", **more: object) -> Memory:
    """An entry of 小明 that became D-0007."""
    origin = Provenance("小明", "aiocqhttp:10001", FAMILY.umo, Source.TOOL)
    said = replace(Memory(memory_id, judgment, EARLIER, provenance=origin), **more)  # type: ignore[arg-type]
    return accepted(said, 7, "2026-11-23")


async def test_a_proposal_is_stored_among_the_decisions_and_shown_as_not_decided(
    tmp_path: Path,
) -> None:
    file = tmp_path / "memory" / "scopes" / "家人" / "decisions.md"
    async with running(tmp_path) as rig:
        outcome = await rig.tell("奶奶对花生过敏", FAMILY, proposed=True)  # words of a preference
        assert isinstance(outcome, Stored)
        assert outcome.memory.path == "decisions.md"
        assert is_proposed(outcome.memory.memory)
        (hit,) = (await rig.recall("奶奶对什么过敏", FAMILY)).hits
        assert standing(hit, lambda code, **_: code)[0] == "inject.undecided"
    text = file.read_text("utf-8")
    assert "> 状态：提议\n" in text
    file.write_text(text.replace("状态：提议", "状态：已否决 · 否决：2026-11-24"), "utf-8")
    async with running(tmp_path) as rig:
        # It is over, as what a later statement settled, until it is proposed again.
        (hit,) = (await rig.recall("奶奶对什么过敏", FAMILY)).hits
        assert standing(hit, lambda code, **_: code)[0] == "inject.closed"
        again = await rig.tell("奶奶对花生过敏", FAMILY, proposed=True)
        assert is_stored(again, "reinforced")
        assert is_proposed(again.memory.memory)


async def test_a_proposal_gives_way_and_what_was_accepted_does_not(rig: Rig) -> None:
    for proposes, is_one in ((False, False), (True, True), (False, True)):
        said = await rig.tell(WORDS, FAMILY, proposed=proposes)
        assert isinstance(said, Stored)
        assert is_proposed(said.memory.memory) is is_one
    await rig.engine.parts.handlers.take(SCOPE, [as_accepted("小李住在上海")])
    said = await rig.tell("更正：小李住在杭州", FAMILY)
    assert is_stored(said, "stored")
    assert said.conflict is not None
    assert said.conflict.memory.memory_id == "m-aaaa"
    again = await rig.tell("小李住在上海", FAMILY, proposed=True)
    assert is_stored(again, "reinforced")
    assert is_accepted(again.memory.memory)
    assert is_stored(await rig.tell("小王住在上海", FAMILY, proposed=True), "stored")
    assert is_stored(await rig.tell("更正：小王住在杭州", FAMILY), "replaced")


@pytest.mark.parametrize("is_record", [True, False])
async def test_what_was_accepted_is_not_settled_by_what_is_said_later(
    tmp_path: Path, is_record: bool
) -> None:
    chat, hong = ScriptedChat(), person(2, "小红")
    clock = StandingClock(EARLIER)
    debt = as_accepted("小红欠小明三百块", created_at=EARLIER + timedelta(minutes=1))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        await rig.remember("蓝伞在门后", FAMILY, hong)
        await rig.engine.parts.handlers.take(
            SCOPE, [debt if is_record else replace(debt, extra=())]
        )
        clock.forward(minutes=5)
        paid = learned("小红已经把三百块还给小明了")
        chat.say([json.dumps({"contradictions": [{"old_id": "m-aaaa", "new": paid}]})])
        await say(rig, "三百块我还给小明了", who=hong)
        await reflect(rig, FAMILY)
        found = {s.memory.memory_id: s.memory for s in rig.living()}
        assert is_over(found["m-aaaa"]) is not is_record


def test_what_was_decided_neither_fades_nor_merges_with_the_same_words() -> None:
    kept = StoredMemory(SCOPE, "decisions.md", as_accepted(WORDS, active=False))
    plain = replace(kept, memory=replace(kept.memory, extra=()))
    again = replace(plain, memory=replace(plain.memory, memory_id="m-bbbb"))
    thresholds = MergeThresholds(reinforce=0.5, replace=0.5)
    assert may_leave(plain)
    assert weaker_of(again, [(plain, 1.0)], thresholds)
    for memory in (kept.memory, rejected(kept.memory, "2026-11-24")):
        assert not may_leave(replace(kept, memory=memory))
    for memory in (proposed(plain.memory), rejected(plain.memory, "2026-11-24")):
        assert weaker_of(again, [(replace(plain, memory=memory), 1.0)], thresholds) is None


NOW = datetime(2026, 11, 21, tzinfo=UTC)
IDS = ("m-aaaa", "m-bbbb")
SCOPES = ("家人", "公司")

kinds = st.sampled_from([*map(str, CORRECTIONS), "drop", "by hand", "back"])
steps = st.lists(
    st.tuples(kinds, st.sampled_from(SCOPES), st.sampled_from(IDS), st.integers(-3, 6)), max_size=12
)


def known(record: Deeds) -> list[object]:
    """All that others learn from the record."""
    pairs = [(scope, memory_id) for scope in (*SCOPES, "public") for memory_id in IDS]
    return [
        *(record.of_scope(scope) for scope in (*SCOPES, "public")),
        *(record.was_taken_out(*pair) for pair in pairs),
        *(record.is_purged(*pair) for pair in pairs),
    ]


@pytest.mark.property
@given(steps)
def test_the_record_of_corrections_is_what_a_restart_reads(
    made: list[tuple[str, str, str, int]],
) -> None:
    async def play(root: Path) -> None:
        state, clock = SqliteStateStore(root / "state.sqlite"), Ticker()
        state.open()
        record = Deeds(state, clock)
        record.load()
        numbers: list[int] = []
        for what, scope, memory_id, number in made:
            memory = Memory(memory_id, f"{memory_id}对花生过敏", NOW)
            if what == "drop":
                await record.drop(numbers[abs(number) :][:1])
            elif what == "by hand":
                await record.forgotten_by_hand([(scope, memory)] * 3)
            elif what == "back":
                await record.changed_by_hand([(scope, None, scope, memory)])
            else:
                at = clock() + timedelta(hours=number)
                target = SCOPES[scope == SCOPES[0]]
                deed = lost(DeedKind(what), scope, memory, target=target, at=at)
                numbers += await record.note([deed])
            fresh = Deeds(state, clock)
            fresh.load()
            assert known(record) == known(fresh)
        state.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))
