"""What the bot has only heard in a private chat without a scope of its own is its speaker's, and
what somebody asked to keep to oneself is nobody else's. `tests/laws` plays the rest of it: exports,
nights, tasks, undoing and bringing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    DmScope,
    Feedback,
    MemoryDraft,
    MemoryKind,
    Refused,
    Stored,
    StoredMemory,
    TaskChange,
    TaskReport,
    Ticket,
    Turn,
    is_stored,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import is_done
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import absent
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Contradiction
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import reflect

pytestmark = pytest.mark.engine

MING, HONG, ADMIN = person(5001, "小明"), person(5002, "小红"), person(9, "老李", admin=True)
AGENT = replace(MING, name="机器人代小明", spoke=False)
"""A timer or a page that Ming has set."""
CHAT, OTHERS_CHAT, ROOM, FAMILY = private(5001), private(5002), group(999), group(777)
OWN = private(5003)
"""A private chat that has a scope to itself."""
MOVE, SECRET = "小明打算年底搬出去住", "别告诉别人：我打算年底搬出去"
QUESTION = "小明年底有什么打算"
CONFIDENCE = Refused("confidence")
SHARED = Refused("confidence_here")
SETTINGS = replace(QUICK, relevance_floor=0.0)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with running(tmp_path, MAP | {OWN.umo: "小明的"}, settings=SETTINGS) as made:
        yield made


async def observed(rig: Rig, turn: Turn, where: ConversationId = CHAT) -> Ticket:
    ticket = await rig.engine.service.observe(turn, conversation_id=where)
    assert isinstance(ticket, Ticket), ticket
    return ticket


async def hear(
    rig: Rig,
    text: str,
    where: ConversationId = CHAT,
    who: Actor = MING,
    *,
    kind: MemoryKind = MemoryKind.KNOWLEDGE,
    active: bool = False,
) -> StoredMemory:
    ticket = await observed(rig, Turn(who, text, "嗯嗯"), where)
    draft = MemoryDraft(text, kind=kind, active=active, actor=who)
    report = await rig.engine.service.feedback(Feedback(drafts=(draft,)), ticket=ticket)
    (outcome,) = report.outcomes
    assert isinstance(outcome, Stored), outcome
    return outcome.memory


async def change_tasks(
    rig: Rig, change: TaskChange, where: ConversationId, who: Actor
) -> TaskReport:
    report = await rig.engine.service.update_tasks(change, conversation_id=where, actor=who)
    assert isinstance(report, TaskReport), report
    return report


async def is_kept(rig: Rig, said: str, where: ConversationId) -> bool:
    turn = Turn(MING, said, "好的")
    return isinstance(await rig.engine.service.observe(turn, conversation_id=where), Ticket)


async def shown(rig: Rig, where: ConversationId, words: str) -> bool:
    found = (
        await rig.recall(words, where, 20),
        await rig.engine.service.newest(conversation_id=where),
        await change_tasks(rig, TaskChange("list"), where, HONG),
    )
    return words in repr(found)


ANNAS = replace(CHAT, umo="web:FriendMessage:webchat!anna!s1", adapter="webchat", peer="anna")


@pytest.mark.parametrize(
    ("who", "where", "how"),
    [
        (MING, CHAT, "heard"),
        (MING, CHAT, "asked"),
        (Actor("", ""), CHAT, "heard"),
        (Actor("webchat:anna", "Anna"), ANNAS, "heard"),
        (AGENT, CHAT, "stored"),
        (AGENT, ROOM, "stored"),
    ],
)
async def test_what_is_heard_in_a_private_chat_is_shown_there_alone(
    rig: Rig, who: Actor, where: ConversationId, how: str
) -> None:
    """``stored`` by a tool; ``asked`` by a reader to be active."""
    if how == "stored":
        await rig.remember(MOVE, where, who)
    else:
        await hear(rig, MOVE, where, who, active=how == "asked")
    assert await rig.texts(QUESTION, where) == [MOVE]
    bobs = replace(ANNAS, umo=ANNAS.umo.replace("anna", "bob"), peer="bob")
    for other in (OTHERS_CHAT, bobs):
        assert await shown(rig, other, MOVE) is (where is ROOM)


async def test_what_strangers_said_in_private_takes_no_place_in_an_answer(rig: Rig) -> None:
    """Better matches that this reader may not see do not hide the one that everybody may."""
    for number in range(70_000, 70_100):
        text = f"年底有什么打算：第{number}号要搬走"
        await hear(rig, text, private(number), person(number))
    openly = "大家说年底聚一次，别的打算以后再说"
    await hear(rig, openly, ROOM, HONG)
    await rig.until_indexed()
    assert await rig.texts("年底有什么打算", ROOM) == [openly]


CONFIDENCES = [SECRET, "别告訴媽媽，我昨天翹課了", "just between you and me, I'm leaving in March"]
TO_WHOM = {
    CHAT: CONFIDENCE,
    ROOM: CONFIDENCE,
    FAMILY: SHARED,
    private(1002): SHARED,
    group(888): SHARED,
    OWN: None,
}


async def test_a_confidence_is_stored_where_its_speaker_alone_reads_and_never_leaves(
    rig: Rig,
) -> None:
    for where, refused in TO_WHOM.items():
        task = TaskChange("add", ("年底搬家",), heard=SECRET)
        outcomes = [
            *[await rig.tell(said, where, MING) for said in CONFIDENCES],
            *[await rig.tell("小明三月要走", where, ADMIN, heard=said) for said in CONFIDENCES],
            await rig.tell(MOVE, where, MING, reasoning="他让我保密"),
            *[one.rejected for one in (await change_tasks(rig, task, where, MING)).outcomes],
        ]
        for outcome in outcomes:
            assert outcome == refused if refused else not isinstance(outcome, Refused)
        for said in CONFIDENCES:
            assert await is_kept(rig, said, where) is (refused is None)
        assert bool(rig.living()) is (refused is None)
    await rig.remember("小明要走", OWN, MING, tags=("保密",))
    news = TaskChange("add", ("找搬家公司",), progress="别告诉别人，定金付了")
    await change_tasks(rig, news, OWN, MING)
    open_ones = {SECRET, MOVE, "小明要走", "找搬家公司"}
    kept = [one.memory for one in rig.living() if one.memory.judgment in open_ones]
    assert {one.judgment for one in kept} == open_ones
    for memory in kept:
        assert await rig.move(memory.memory_id, "public", OWN, ADMIN) == CONFIDENCE
        assert await rig.move(memory.memory_id, "家人", OWN, ADMIN) == SHARED


async def test_what_is_brought_to_public_publishes_no_confidence(tmp_path: Path) -> None:
    per_peer = replace(SETTINGS, dm_scope=DmScope.PER_PEER)
    async with running(tmp_path, settings=per_peer) as rig:
        await rig.engine.service.meet(CHAT, MING)
        await rig.remember(f"别告诉别人：{MOVE}", CHAT, MING)
        await rig.remember("小明喜欢喝红茶", CHAT, MING)
        await observed(rig, Turn(MING, SECRET, "嗯"))
    learned = f'{{"new_memories": [{{"judgment": "{MOVE}", "turn": 1}}]}}'
    chat = ScriptedChat(otherwise=lambda _: learned)
    async with running(tmp_path, settings=SETTINGS, chat=chat) as rig:
        (brought,) = await rig.engine.service.bring(
            ["public"], conversation_id=CHAT, actor=replace(MING, admin=True)
        )
        assert (brought.memories, brought.left) == (1, 1)
        await reflect(rig, CHAT)
        assert await rig.texts("小明", ROOM, 20) == ["小明喜欢喝红茶"]


@pytest.mark.parametrize("who", [MING, AGENT])
async def test_no_correction_publishes_what_was_only_heard(rig: Rig, who: Actor) -> None:
    first, second, new = "小明喜欢喝咖啡", "小明喜欢喝红茶", "小明不喜欢喝咖啡了，改喝白开水"
    asked = await rig.remember(first, CHAT, who)
    await (rig.remember(second, CHAT, who) if who is AGENT else hear(rig, second))
    ticket = await observed(rig, Turn(MING, "我不喜欢喝咖啡了，改喝白开水，因为查出了胃病", "好的"))
    draft = MemoryDraft(new, "查出了胃病", ("胃病",), active=False, actor=MING)
    said = Contradiction(asked.memory.memory.memory_id, draft, ticket.ids[0])
    report = await rig.engine.service.feedback(Feedback(contradictions=(said,)), ticket=ticket)
    assert is_stored(report.outcomes[0], "replaced")
    for where in (OTHERS_CHAT, ROOM, FAMILY):
        for words in ("红茶", "胃病", "白开水"):
            assert not await shown(rig, where, words)


async def test_tasks_that_were_only_heard_are_done_by_their_person_and_seen_by_nobody_else(
    rig: Rig,
) -> None:
    title = "年底找搬家公司"
    task = (await hear(rig, title, kind=MemoryKind.TASK)).memory.memory_id
    assert not await shown(rig, OTHERS_CHAT, title)
    done = TaskChange("done", (title,))
    for where, who, fate in ((OTHERS_CHAT, HONG, "unknown"), (ROOM, MING, "unknown"),
                             (CHAT, MING, "done")):  # fmt: skip
        assert (await change_tasks(rig, done, where, who)).outcomes[0].fate == fate
    for where, who in ((ROOM, ADMIN), (ROOM, MING), (OTHERS_CHAT, HONG)):
        assert await rig.restore(task, where, who) == absent(task)


async def test_what_a_woken_agent_says_of_everybodys_task_is_not_for_everybody(rig: Rig) -> None:
    await change_tasks(rig, TaskChange("add", ("交报告",)), ROOM, HONG)
    news = TaskChange("done", ("交报告",), progress="小明搬出去了，没交")
    await change_tasks(rig, news, CHAT, AGENT)
    assert not await shown(rig, OTHERS_CHAT, "搬出去")
    assert is_done(rig.only())
