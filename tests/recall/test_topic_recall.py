"""Questions for a whole topic read its file, inside scope, limit and budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.replies.explanation import record_json, why_text
from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    MemoryDraft,
    MemoryKind,
    Recall,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import DropReason
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

FAMILY, COMPANY, PUBLIC = group(777), group(888), group(999)
XIAOMING, XIAOHONG, ADMIN = person(1, "小明"), person(2, "小红"), person(9, "老李", admin=True)
# Nothing of what is said here shares a word with the questions.
LIKES, RULE, TASK = "小明讨厌香菜", "回答一律用文言文", "给阳台换灯泡"


async def remember(
    rig: Rig,
    text: str,
    where: ConversationId,
    who: Actor = XIAOMING,
    kind: MemoryKind = MemoryKind.KNOWLEDGE,
    strength: int = 50,
) -> Stored:
    draft = MemoryDraft(text, kind=kind, strength=strength, actor=who)
    outcome = await rig.engine.service.remember(draft, conversation_id=where)
    assert isinstance(outcome, Stored), outcome
    return outcome


async def three_topics(rig: Rig, where: ConversationId) -> None:
    for text, who, kind in (
        (LIKES, XIAOMING, MemoryKind.EMOTIONAL),
        (RULE, ADMIN, MemoryKind.KNOWLEDGE),
        (TASK, XIAOMING, MemoryKind.TASK),
    ):
        await remember(rig, text, where, who, kind)


async def asked(
    rig: Rig, query: str, where: ConversationId, who: Actor, limit: int = 5, budget: int = 999
) -> Recall:
    return await rig.recall(query, where, limit, actor=who, token_budget=budget)


def previews(recall: Recall) -> list[str]:
    return [hit.preview for hit in recall.hits]


QUESTIONS = [
    ("我有什么偏好", LIKES, "preferences"),
    ("what are my preferences", LIKES, "preferences"),
    ("你要遵守哪些规矩", RULE, "instructions"),
    ("what rules did I give you", RULE, "instructions"),
    ("还有哪些待办", TASK, "TASKS"),
    ("any open tasks", TASK, "TASKS"),
]


async def test_a_question_for_a_topic_reads_its_file_and_says_so(rig: Rig) -> None:
    await three_topics(rig, FAMILY)
    for query, answer, topic in QUESTIONS:
        recall = await asked(rig, query, FAMILY, XIAOMING)
        assert previews(recall) == [answer], query
        assert recall.trace.topics == (topic,)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("小明喜欢什么", LIKES),
        ("what does 小明 like", LIKES),
        ("我们定了什么规矩", RULE),
        ("还有什么任务没做", TASK),
        ("what are my open tasks", TASK),
    ],
)
async def test_as_a_person_asks_it_is_found_in_a_talk_too(
    rig: Rig, query: str, answer: str
) -> None:
    await three_topics(rig, FAMILY)
    await remember(rig, "小红讨厌芹菜", FAMILY, XIAOHONG, MemoryKind.EMOTIONAL)
    recall = await rig.recall(query, FAMILY, 5, actor=XIAOMING, in_talk=True)
    assert previews(recall)[0] == answer


async def test_a_text_that_merely_holds_the_word_reads_no_file(rig: Rig) -> None:
    await three_topics(rig, FAMILY)
    for query in ("任务栏怎么打开", "我喜欢这首歌", "the task manager is slow", "必须用公式"):
        recall = await asked(rig, query, FAMILY, XIAOMING)
        assert previews(recall) == [], query
        assert recall.trace.topics == ()


async def test_the_topics_of_another_scope_never_come(rig: Rig) -> None:
    await three_topics(rig, FAMILY)
    await remember(rig, "小红讨厌芹菜", PUBLIC, XIAOHONG, MemoryKind.EMOTIONAL)
    for query, answer, topic in QUESTIONS:
        for where in (COMPANY, PUBLIC):
            recall = await asked(rig, query, where, XIAOMING)
            seen = ["小红讨厌芹菜"] if topic == "preferences" else []
            assert previews(recall) == seen, query
            considered = {one.scope_name for one in recall.trace.considered}
            assert considered <= {"公司" if where is COMPANY else "public", "public"}
        assert answer in previews(await asked(rig, query, FAMILY, XIAOMING))


async def test_what_the_asker_said_comes_first_then_the_stronger_then_the_newer(rig: Rig) -> None:
    for text, who, strength in (
        ("香菜难吃", XIAOHONG, 50),
        ("雨天真烦", XIAOMING, 50),
        ("堵车真烦", XIAOMING, 90),
        ("小说真长", XIAOHONG, 100),
    ):
        await remember(rig, text, FAMILY, who, MemoryKind.EMOTIONAL, strength)
    of_ming = ["堵车真烦", "雨天真烦", "小说真长", "香菜难吃"]
    assert previews(await asked(rig, "我有什么偏好", FAMILY, XIAOMING)) == of_ming
    of_hong = ["小说真长", "香菜难吃", "堵车真烦", "雨天真烦"]
    assert previews(await asked(rig, "我有什么偏好", FAMILY, XIAOHONG)) == of_hong


async def test_limit_and_budget_hold_for_a_topic_too(rig: Rig) -> None:
    for number in range(8):
        await remember(rig, f"给{number}号房间换灯泡", FAMILY, kind=MemoryKind.TASK)
    few = await asked(rig, "还有哪些待办", FAMILY, XIAOMING, limit=3)
    assert len(few.hits) == 3
    assert few.trace.dropped[DropReason.LIMIT] == 5
    cost = max(hit.tokens for hit in few.hits)
    one = await asked(rig, "还有哪些待办", FAMILY, XIAOMING, budget=cost)
    assert (len(one.hits), one.tokens <= cost) == (1, True)


async def test_a_file_that_goes_on_in_another_counts_and_what_was_forgotten_does_not(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "memory" / "scopes" / "家人"
    folder.mkdir(parents=True)
    (folder / "tasks-2.md").write_text("## 浇花 ^m-aaaaaaaaaa\n\n", encoding="utf-8")
    async with running(tmp_path) as rig:
        stored = await remember(rig, TASK, FAMILY, kind=MemoryKind.TASK)
        assert set(previews(await asked(rig, "还有哪些待办", FAMILY, XIAOMING))) == {TASK, "浇花"}
        await rig.forget(stored.memory.memory.memory_id, FAMILY, ADMIN)
        assert previews(await asked(rig, "还有哪些待办", FAMILY, XIAOMING)) == ["浇花"]


async def test_why_names_the_file_that_was_read(rig: Rig) -> None:
    await three_topics(rig, FAMILY)
    await asked(rig, "还有哪些待办", FAMILY, XIAOMING)
    (told,) = rig.engine.service.last_recalls()
    assert record_json(told)["topics"] == ["TASKS"]
    (explained,) = await rig.engine.service.explain(conversation_id=FAMILY)
    for language in ("zh-CN", "en-US"):
        assert "TASKS.md" in why_text(Texts(language), explained, detail=True).splitlines()[2]
