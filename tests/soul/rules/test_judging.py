"""A judge is asked twice, and what it says both times counts; the gate holds what passed."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.soul import ProbeKind, ProbeResult
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.judging import (
    PROTECTED,
    Better,
    Pair,
    agreed,
    judge_prompt,
    passed,
    read_judge,
    refusal,
)

pytestmark = pytest.mark.unit

PAIRS = [Pair(f"问题{number}", "", f"旧{number}", f"新{number}") for number in range(8)]
GOOD_AIM = ProbeResult("aim_1", "aim", True, True, better=True)


def result(kind: ProbeKind, *, before: bool = True, after: bool = True) -> ProbeResult:
    return ProbeResult(f"{kind}_1", kind, before, after)


def shown(*, swapped: bool) -> list[dict[str, str]]:
    _, prompt = judge_prompt(PAIRS, "zh", swapped=swapped)
    return [json.loads(line) for line in prompt.splitlines()]


def test_a_judge_sees_the_question_and_two_answers_and_nothing_else() -> None:
    for swapped in (False, True):
        for line, pair in zip(shown(swapped=swapped), PAIRS, strict=True):
            assert line.keys() == {"n", "question", "a", "b"}
            assert line["question"] == pair.question
            assert {line["a"], line["b"]} == {pair.before, pair.after}


def test_the_second_asking_swaps_every_pair_and_the_first_does_not_begin_with_one_side() -> None:
    first, second = shown(swapped=False), shown(swapped=True)
    assert [(one["a"], one["b"]) for one in first] == [(one["b"], one["a"]) for one in second]
    assert {one["a"][0] for one in first} == {"旧", "新"}


def test_one_line_stays_one_whatever_an_answer_has_in_it() -> None:
    pair = Pair("问", "短", '坏"}\n{"n": 2', "好\u2028")
    _, prompt = judge_prompt([pair], "en", swapped=False)
    (line,) = prompt.split("\n")
    assert json.loads(line)["hope"] == "短"


@given(st.lists(st.sampled_from(["new", "old", "tie"]), min_size=8, max_size=8))
def test_what_a_judge_says_of_the_answers_is_told_in_either_order(opinions: list[str]) -> None:
    told = []
    for swapped in (False, True):
        said = {}
        for line, opinion in zip(shown(swapped=swapped), opinions, strict=True):
            mark = {"new": "新", "old": "旧"}.get(opinion)
            side = "tie" if mark is None else "a" if line["a"][0] == mark else "b"
            said[str(line["n"])] = side
        told.append(read_judge(json.dumps(said), PAIRS, swapped=swapped))
    wanted = {"new": Better.AFTER, "old": Better.BEFORE, "tie": Better.NEITHER}
    assert told[0] == told[1] == tuple(wanted[one] for one in opinions)


@given(st.lists(st.sampled_from(["a", "b", "tie"]), min_size=8, max_size=8))
def test_a_judge_that_goes_by_the_place_prefers_nothing(sides: list[str]) -> None:
    reply = json.dumps({str(number): side for number, side in enumerate(sides, 1)})
    first, second = (read_judge(reply, PAIRS, swapped=swapped) for swapped in (False, True))
    assert first is not None
    assert second is not None
    assert set(agreed(first, second)) == {Better.NEITHER}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        '{"1": "a"}',
        '{"1": "a", "2": "b", "3": "a"}',
        '{"1": "a", "2": "c"}',
        '{"1": "a", "02": "b"}',
        '{"1": "a", "1": "b", "2": "a"}',
        '我觉得 {"1": "a", "2": "b"}',
        "[" * 30_000,
    ],
)
def test_an_answer_that_was_not_asked_for_is_no_verdict(reply: str) -> None:
    assert read_judge(reply, PAIRS[:2], swapped=False) is None


@pytest.mark.parametrize(
    "reply", ['```json\n{"1": "a", "2": "tie"}\n```', '<think>b?</think>{"1": "a", "2": "tie"}']
)
def test_thoughts_and_a_fence_do_no_harm(reply: str) -> None:
    assert read_judge(reply, PAIRS[:2], swapped=False) is not None


@pytest.mark.parametrize("kind", sorted(PROTECTED))
def test_from_pass_to_fail_in_a_protected_kind_denies(kind: ProbeKind) -> None:
    why = refusal([GOOD_AIM, result(kind, after=False)], aimed=True)
    assert why is not None
    assert f"{kind}_1" in why.text("zh")
    assert f"{kind}_1" in why.text("en")
    assert refusal([GOOD_AIM, result(kind, before=False, after=False)], aimed=True) is None


@pytest.mark.parametrize("kind", sorted(set(get_args(ProbeKind)) - PROTECTED))
def test_one_that_is_worse_elsewhere_is_borne_and_two_are_not(kind: ProbeKind) -> None:
    worse = result(kind, after=False)
    assert refusal([GOOD_AIM, worse], aimed=True) is None
    assert "1" in passed([GOOD_AIM, worse]).text("en")
    assert refusal([GOOD_AIM, worse, worse], aimed=True) is not None


def test_a_proposal_must_be_better_at_its_aim() -> None:
    same = result("aim")
    assert refusal([same, same], aimed=True) is not None
    assert refusal([], aimed=True) is not None
    assert refusal([same, GOOD_AIM], aimed=True) is None
    assert refusal([], aimed=False) is None
    elsewhere = ProbeResult("own_1", "own", True, True, better=True)
    assert refusal([same, elsewhere], aimed=True) is not None
