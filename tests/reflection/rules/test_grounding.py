"""What of an answer stands: what people have said, as they said it."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.grounding import grounded
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.prompt import reflection_prompt
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reply import (
    Doubtful,
    NewMemory,
    ReflectionReply,
    Unreadable,
)
from astrbot_plugin_scoped_memory.tests.support.memories import turn

pytestmark = pytest.mark.unit

DATA: Final = Path(__file__).parents[2] / "data"


def what_stands(turns: list[QueuedTurn], judgment: str, **more: Any) -> NewMemory | None:
    """The item as it stands, None where it does not."""
    reply = ReflectionReply(new_memories=(NewMemory(judgment, turn=1, **more),))
    left = grounded(reply, turns, reflection_prompt(turns, [], most_tokens=10_000))
    if isinstance(left, Doubtful):
        left = left.value
    return None if isinstance(left, Unreadable) else next(iter(left.new_memories), None)


@pytest.mark.parametrize(
    ("said", "reply", "judgment"),
    [
        ("攻略站是 nanoka.cc", "好的", "攻略站是 nanoka.ngontran.com"),
        ("我生日是3月8日", "好的", "小明的生日是3月18日"),
        ("我用 Python 3.12.4", "好的", "小明用 Python 3.11.4"),
        ("下周三去体检", "好的", "小明12月2日去体检"),
        ("过阵子带猫去绝育", "好的", "小明XX月XX日带猫去绝育"),
        ("i dont eat pork", "ok", "小明 eats pork"),
        ("wish i had a garden", "ok", "小明 has a garden"),
        ("跑了3公里", "好的", "小明跑了3米"),
        ("mail me at ming@example.org", "ok", "小明's mail is ming@example.com"),
        ("the conf is /etc/nginx/nginx.conf", "ok", "the conf is /etc/nginx/site.conf"),
        ("Bob moved to Berlin", "ok", "Rob moved to Berlin"),
        ("我和老王去上海", "好的", "小明和老李去上海"),
        ("谁知道小王是不是离职了？", "不知道", "小王离职了"),
        ("你说我是不是该养只狗？", "可以呀", "小明养了一只狗"),
        ("你最喜欢哪个季节", "秋天，颜色好看", "小明最喜欢秋天"),
        ("谁去接孩子", "小王顺路", "小王去接孩子"),
        ("whats your favourite season", "Autumn", "小明's favourite season is autumn"),
        ("can u drive me to Rome", "I can't", "小明 can drive to Rome"),
        ("要是我中了彩票，就买辆车", "哈哈", "小明买了一辆车"),
        ("我中彩票了。开玩笑的", "哈哈", "小明中彩票了"),
        ("我不喜欢猫", "好的", "小明喜欢猫"),
        ("我打算搬到上海", "好的", "小明搬到了上海"),
        ("听说小王离职了", "是吗", "小王离职了"),
        ("周末干嘛好", "周末可以去爬香山呀", "小明周末要去爬香山"),
        ("我上班去了", "祝你在银行上班顺利", "小明在银行上班"),
        ("今天好累啊", "累累辛苦了", "小明希望被称为累累"),
        ("我老婆对芒果过敏", "好的", "小明对芒果过敏"),
        ("我以前抽烟", "好的", "小明抽烟"),
        ("差点把手机丢了", "好的", "小明把手机丢了"),
        ("Carl's a vegan, isn't he?", "no idea", "Carl is a vegan"),
        ("房租三千二，不对，三千五", "好的", "小明的房租是3200"),
        ("My flight is at 6, no wait, at 8", "ok", "小明's flight is at 6"),
    ],
)
def test_what_nobody_said_like_that_does_not_stand(said: str, reply: str, judgment: str) -> None:
    assert what_stands([turn(said, reply_text=reply)], judgment) is None


@pytest.mark.parametrize(
    ("said", "judgment"),
    [
        ("房租三千二，下月一号交", "小明的房租3200元，1号交"),
        ("下周三晚上七点体检", "小明11月25日19:00体检"),
        ("等了一个半小时", "小明等了90分钟"),
        ("周一三五接孩子", "小明周三接孩子"),
        ("dinner is at half past seven", "小明's dinner is at 7:30 pm"),
        ("I paid two thousand five hundred", "小明 paid 2,500"),
        ("我明天去北京，要带伞吗？", "小明明天去北京"),
        ("如果涨工资我就搬到上海", "小明说如果涨工资就搬到上海"),
        ("我戒烟了", "小明不再抽烟"),
        ("谁也别说我买了机票", "小明买了机票"),
        ("你说什么都好，我周五去", "小明周五去"),
        ("听说小王离职了", "小明听说小王离职了"),
        ("以后叫我阿明", "小明希望被叫做阿明"),
        ("我老婆和我都属虎", "小明和老婆都属虎"),
        ("装修花了12万5，我身高一米七八", "小明装修花了12.5万，身高178厘米"),
        ("半夜两点的飞机", "小明坐凌晨2点的飞机"),
        ("旧沙发120块，周五来拿", "小明的旧沙发120元，周五（11/27）来拿"),
        ("a second hand bike for my kid, hes 7", "a second-hand bike for 小明's 7-year-old kid"),
        ("inspection thurs, moving in dec", "小明's inspection is on Thursday, in December"),
    ],
)
def test_what_was_said_in_other_words_stands(said: str, judgment: str) -> None:
    assert what_stands([turn(said)], judgment) is not None


@pytest.mark.parametrize(
    ("said", "agrees"), [("好啊，就这么定", True), ("算了吧", False), ("嗯…算了", False)]
)
def test_what_a_person_assented_to_is_said(said: str, agrees: bool) -> None:
    turns = [turn("周末干嘛好", reply_text="要不周末去爬香山？"), turn(said)]
    assert (what_stands(turns, "小明周末要去爬香山") is not None) is agrees


def test_a_persons_own_words_are_said_however_short_and_though_the_bot_says_them_too() -> None:
    assert what_stands([turn("怀上了！", who="阿芳")], "阿芳怀上了") is not None
    likes = turn("我喜欢蓝山咖啡，你呢？", reply_text="我也喜欢蓝山咖啡")
    assert what_stands([likes], "小明喜欢蓝山咖啡") is not None


def test_what_was_taken_back_since_is_told_as_it_is_now() -> None:
    turns = [turn("我明天去北京"), turn("北京不去了", ticket_id="t-2")]
    assert what_stands(turns, "小明明天去北京") is None
    assert what_stands(turns, "小明不去北京了") is not None


@pytest.mark.parametrize(
    ("judgment", "put"),
    [
        ("s1喜欢猫", "小明喜欢猫"),
        ("说话人s1喜欢猫（m-2p4y）", "小明喜欢猫"),
        ("第1轮里小明说喜欢猫", "小明说喜欢猫"),
        ("用户喜欢猫", "小明喜欢猫"),
        ("s7喜欢猫", None),
    ],
)
def test_a_label_of_the_prompt_becomes_a_name(judgment: str, put: str | None) -> None:
    found = what_stands([turn("我喜欢猫")], judgment, reasoning=f"{judgment}，见 m-2p4y")
    assert (found and found.judgment) == put
    assert found is None or "m-2p4y" not in found.reasoning


@pytest.mark.parametrize("when", ["0001-01-01", "9999-12-31", "1970-01-01", "2026-12-24"])
def test_a_day_that_nobody_named_is_none(when: str) -> None:
    found = what_stands([turn("下周三要去体检")], "小明下周三要去体检", when=when)
    assert found is not None and found.when == ""


@pytest.mark.parametrize("language", ["zh", "en"])
def test_faithful_items_of_others_stand_and_bent_ones_do_not(language: str) -> None:
    pairs = json.loads((DATA / f"grounding.{language}.json").read_text("utf-8"))
    right = {"faithful": 0, "bent": 0}
    for pair in pairs:
        turns = [
            turn(
                one["user"], f"q:{one['who']}", one["who"], reply_text=one["bot"],
                observed_at=datetime.fromisoformat(one["at"]),
            )
            for one in pair["turns"]
        ]  # fmt: skip
        said, who, when = (pair["item"].get(name, "") for name in ("judgment", "who", "when"))
        found = what_stands(turns, said, who=who, when=when)
        stands = found is not None and (found.judgment, found.when) == (said, when)
        right[pair["verdict"]] += stands is (pair["verdict"] == "faithful")
    assert right["faithful"] >= 0.97 * 30
    assert right["bent"] >= 0.86 * 30
