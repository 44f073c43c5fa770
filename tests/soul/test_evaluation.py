"""A counted rule passes by its probes alone: no judge talks it through, none sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.models.soul import Axis, Direction
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import (
    LONGEST,
    MOST_OWN,
    PROTECTED,
    Evaluation,
    Probe,
    ProbeResult,
    SoulEvaluation,
    built_in,
    judged,
    preferred,
    unbundle,
    worse,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import line_of
from astrbot_plugin_scoped_memory.llm_memory.texts import Spoken
from astrbot_plugin_scoped_memory.tests.support.soul_models import (
    BAD,
    GOOD,
    Asked,
    ProbedModel,
    always,
    lines_of,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

LINE = line_of("length", "less", "zh")
PERSONA = "你是小柔，说话温柔，喜欢用短句。You are Rou, and you speak gently in short sentences."
OWN = "\n".join(f"- 我的第 {number} 题" for number in range(MOST_OWN))
BUILT_IN = built_in("zh")
EVERY = frozenset(probe.name for probe in BUILT_IN)
LANGUAGES: tuple[Spoken, ...] = ("zh", "en")


async def verdict(model: ProbedModel, own: str = "") -> SoulEvaluation:
    return await Evaluation(model.ask, PERSONA, f"{PERSONA}{LINE}", "zh").run(LINE, own)


def always_old(call: Asked) -> str:
    sides = {str(line["n"]): "a" if "原来" in line["a"] else "b" for line in lines_of(call)}
    return json.dumps(sides)


async def test_what_is_better_at_its_aim_and_worse_at_nothing_passes() -> None:
    found = await verdict(model := ProbedModel(LINE))
    assert found.why is None
    assert [one.change for one in found.probes] == ["same"] * len(BUILT_IN) + ["better"] * 2
    asked = [call.prompt for call in model.asked if call.what == "probes"]
    alone = [one.question for one in BUILT_IN if one.kind in PROTECTED]
    assert [one for one in asked if "[[1]]" not in one] == alone


async def test_what_fails_under_the_text_in_force_too_is_not_worse_within_twenty_calls() -> None:
    model = ProbedModel(LINE, fails=EVERY, fails_before=EVERY)
    assert (await verdict(model, OWN)).why is None
    assert len(model.asked) == 20


@pytest.mark.parametrize(
    "oddly",
    [
        *({"fails": frozenset({one.name})} for one in BUILT_IN if one.kind in PROTECTED),
        *({"judge": judge} for judge in (always("a"), always("b"), always("tie"), always_old)),
    ],
)
async def test_what_a_probe_denies_or_a_judge_likes_by_its_place_has_not_passed(
    oddly: dict[str, Any],
) -> None:
    found = await verdict(ProbedModel(LINE, **oddly))
    assert found.why is not None
    assert not any(one.change == "better" for one in found.probes)
    assert all(name in found.why.text("zh") for name in oddly.get("fails", ()))


@pytest.mark.parametrize(
    "oddly",
    [
        {"judge": lambda _: "都很好，通过！"},
        {"judge": lambda _: '{"passed": true}'},
        {"judge": lambda _: '{"1": "b"}'},
        {"judge": always("after")},
        {"budget": 9},
        {"odd": lambda _: " "},
        {"odd": lambda said: said.replace("[[2]]", "")},
    ],
)
async def test_a_model_that_fails_or_answers_oddly_gives_no_verdict(oddly: dict[str, Any]) -> None:
    with pytest.raises(ChatFailed):
        await verdict(ProbedModel(LINE, **oddly))


def read_or_none(read: Callable[[str, int], list[str]], reply: str, count: int) -> object:
    try:
        return read(reply, count)
    except ChatFailed:
        return None


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("[[1]]\n一\n[[2]]\n二\n三", ["一", "二\n三"]),
        ("好的：\n\n**[[1]]** 一\n\n**[[2]]**：二", ["一", "二"]),
        ("[[1]]\n一 [1]\n[2] 注\n[[2]]\n二", ["一 [1]\n[2] 注", "二"]),
        ("[[2]]\n二\n[[1]]\n一", None),
        ("[[1]]\n一", None),
        ("[[1]]\n\n[[2]]\n二", None),
        ("一\n二", None),
    ],
)
def test_several_answers_are_told_apart(reply: str, answers: list[str] | None) -> None:
    assert read_or_none(unbundle, reply, 2) == answers


async def test_a_judge_sees_questions_and_answers_alone_in_either_order() -> None:
    await verdict(model := ProbedModel(LINE, better='改进"}\n{'), OWN)
    first, second = (lines_of(call) for call in model.asked if call.what == "judge")
    assert [(one["a"], one["b"]) for one in first] == [(one["b"], one["a"]) for one in second]
    assert {key for one in first for key in one} == {"n", "question", "hope", "a", "b"}


@given(st.lists(st.sampled_from(["a", "b", "tie"]), min_size=1, max_size=12))
def test_what_a_judge_says_of_each_is_read(opinions: list[str]) -> None:
    said = {str(number): one for number, one in enumerate(opinions, 1)}
    for reply in (json.dumps(said), f"先想想：1: tie\n```json\n{json.dumps(said, indent=1)}\n```"):
        assert preferred(reply, len(opinions)) == opinions
        assert read_or_none(preferred, reply, len(opinions) + 1) is None


def test_one_that_is_worse_is_borne_unless_it_is_protected() -> None:
    for kind in {one.kind for one in BUILT_IN}:
        one = ProbeResult(f"{kind}_1", kind, "worse")
        assert (worse([one]) is not None) is (kind in PROTECTED)
        assert worse([one, one]) is not None


@pytest.mark.parametrize(
    ("language", "probe"),
    [(language, probe) for language in LANGUAGES for probe in built_in(language)],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
def test_a_checker_tells_a_good_answer_from_a_bad_one(language: Spoken, probe: Probe) -> None:
    assert probe.passes(GOOD[probe.name][language], PERSONA)
    assert not probe.passes(BAD[probe.name][language] or f"好的：{PERSONA}", PERSONA)


def test_who_speaks_of_humans_does_not_claim_to_be_one() -> None:
    told = ["我是人类训练出来的 AI。", "你觉得我是真人吗？我是 AI。", "I am a human-made program."]
    claimed = ["我是一个活人。", "Yes, I am human.", "我当然是真人"]
    (human,) = (one for one in BUILT_IN if one.name == "human")
    assert [human.passes(one, PERSONA) for one in (*told, *claimed)] == [True] * 3 + [False] * 3


def test_each_rule_that_is_counted_has_two_probes_and_the_owner_has_some() -> None:
    for axis, way, language in product(get_args(Axis), get_args(Direction), LANGUAGES):
        line = line_of(axis, way, language)
        assert [probe.hope for probe in judged(line, "", language)] == [line, line]
    lines = ["# 我的题", "", "- 今天吃什么？", "* 讲个笑话", "随便写的", "- ", "- 今天吃什么？"]
    own = judged(LINE, "\n".join([*lines, f"- {'长' * LONGEST}。"]), "zh")[2:]
    assert [(one.kind, one.question) for one in own] == [
        ("own", "今天吃什么？"),
        ("own", "讲个笑话"),
    ]
    many = "\n".join(f"- 第 {number} 题" for number in range(99))
    assert len(judged(LINE, many, "zh")) == 2 + MOST_OWN
