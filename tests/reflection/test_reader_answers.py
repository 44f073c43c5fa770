"""What a reader answers is taken for what was said only as far as it was said, and by whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.services.injection_service import hit_line
from astrbot_plugin_scoped_memory.llm_memory import Actor, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import SYSTEM
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    StandingClock,
    answer,
    learned,
    reflect,
    say,
    texts_of,
)

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

TALK = "我上周刚搬到城西，房租便宜多了"
MOVED = "小明搬到了城西"
PLACEHOLDER = "一句完整的话，写明是谁，不用“我”"
TEXTS = Texts("zh-CN")


def memories(rig: Rig) -> list[StoredMemory]:
    return list(rig.engine.rooms.catalogue.all())


@pytest.mark.parametrize(
    "made_up",
    [
        "小雯去蓝湾上班",
        "小雯在蓝湾上班，刚跳槽",
        PLACEHOLDER,
        "Alice told Bob that she bought a house in Boston last week",
        "Xiao Ming moved to the west of the city",
        "张伟养了两只柯基犬",
    ],
)
async def test_an_answer_made_of_nothing_that_was_said_is_asked_for_again_and_put_aside(
    tmp_path: Path, made_up: str
) -> None:
    wrong = answer(learned(made_up, who="s1"))
    for name, second in (("again", answer(learned(MOVED, who="s1"))), ("aside", wrong)):
        chat = ScriptedChat(wrong, second)
        async with running(tmp_path / name, chat=chat) as rig:
            await say(rig, TALK)
            report = await reflect(rig)
            assert len(chat.calls) == 2
            assert chat.calls[1].prompt.startswith(chat.calls[0].prompt)
            letters = await rig.engine.loop.reflection.letters()
            if name == "again":
                assert texts_of(rig) == {"家人": [MOVED]}
                assert (report.read, report.dead, letters) == (1, 0, [])
                continue
            assert texts_of(rig) == {}
            assert (report.read, report.dead, [one.count for one in letters]) == (0, 1, [1])
            # Its turns are not gone: a better model may read them.
            chat.say([answer(learned(MOVED, who="s1"))])
            assert await rig.engine.loop.reflection.retry() == 1
            await reflect(rig)
            assert texts_of(rig) == {"家人": [MOVED]}


async def test_what_stands_beside_the_prompts_own_words_is_learned(tmp_path: Path) -> None:
    item = learned(MOVED, who="s1", reasoning="依据", tags=["其他词", "…", "住处"])
    item |= {"asks": ["问法", "…", "谁换了地方住"]}
    chat = ScriptedChat(answer(learned("小雯去蓝湾上班"), item))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, TALK)
        await reflect(rig)
        (stored,) = memories(rig)
        memory = stored.memory
        assert (memory.judgment, memory.reasoning, memory.tags) == (MOVED, "", ("住处",))
        assert memory.asks == ("谁换了地方住",)
        assert len(chat.calls) == 1
    assert PLACEHOLDER in SYSTEM


@pytest.mark.parametrize(
    ("said", "judgment"),
    [
        ("小雯下个月去蓝湾上班", "小雯去蓝湾上班"),  # somebody did say so
        ("I moved to Leeds last week, the rent is lower", "小明 moved to Leeds"),
        ("我在用 VS Code 写代码", "小明用 VS Code 写代码"),
        ("我骨折了", "小明骨折"),
    ],
)
async def test_what_was_said_is_learned_at_once(tmp_path: Path, said: str, judgment: str) -> None:
    chat = ScriptedChat(answer(learned(judgment)))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, said)
        assert (await reflect(rig)).read == 1
        assert texts_of(rig) == {"家人": [judgment]}
        assert len(chat.calls) == 1


async def test_what_is_not_so_any_more_is_said_in_few_words(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with running(tmp_path, chat=chat) as rig:
        old = (await rig.remember("小明周日去爬山", FAMILY, person(1))).memory
        new = learned("小明周日不去爬山了", who="s1")
        chat.add(answer(contradictions=[{"old_id": old.memory.memory_id, "new": new}]))
        await say(rig, "不去了", recalled=(old.memory.memory_id,))
        assert (await reflect(rig)).read == 1
        assert "小明周日不去爬山了" in texts_of(rig)["家人"]


@pytest.mark.parametrize(
    ("said", "replied", "judgment", "kind"),
    [
        ("你喜欢蓝山咖啡吗？", "我最喜欢蓝山咖啡了！", "小明喜欢蓝山咖啡", "emotional"),
        ("推荐一款咖啡", "试试蓝山，果香很足", "小明喜欢果香足的蓝山", "emotional"),
        ("猫和狗哪个好养？", "我喜欢猫，猫好养", "小明喜欢猫", "knowledge"),
        ("do you like jazz?", "I love jazz, Coltrane above all", "小明 likes jazz", "emotional"),
    ],
)
async def test_what_the_bot_said_is_not_what_the_person_likes(
    tmp_path: Path, said: str, replied: str, judgment: str, kind: str
) -> None:
    chat = ScriptedChat(answer(learned(judgment, who="s1", kind=kind)))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, said, reply=replied)
        assert (await reflect(rig)).read == 1
        assert texts_of(rig) == {}
        assert len(chat.calls) == 1


@pytest.mark.parametrize(
    ("said", "replied", "judgment"),
    [
        ("我喜欢蓝山咖啡，你呢？", "我也喜欢蓝山咖啡", "小明喜欢蓝山咖啡"),
        ("就喝蓝山吧，别的我不爱喝", "好的，蓝山不错", "小明爱喝蓝山"),
    ],
)
async def test_what_a_person_likes_is_learned_though_the_bot_says_it_too(
    tmp_path: Path, said: str, replied: str, judgment: str
) -> None:
    chat = ScriptedChat(answer(learned(judgment, who="s1", kind="emotional")))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, said, reply=replied)
        await reflect(rig)
        (stored,) = memories(rig)
        assert (stored.memory.judgment, stored.memory.who) == (judgment, "小明")


@pytest.mark.parametrize(
    ("name", "said", "judgment"),
    [
        ("阿芳", "我戒烟了", "阿芳戒烟了"),
        ("阿芳", "怀上了！", "阿芳怀上了"),
        ("Margaret", "I quit smoking", "Margaret quit smoking"),
    ],
)
async def test_a_persons_own_short_words_bear_her_name(
    tmp_path: Path, name: str, said: str, judgment: str
) -> None:
    chat = ScriptedChat(answer(learned(judgment, who="s1")))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, said, who=Actor("aiocqhttp:5", name))
        await reflect(rig)
        (stored,) = memories(rig)
        assert (stored.memory.judgment, stored.memory.who) == (judgment, name)


@pytest.mark.parametrize("said", ["我对猫毛过敏吗？", "帮我看看这家店"])
async def test_the_bots_echo_of_an_injected_memory_raises_no_strength(
    tmp_path: Path, said: str
) -> None:
    fact = "小明对猫毛过敏"
    chat = ScriptedChat(answer(learned(fact, who="s1")), answer(learned(fact, who="s1")))
    async with running(tmp_path, chat=chat) as rig:
        await say(rig, "我对猫毛过敏")
        chat.say([answer(learned(fact, who="s1"))])
        await reflect(rig)
        (first,) = memories(rig)
        chat.say([answer(learned(fact, who="s1"))])
        recalled = (first.memory.memory_id,)
        await say(rig, said, recalled=recalled, reply="记得，你对猫毛过敏，这家店有猫")
        assert (await reflect(rig)).read == 1
        (echoed,) = memories(rig)
        assert echoed == first
        chat.say([answer(learned(fact, who="s1"))])
        await say(rig, "我真的对猫毛过敏", recalled=recalled, reply="记住了")
        await reflect(rig)
        (again,) = memories(rig)
        assert again.memory.strength > first.memory.strength, "the person has said it again"


def shown(hits: Any) -> list[str]:
    return [hit_line(hit, TEXTS) for hit in hits]


async def test_the_day_that_the_reader_found_is_the_day_of_the_memory(tmp_path: Path) -> None:
    clock = StandingClock()
    item = learned("小明做了膝盖手术", kind="event", when="2026-09-03", who="s1")
    chat = ScriptedChat(answer(item))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        await say(rig, "开学那会儿我做了膝盖手术，你别忘了")
        await reflect(rig)
        (stored,) = memories(rig)
        assert "时间" not in stored.memory.reasoning
        for query in ("9月3号发生了什么", "2026年9月发生了什么", "小明的膝盖手术"):
            hits = (await rig.recall(query, FAMILY)).hits
            (line,) = shown(hits)
            assert line.startswith("[2026-09-03 · "), (query, line)
        assert (await rig.recall("9月4号发生了什么", FAMILY)).hits == ()
    page = tmp_path / "memory/scopes/家人" / stored.path
    text = page.read_text("utf-8")
    assert "日期：2026-09-03" in text
    page.write_text(text.replace("日期：2026-09-03", "日期：2026-09-05"), "utf-8")
    async with running(tmp_path, chat=chat, clock=clock) as rig:  # a person has changed the day
        assert (await rig.recall("9月3号发生了什么", FAMILY)).hits == ()
        (line,) = shown((await rig.recall("9月5号发生了什么", FAMILY)).hits)
        assert line.startswith("[2026-09-05 · ")


async def test_the_same_event_on_another_day_is_another_memory(tmp_path: Path) -> None:
    clock = StandingClock()
    chat = ScriptedChat()
    item = {"kind": "event", "who": "s1"}
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        told = (
            ("小明住院了", "2026-11-19", 1),
            ("小明住院了", "2026-11-19", 1),  # of the same day
            ("小明住院了", "2026-06-02", 2),  # of another
            ("小明住院了", None, 2),  # a repetition within three days, here of the first
        )
        for judgment, when, count in told:
            more = {} if when is None else {"when": when}
            chat.say([answer(learned(judgment, **item, **more))])
            await say(rig, "我住院了，就是跟你说的那天")
            await reflect(rig)
            assert len(memories(rig)) == count, when
        ids = [stored.memory.memory_id for stored in memories(rig)]
        joined = learned("小明住院了", **item)
        chat.say([answer(merges=[{"ids": ids, "new": joined}])])
        await say(rig, "两回住院都别忘了")
        await reflect(rig)
        assert len(memories(rig)) == 2
        lines = shown((await rig.recall("小明什么时候住院", FAMILY, limit=9)).hits)
        assert sorted(line[1:11] for line in lines) == ["2026-06-02", "2026-11-19"]


@pytest.mark.parametrize(
    ("said", "told", "left"),
    [
        ("片子出来了，要养八周", "小明膝盖受伤要养八周", ["小明膝盖受伤要养八周"]),
        (
            "膝盖又受伤了，要养三周",
            "小明又膝盖受伤要养三周",
            ["小明膝盖受伤要养三周", "小明又膝盖受伤要养三周"],
        ),
    ],
    ids=["other-numbers", "once-more"],
)
async def test_other_numbers_a_week_later_are_news_of_the_one_event(
    tmp_path: Path, said: str, told: str, left: list[str]
) -> None:
    clock = StandingClock()
    item = learned("小明膝盖受伤要养三周", kind="event", who="s1")
    chat = ScriptedChat(answer(item))
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        await say(rig, "膝盖受伤了，要养三周")
        await reflect(rig)
        (old,) = memories(rig)
        clock.forward(days=7)
        new = learned(told, kind="event", who="s1")
        chat.say([answer(contradictions=[{"old_id": old.memory.memory_id, "new": new}])])
        await say(rig, said)
        await reflect(rig)
        assert sorted(stored.memory.judgment for stored in memories(rig)) == sorted(left)
