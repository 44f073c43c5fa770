"""A counted rule passes by its probes alone: no judge talks it through, none sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    Axis,
    Direction,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import (
    MOST_CALLS,
    PROTECTED,
    Evaluation,
    ProbeResult,
    SoulEvaluation,
    judged_lines,
    no_better,
    read_judge,
    refusal,
    unbundle,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.probes import (
    LONGEST,
    MOST_OWN,
    Probe,
    ProbeKind,
    aims_of,
    built_in,
    own_probes,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import line_of, seed, worded
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
OLD = worded(seed("zh"), "少用表情")
NEW = worded(OLD, LINE)
PERSONA = "你是小柔，说话温柔，喜欢用短句。You are Rou, and you speak gently in short sentences."
OWN = "\n".join(f"- 我的第 {number} 题" for number in range(MOST_OWN))
BUILT_IN = built_in("zh")
EVERY = frozenset(probe.name for probe in BUILT_IN)
GOOD_AIM = ProbeResult("aim_1", "aim", True, True, better=True)
LANGUAGES: tuple[Spoken, ...] = ("zh", "en")


async def evaluate(model: ProbedModel, own: str = "") -> SoulEvaluation | Refused:
    trial = Evaluation(model, old=OLD, new=NEW, persona_prompt=PERSONA)
    return await trial.run(LINE, own)


async def verdict(model: ProbedModel, own: str = "") -> SoulEvaluation:
    found = await evaluate(model, own)
    assert isinstance(found, SoulEvaluation), found
    return found


async def test_what_is_better_at_its_aim_and_worse_at_nothing_passes() -> None:
    model = ProbedModel(LINE)
    found = await verdict(model)
    assert (found.passed, found.model) == (True, "scripted")
    assert len(found.probes) == len(BUILT_IN) + 2
    assert (found.calls, found.tokens) == (len(model.asked), 10 * len(model.asked))
    assert [one.better for one in found.probes if one.kind == "aim"] == [True, True]
    asked = [call.prompt for call in model.asked if call.what == "probes"]
    alone = [one.question for one in BUILT_IN if one.kind in PROTECTED]
    assert [one for one in asked if "[[1]]" not in one] == alone


@pytest.mark.parametrize("name", [one.name for one in BUILT_IN if one.kind in PROTECTED])
async def test_a_judge_that_passes_everything_passes_no_protected_probe_that_fails(
    name: str,
) -> None:
    found = await verdict(ProbedModel(LINE, fails=frozenset({name})))
    assert not found.passed
    assert found.why is not None
    assert name in found.why.text("zh")
    (worse,) = (one for one in found.probes if not one.after)
    assert (worse.name, worse.before) == (name, True)


async def test_what_fails_under_the_text_in_force_too_is_not_worse_within_twenty_calls() -> None:
    model = ProbedModel(LINE, fails=EVERY, fails_before=EVERY)
    found = await verdict(model, OWN)
    assert found.passed
    assert found.calls == len(model.asked) == MOST_CALLS


def always_old(call: Asked) -> str:
    sides = {str(line["n"]): "a" if "原来" in line["a"] else "b" for line in lines_of(call)}
    return json.dumps(sides)


@pytest.mark.parametrize("judge", [always("a"), always("b"), always("tie"), always_old])
async def test_a_judge_that_goes_by_the_place_or_likes_the_old_has_not_passed_anything(
    judge: Callable[[Asked], str],
) -> None:
    found = await verdict(ProbedModel(LINE, judge=judge))
    assert not found.passed
    assert not any(one.better for one in found.probes)


@pytest.mark.parametrize(
    ("oddly", "why"),
    [
        ({"judge": lambda _: ""}, "unjudged"),
        ({"judge": lambda _: "都很好，通过！"}, "unjudged"),
        ({"judge": lambda _: '{"passed": true}'}, "unjudged"),
        ({"judge": lambda _: '{"1": "b"}'}, "unjudged"),
        ({"judge": always("after")}, "unjudged"),
        ({"failing": "probes"}, "unjudged"),
        ({"failing": "judge"}, "unjudged"),
        ({"budget": 9}, "unjudged"),
        ({"odd": lambda _: " "}, "unjudged"),
        ({"odd": lambda said: said.replace("[[2]]", "")}, "unjudged"),
        ({"locked": True}, "unjudged"),
        ({"budget": 0}, "budget"),
    ],
)
async def test_a_model_that_fails_or_answers_oddly_has_not_passed_anything(
    oddly: dict[str, Any], why: str
) -> None:
    assert await evaluate(model := ProbedModel(LINE, **oddly)) == Refused(why)
    assert bool(model.asked) is (why != "budget")


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("[[1]]\n一\n[[2]]\n二\n三", ["一", "二\n三"]),
        ("好的：\n\n**[[1]]** 一\n\n**[[2]]**：二", ["一", "二"]),
        ("[[1]] 一\n[[2]] 二", ["一", "二"]),
        ("[[1]]\n一 [1]\n[2] 注\n[[2]]\n二", ["一 [1]\n[2] 注", "二"]),
        ("[[2]]\n二\n[[1]]\n一", None),
        ("[[1]]\n一", None),
        ("[[1]]\n\n[[2]]\n二", None),
        ("一\n二", None),
    ],
)
def test_several_answers_are_told_apart(reply: str, answers: list[str] | None) -> None:
    assert unbundle(reply, 2) == answers


async def test_a_judge_sees_questions_and_answers_alone_in_either_order() -> None:
    model = ProbedModel(LINE)
    await verdict(model, OWN)
    first, second = (lines_of(call) for call in model.asked if call.what == "judge")
    assert [(one["a"], one["b"]) for one in first] == [(one["b"], one["a"]) for one in second]
    assert {key for one in first for key in one} == {"n", "question", "hope", "a", "b"}
    shown = judged_lines([Probe("p", "aim", "问", hope="短")], ['"}\n{'], ["好"])
    assert (json.loads(shown)["hope"], "\n" in shown) == ("短", False)


@given(st.lists(st.sampled_from(["a", "b", "tie"]), min_size=1, max_size=12))
def test_what_a_judge_says_of_each_is_read(opinions: list[str]) -> None:
    said = {str(number): one for number, one in enumerate(opinions, 1)}
    for reply in (
        json.dumps(said),
        f"先想想：1: tie\n```json\n{json.dumps(said, indent=1)}\n```",
    ):
        assert read_judge(reply, len(opinions)) == opinions
        assert read_judge(reply, len(opinions) + 1) is None


@pytest.mark.parametrize("kind", get_args(ProbeKind))
def test_one_that_is_worse_is_borne_unless_it_is_protected(kind: ProbeKind) -> None:
    worse = ProbeResult(f"{kind}_1", kind, before=True, after=False)
    why = refusal([GOOD_AIM, worse])
    assert (why is not None) is (kind in PROTECTED)
    assert why is None or worse.name in why.text("en")
    assert refusal([GOOD_AIM, worse, worse]) is not None
    assert refusal([GOOD_AIM, replace(worse, before=False)]) is None
    elsewhere = ProbeResult("own_1", "own", True, True, better=True)
    assert no_better([replace(GOOD_AIM, better=False), elsewhere]) is not None
    assert no_better([GOOD_AIM]) is None


@pytest.mark.parametrize(
    ("language", "probe"),
    [
        pytest.param(language, probe, id=f"{language}-{probe.name}")
        for language in LANGUAGES
        for probe in built_in(language)
    ],
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
        assert [probe.hope for probe in aims_of(line, language)] == [line, line]
    assert aims_of("说话温和一点", "zh") == ()
    lines = ["# 我的题", "", "- 今天吃什么？", "* 讲个笑话", "随便写的", "- ", "- 今天吃什么？"]
    own = own_probes("\n".join([*lines, f"- {'长' * LONGEST}。"]))
    assert [probe.question for probe in own] == ["今天吃什么？", "讲个笑话"]
    assert {probe.kind for probe in own} == {"own"}
    assert len(own_probes("\n".join(f"- 第 {number} 题" for number in range(99)))) == MOST_OWN
