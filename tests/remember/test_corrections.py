"""What a person has corrected stays corrected: nothing said before brings it back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Edited,
    Exported,
    Forgotten,
    Imported,
    Moved,
    Rejected,
    RejectReason,
    Restored,
)
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, private, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
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
ADMIN = person(9, "管理员", admin=True)
PUBLIC_ROOM = group(999)


async def stored(rig: Rig, text: str = PEANUTS, where: object = FAMILY) -> str:
    """The id of a memory, remembered on purpose."""
    outcome = await rig.remember(text, where, person(1))  # type: ignore[arg-type]
    return outcome.memory.memory.memory_id


async def forget(rig: Rig, memory_id: str) -> None:
    outcome = await rig.engine.service.forget(memory_id, conversation_id=FAMILY, actor=ADMIN)
    assert isinstance(outcome, Forgotten)


async def correct(rig: Rig, how: str, clock: StandingClock) -> None:
    """Store a memory, have a turn with it wait, and remove it in one of the ways."""
    memory_id = await stored(rig)
    clock.forward(seconds=5)
    await say(rig, f"对了，{PEANUTS}，别忘了")
    clock.forward(seconds=5)
    match how:
        case "forgotten":
            await forget(rig, memory_id)
        case "edited":
            edited = await rig.engine.service.edit(
                memory_id, PRAWNS, conversation_id=FAMILY, actor=ADMIN
            )
            assert isinstance(edited, Edited)
        case "moved":
            moved = await rig.engine.service.move(
                memory_id, "公司", conversation_id=FAMILY, actor=ADMIN
            )
            assert isinstance(moved, Moved)
        case "deleted in the file":
            path = rig.root / "memory/scopes/家人/preferences.md"
            path.write_text("", "utf-8")
            await rig.engine.reconcile()
        case "edited in the file":
            path = rig.root / "memory/scopes/家人/preferences.md"
            path.write_text(path.read_text("utf-8").replace(PEANUTS, PRAWNS), "utf-8")
            await rig.engine.reconcile()
        case "moved in the files":
            path = rig.root / "memory/scopes/家人/preferences.md"
            target = rig.root / "memory/scopes/公司/preferences.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            await rig.engine.reconcile()
    clock.forward(seconds=5)


WAYS = {
    "forgotten": {},
    "edited": {"家人": [PRAWNS]},
    "moved": {"公司": [PEANUTS]},
    "deleted in the file": {},
    "edited in the file": {"家人": [PRAWNS]},
    "moved in the files": {"公司": [PEANUTS]},
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_turn_of_before_does_not_bring_back_what_was_corrected(
    tmp_path: Path, how: str, restarted: bool
) -> None:
    clock = StandingClock()
    chat = ScriptedChat(otherwise=answer(learned(PEANUTS, who="s1")))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        await correct(rig, how, clock)
        if not restarted:
            await reflect(rig)
            assert texts_of(rig) == WAYS[how]
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        await reflect(rig)
        assert texts_of(rig) == WAYS[how]
        await say(rig, f"还是记一下，{PEANUTS}")
        await reflect(rig)
        assert PEANUTS in texts_of(rig)["家人"]


async def test_the_reader_is_not_shown_what_was_corrected_but_all_else(tmp_path: Path) -> None:
    clock, chat = StandingClock(), ScriptedChat(answer())
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        memory_id = await stored(rig)
        await say(rig, f"{PEANUTS}，周六去爬山", reply=f"好，记住了{PEANUTS}。")
        clock.forward(seconds=5)
        await forget(rig, memory_id)
        await reflect(rig)
    (asked,) = chat.calls
    assert "周六去爬山" in asked.prompt
    assert "花生" not in asked.prompt


async def test_what_the_bot_repeats_after_a_correction_is_not_said_anew(tmp_path: Path) -> None:
    """Its chat history still holds the words."""
    clock, chat = StandingClock(), ScriptedChat(answer(), answer())
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        memory_id = await stored(rig)
        clock.forward(seconds=5)
        await forget(rig, memory_id)
        clock.forward(seconds=5)
        await say(rig, "刚才说到哪了", reply=f"你说周六去爬山。还说{PEANUTS}。")
        await reflect(rig)
        assert "周六去爬山" in chat.calls[0].prompt
        assert "花生" not in chat.calls[0].prompt
        await say(rig, f"还是记一下，{PEANUTS}", reply=f"好，{PEANUTS}。")
        await reflect(rig)
        assert chat.calls[1].prompt.count("花生") == 2


async def test_words_to_which_an_entry_was_edited_back_are_not_removed(tmp_path: Path) -> None:
    clock = StandingClock()
    async with running(tmp_path, clock=clock) as rig:
        memory_id = await stored(rig)
        for words in (PRAWNS, PEANUTS):
            clock.forward(seconds=5)
            edited = await rig.engine.service.edit(
                memory_id, words, conversation_id=FAMILY, actor=ADMIN
            )
            assert isinstance(edited, Edited)
        assert [one.words for one in rig.engine.rooms.corrected.of_scope("家人")] == [PRAWNS]


async def test_a_correction_that_was_undone_holds_nothing_back(tmp_path: Path) -> None:
    clock = StandingClock()
    chat = ScriptedChat(answer(learned(PEANUTS, who="s1")))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        memory_id = await stored(rig)
        await say(rig, f"对了，{PEANUTS}", who=person(2, "小红"))
        clock.forward(seconds=5)
        await forget(rig, memory_id)
        service = rig.engine.service
        undone = await service.restore(memory_id, conversation_id=FAMILY, actor=ADMIN)
        assert isinstance(undone, Restored)
        await reflect(rig)
        assert texts_of(rig) == {"家人": [PEANUTS, PEANUTS]}  # two people have said it


async def test_what_was_moved_out_of_public_is_not_made_public_again(tmp_path: Path) -> None:
    clock = StandingClock()
    chat = ScriptedChat(answer(learned(PEANUTS, who="s1")), otherwise="{}")
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        memory_id = await stored(rig, where=PUBLIC_ROOM)
        await say(rig, PEANUTS + "，大家注意", where=PUBLIC_ROOM)
        clock.forward(seconds=5)
        moved = await rig.engine.service.move(
            memory_id, "家人", conversation_id=PUBLIC_ROOM, actor=ADMIN
        )
        assert isinstance(moved, Moved)
        await reflect(rig, PUBLIC_ROOM)
        assert texts_of(rig) == {"家人": [PEANUTS]}


OTHERS = (
    "爷爷对花生过敏",
    "奶奶对花生不过敏",
    "奶奶以前对花生过敏",
    "奶奶对花粉过敏",
    "奶奶住301室",
    "小红喜欢小明",
)


@pytest.mark.parametrize("other", OTHERS)
async def test_what_only_resembles_it_is_learned(tmp_path: Path, other: str) -> None:
    clock = StandingClock()
    chat = ScriptedChat(answer(learned(other, who="s1")))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        ids = [await stored(rig, text) for text in (PEANUTS, "奶奶住302室", "小明喜欢小红")]
        await say(rig, other)
        clock.forward(seconds=5)
        for memory_id in ids:
            await forget(rig, memory_id)
        await reflect(rig)
        assert texts_of(rig) == {"家人": [other]}
        assert other in chat.calls[0].prompt


SAME = (
    "奶奶对花生过敏。",
    "小明的奶奶对花生过敏",
    "奶奶一吃花生就过敏",
    "奶奶对花生过敏，一颗也吃不得",
    "要记得的是：奶奶对花生很过敏",
)


@pytest.mark.parametrize("same", SAME)
async def test_what_says_the_same_in_other_words_is_not_learned(tmp_path: Path, same: str) -> None:
    clock = StandingClock()
    chat = ScriptedChat(answer(learned(same, who="s1"), learned("周六去爬山", who="s1")))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        memory_id = await stored(rig)
        await say(rig, f"{same}；周六去爬山")
        clock.forward(seconds=5)
        await forget(rig, memory_id)
        await reflect(rig)
        assert texts_of(rig) == {"家人": ["周六去爬山"]}


async def test_what_a_person_says_of_himself_is_distinguished_from_what_others_say(
    tmp_path: Path,
) -> None:
    clock = StandingClock()
    chat = ScriptedChat(
        answer(learned("小明爱吃榴莲", who="s1"), {**learned("小红爱吃榴莲", who="s2"), "turn": 2})
    )
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        outcome = await rig.remember("我爱吃榴莲", FAMILY, person(1, "小明"))
        await say(rig, "我爱吃榴莲", who=person(1, "小明"), reply="原来你爱吃榴莲")
        await say(rig, "我爱吃榴莲", who=person(2, "小红"))
        clock.forward(seconds=5)
        await forget(rig, outcome.memory.memory.memory_id)
        await reflect(rig)
        assert texts_of(rig) == {"家人": ["小红爱吃榴莲"]}
        assert chat.calls[0].prompt.count("榴莲") == 1


async def test_what_is_adopted_again_stays_out_though_its_id_is_another(tmp_path: Path) -> None:
    clock = StandingClock()
    async with running(tmp_path, clock=clock) as rig:
        outcome = await rig.remember(PEANUTS, FAMILY, person(1))
        scope, memory = outcome.memory.scope, outcome.memory.memory
        again = replace(memory, memory_id="m-legacy0001")
        later = replace(again, memory_id="m-legacy0002", created_at=clock.now + timedelta(days=1))
        clock.forward(seconds=5)
        await forget(rig, memory.memory_id)
        taken = await rig.engine.intake.take(scope, [again, later])
        assert [one.memory for one in taken] == [later]


async def test_an_import_brings_back_what_was_corrected_only_where_it_is_asked_to(
    tmp_path: Path,
) -> None:
    clock = StandingClock()
    async with running(tmp_path, clock=clock) as rig:
        service = rig.engine.service
        memory_id = await stored(rig)
        await stored(rig, "周六去爬山")
        exported = await service.export(conversation_id=FAMILY, actor=ADMIN)
        assert isinstance(exported, Exported)
        (tmp_path / "imports").mkdir()
        (tmp_path / "exports" / exported.name).rename(tmp_path / "imports" / "all.jsonl")
        clock.forward(seconds=5)
        await forget(rig, memory_id)
        left = await service.import_("all.jsonl", conversation_id=FAMILY, actor=ADMIN)
        assert isinstance(left, Imported)
        assert (left.known, left.refused) == (1, 1)
        assert left.lines[0].rejected == Rejected(RejectReason.CORRECTED)
        assert texts_of(rig) == {"家人": ["周六去爬山"]}
        asked = await service.import_("all.jsonl", conversation_id=FAMILY, actor=ADMIN, anyway=True)
        assert isinstance(asked, Imported)
        assert asked.stored == 1
        assert PEANUTS in texts_of(rig)["家人"]


async def test_what_its_speaker_took_back_does_not_come_back_from_an_older_turn(
    tmp_path: Path,
) -> None:
    clock = StandingClock()
    oats, soy = "妈妈早上喝燕麦奶", "妈妈早上改喝豆奶了"
    async with running(tmp_path, chat=(chat := ScriptedChat()), clock=clock) as rig:
        await say(rig, oats, where=private(1002), who=person(1002, "妈妈"))
        clock.forward(minutes=1)
        outcome = await rig.remember(oats, FAMILY, person(1002, "妈妈"))
        clock.forward(minutes=1)
        await say(rig, "我早上改喝豆奶了，不喝燕麦奶了", who=person(1002, "妈妈"))
        new = learned(soy, who="s1")
        old_id = outcome.memory.memory.memory_id
        chat.add(answer(contradictions=[{"old_id": old_id, "new": new}]))
        await reflect(rig)
        assert texts_of(rig) == {"家人": [soy]}
        chat.add(answer(learned(oats, who="s1")))
        await reflect(rig, private(1002))
        assert texts_of(rig) == {"家人": [soy]}


async def test_an_entry_that_is_being_typed_is_one_correction(tmp_path: Path) -> None:
    """An editor that saves at each key: only what stood there before counts as removed."""
    clock = StandingClock()
    async with running(tmp_path, clock=clock) as rig:
        await stored(rig)
        path = tmp_path / "memory/scopes/家人/preferences.md"
        for words in ("奶奶对花生", "奶奶对", "奶奶对虾", "奶奶对虾过敏"):
            before = path.read_text("utf-8").splitlines()[0].split(" ^m-")[0]
            path.write_text(path.read_text("utf-8").replace(before, f"## {words}"), "utf-8")
            clock.forward(seconds=2)
            await rig.engine.reconcile()
        corrections = rig.engine.rooms.corrected.of_scope("家人")
        assert [one.words for one in corrections] == [PEANUTS]


async def test_an_entry_that_a_person_puts_back_by_hand_is_corrected_no_more(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        await stored(rig)
        path = tmp_path / "memory/scopes/家人/preferences.md"
        before = path.read_text("utf-8")
        for text, count in (("", 1), (before, 0)):
            path.write_text(text, "utf-8")
            await rig.engine.reconcile()
            assert len(rig.engine.rooms.corrected.of_scope("家人")) == count
        assert texts_of(rig) == {"家人": [PEANUTS]}
