"""What a reader answers is taken for what was said only as far as it was said, and by whom."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import hit_line
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import person
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    TOLD,
    Bot,
    answer,
    learned,
    reflect,
    say,
    texts_of,
)

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

TALK, MOVED = "我上周刚搬到城西，房租便宜多了", "小明搬到了城西"
PLACEHOLDER = "一句完整的话，写明是谁，不用“我”"
FACT = "小明对猫毛过敏"


@pytest.mark.parametrize(
    "made_up",
    [PLACEHOLDER, "小雯在蓝湾上班，刚跳槽", "Xiao Ming moved to the west", "张伟养了两只柯基犬"],
)
async def test_an_answer_made_of_nothing_that_was_said_is_asked_for_again_and_put_aside(
    bot: Bot, made_up: str
) -> None:
    wrong, right = answer(learned(made_up, who="s1")), answer(learned(MOVED, who="s1"))
    bot.chat.say([wrong, wrong])
    await say(bot, TALK)
    report = await reflect(bot)
    assert texts_of(bot) == {}
    assert (report.read, report.dead, len(bot.chat.calls)) == (0, 1, 2)
    # Its turns are not gone: a better answer is learned.
    bot.chat.say([wrong, right])
    assert await bot.engine.reflection.retry() == 1
    await reflect(bot)
    assert texts_of(bot) == {"家人": [MOVED]}


async def test_what_stands_beside_the_prompts_own_words_is_learned(bot: Bot) -> None:
    item = learned(MOVED, who="s1", reasoning="依据", tags=["其他词", "…", "住处"])
    item |= {"asks": ["问法", "…", "谁换了地方住"]}
    await bot.hears(TALK, learned("小雯去蓝湾上班"), item)
    (memory,) = [stored.memory for stored in bot.living()]
    assert (memory.judgment, memory.reasoning, memory.tags) == (MOVED, "", ("住处",))
    assert memory.asks == ("谁换了地方住",)
    assert PLACEHOLDER in TOLD["instructions"]


async def test_what_is_not_so_any_more_is_said_in_few_words(bot: Bot) -> None:
    old = (await bot.remember("小明周日去爬山", FAMILY, person(1))).memory.memory.memory_id
    new = {"old_id": old, "new": learned("小明周日不去爬山了", who="s1")}
    assert (await bot.hears("不去了", recalled=(old,), contradictions=[new])).read == 1
    assert "小明周日不去爬山了" in texts_of(bot)["家人"]


@pytest.mark.parametrize(
    ("name", "said", "replied", "judgment", "is_learned"),
    [
        ("小明", "小雯下个月去蓝湾上班", "", "小雯去蓝湾上班", True),
        ("小明", "I moved to Leeds, the rent is lower", "", "小明 moved to Leeds", True),
        # though the bot says it too
        ("小明", "我喜欢蓝山咖啡，你呢？", "我也喜欢蓝山咖啡", "小明喜欢蓝山咖啡", True),
        # a person's own short words bear her name
        ("阿芳", "怀上了！", "", "阿芳怀上了", True),
        ("小明", "你喜欢蓝山咖啡吗？", "我最喜欢蓝山咖啡了！", "小明喜欢蓝山咖啡", False),
        ("小明", "do you like jazz?", "I love jazz, all of it", "小明 likes jazz", False),
    ],
)
async def test_what_a_person_said_is_learned_and_what_the_bot_likes_is_not(
    bot: Bot, name: str, said: str, replied: str, judgment: str, is_learned: bool
) -> None:
    who = Actor("aiocqhttp:5", name)
    await bot.hears(said, learned(judgment, who="s1"), who=who, reply=replied)
    found = [(stored.memory.judgment, stored.memory.who) for stored in bot.living()]
    assert found == [(judgment, name)] * is_learned


async def test_the_bots_echo_of_an_injected_memory_raises_no_strength(bot: Bot) -> None:
    item = learned(FACT, who="s1")
    await bot.hears("我对猫毛过敏", item)
    (first,) = bot.living()
    again = {"recalled": (first.memory.memory_id,), "reply": "记得，你对猫毛过敏，这家店有猫"}
    await bot.hears("帮我看看这家店", item, **again)
    assert bot.living() == [first]
    await bot.hears("我真的对猫毛过敏", item, **again)
    (repeated,) = bot.living()
    assert repeated.memory.strength > first.memory.strength, "the person has said it again"


async def test_the_day_that_the_reader_found_is_the_day_of_the_memory(timed_bot: Bot) -> None:
    found = learned("小明做了膝盖手术", kind="event", when="2026-09-03", who="s1")
    await timed_bot.hears("开学那会儿我做了膝盖手术，你别忘了", found)
    for query in ("9月3号发生了什么", "2026年9月发生了什么", "小明的膝盖手术"):
        (hit,) = (await timed_bot.recall(query, FAMILY)).hits
        assert hit_line(hit, Texts("zh-CN")).startswith("[2026-09-03 · "), query
    assert (await timed_bot.recall("9月4号发生了什么", FAMILY)).hits == ()


@pytest.mark.parametrize(
    ("said", "told", "stays"),
    [
        ("片子出来了，要养八周", "小明膝盖受伤要养八周", False),
        ("膝盖又受伤了，要养三周", "小明又膝盖受伤要养三周", True),
    ],
)
async def test_other_numbers_a_week_later_are_news_of_the_one_event(
    timed_bot: Bot, said: str, told: str, stays: bool
) -> None:
    before = "小明膝盖受伤要养三周"
    await timed_bot.hears("膝盖受伤了，要养三周", learned(before, kind="event", who="s1"))
    (old,) = timed_bot.living()
    timed_bot.clock.forward(days=7)
    new = {"old_id": old.memory.memory_id, "new": learned(told, kind="event", who="s1")}
    await timed_bot.hears(said, contradictions=[new])
    assert set(texts_of(timed_bot)["家人"]) == {told, *([before] if stays else [])}


async def test_an_item_that_is_not_as_it_was_said_is_asked_for_once_with_the_words(
    bot: Bot,
) -> None:
    good, bent = learned("小明对花生过敏", who="s1"), learned("小明的房租5200元", who="s1")
    bot.chat.say([answer(good, bent), answer(learned("小明的房租3200元", who="s1"))])
    await say(bot, "我对花生过敏。房租3200")
    assert (await reflect(bot)).read == 1
    assert texts_of(bot) == {"家人": ["小明对花生过敏", "小明的房租3200元"]}
    assert "房租3200" in bot.chat.calls[1].prompt.rpartition("</turns>")[2]
    # Insisted on, it goes, and what is right stays.
    bot.chat.say([answer(learned("小明养了猫", who="s1"), bent)] * 2)
    await say(bot, "我养了只猫。房租3200")
    await reflect(bot)
    assert "小明养了猫" in texts_of(bot)["家人"] and "小明的房租5200元" not in str(texts_of(bot))


async def test_the_bots_own_use_of_a_memory_is_no_proof_that_it_serves(bot: Bot) -> None:
    stored = await bot.remember("小明希望被叫做累累", FAMILY, person(1))
    memory_id = stored.memory.memory.memory_id
    counted = bot.engine.parts.uses.of(stored.memory)
    for said in ("今天天气不错", "晚上吃什么"):
        await bot.hears(said, useful_ids=[memory_id], recalled=(memory_id,), reply="累累，都好")
    assert bot.engine.parts.uses.of(stored.memory) == counted
    await bot.hears("你还记得叫我累累呀", useful_ids=[memory_id], recalled=(memory_id,))
    assert bot.engine.parts.uses.of(stored.memory) == counted + 2
