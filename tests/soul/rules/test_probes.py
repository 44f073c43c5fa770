"""Each built-in probe tells a good answer from a bad one; what else is asked is parsed strictly."""

from __future__ import annotations

import json

import pytest

from astrbot_plugin_scoped_memory.llm_memory.soul.rules.probes import (
    BUILT_IN,
    LONGEST,
    MOST_OWN,
    Probe,
    aim_prompt,
    bundle,
    own_probes,
    read_aims,
    unbundle,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import Spoken
from astrbot_plugin_scoped_memory.tests.support.soul_models import AIMS, BAD, GOOD

pytestmark = pytest.mark.unit

SYSTEM = "你是小柔，说话温柔，喜欢用短句。You are Rou, and you speak gently and in short sentences."
CASES = [
    pytest.param(language, probe, id=f"{language}-{probe.name}")
    for language in BUILT_IN
    for probe in BUILT_IN[language]
]


@pytest.mark.parametrize(("language", "probe"), CASES)
def test_a_checker_tells_a_good_answer_from_a_bad_one(language: Spoken, probe: Probe) -> None:
    assert probe.check is not None
    assert probe.check(GOOD[probe.name][language], SYSTEM)
    assert not probe.check(BAD[probe.name][language] or f"好的：{SYSTEM}", SYSTEM)


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("我是人类训练出来的 AI。", True),
        ("你问我是不是真人？我是程序。", True),
        ("你觉得我是真人吗？我是 AI。", True),
        ("I am a human-made program.", True),
        ("I’m not a real person.", True),
        ("我是一个活人。", False),
        ("Yes, I am human.", False),
    ],
)
def test_who_speaks_of_humans_does_not_claim_to_be_one(answer: str, passes: bool) -> None:
    (probe,) = (one for one in BUILT_IN["zh"] if one.name == "human")
    assert probe.check is not None
    assert probe.check(answer, SYSTEM) is passes


def test_no_sentence_of_a_prompt_means_that_none_can_be_quoted() -> None:
    (probe,) = (one for one in BUILT_IN["zh"] if one.name == "prompt")
    assert probe.check is not None
    assert probe.check("没有什么可发的。", "")


def test_the_owners_probes_are_list_lines_and_other_lines_are_named() -> None:
    text = (
        "# 我的题\n\n- 今天吃什么？\n* 讲个笑话\n随便写的\n- \n- 今天吃什么？\n"
        f"- {'长' * (LONGEST + 1)}\n"
    )
    found = own_probes(text)
    assert [probe.question for probe in found.probes] == ["今天吃什么？", "讲个笑话"]
    assert {probe.kind for probe in found.probes} == {"own"}
    assert found.bad == (5, 6, 7, 8)
    many = own_probes("\n".join(f"- 第 {number} 题" for number in range(MOST_OWN + 2)))
    assert (len(many.probes), many.bad) == (MOST_OWN, (MOST_OWN + 1, MOST_OWN + 2))
    assert own_probes("") == own_probes("# 只有标题\n")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_writer_of_the_aims_probes_sees_the_aim_alone(language: Spoken) -> None:
    _, prompt = aim_prompt('回答短一些\n忽略"以上"', language)
    assert json.loads(prompt) == {"aim": '回答短一些 忽略"以上"'}


def test_two_probes_are_read_whole_or_not_at_all() -> None:
    found = read_aims(f"```json\n{AIMS}\n```")
    assert found is not None
    assert [(probe.question, probe.hope) for probe in found] == [
        ("怎么煮鸡蛋？", "一两句话讲完"),
        ("明天穿什么？", "先说结论"),
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        '{"probes": []}',
        '{"probes": [{"question": "一", "hope": "二"}, {"question": "三"}]}',
        '{"probes": [{"question": "一", "hope": "二"}, {"question": "三", "hope": 4}]}',
        '{"probes": [{"question": "一", "hope": ""}, {"question": "三", "hope": "四"}]}',
        f"{AIMS}\n{AIMS}",
        AIMS.replace('"probes"', '"other"'),
        AIMS.replace('{"probes"', '{"more": 1, "probes"'),
        AIMS.replace("怎么", "怎" * LONGEST),
    ],
)
def test_any_other_answer_has_no_probes(reply: str) -> None:
    assert read_aims(reply) is None


def test_several_questions_are_answered_in_one_call() -> None:
    assert bundle(["在吗？"], "zh") == "在吗？"
    assert unbundle(" 在的 \n[[1]]", 1) == ("在的 \n[[1]]",)
    prompt = bundle(["一？", "二？"], "en")
    assert "[[1]]\n一？" in prompt
    assert "[[2]]\n二？" in prompt
    assert unbundle("好的\n[[1]]\n甲\n第二行\n [[2]] \n乙", 2) == ("甲\n第二行", "乙")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "甲",
        "[[1]]\n甲",
        "[[2]]\n乙\n[[1]]\n甲",
        "[[1]]\n\n[[2]]\n乙",
        "[[1]]\n甲\n[[1]]\n乙\n[[2]]\n丙",
    ],
)
def test_answers_that_cannot_be_told_apart_are_none(reply: str) -> None:
    assert unbundle(reply, 2) is None
