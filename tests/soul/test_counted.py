"""Out of a private scope go axis and direction alone, once enough people agree; and a rule that was
counted passes by its probes alone: no judge talks it through, none sees it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.models import soul
from astrbot_plugin_scoped_memory.llm_memory.soul import evaluation
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import PROTECTED, Probe, ProbeResult
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import line_of
from astrbot_plugin_scoped_memory.llm_memory.soul.style_counts import WEEKS, SqliteStyleCounts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import ForgetfulLoopFile
from astrbot_plugin_scoped_memory.llm_memory.texts import Spoken
from astrbot_plugin_scoped_memory.tests.support.soul_models import (
    BAD,
    GOOD,
    ProbedModel,
    always,
    lines_of,
    prefers,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

LINE = line_of("length", "less", "zh")
PERSONA = "你是小柔，说话温柔，喜欢用短句。You are Rou, and you speak gently in short sentences."
OWN = "\n".join(f"- 我的第 {number} 题" for number in range(99))
BUILT_IN = evaluation.built_in("zh")
EVERY = frozenset(probe.name for probe in BUILT_IN)
LANGUAGES: tuple[Spoken, ...] = ("zh", "en")
NOW = datetime(2026, 11, 27, 19, 5, 11, tzinfo=UTC)  # a Friday


# Counted


def counting() -> tuple[ForgetfulLoopFile, SqliteStyleCounts]:
    file = ForgetfulLoopFile(Path("nowhere"))
    file.open()
    return file, SqliteStyleCounts(file, lambda person: f"hash of {person}")


def test_a_row_holds_a_scope_a_week_two_known_words_and_a_hash_for_eight_weeks() -> None:
    file, counts = counting()
    for persona in ("小柔", "小刚", "小刚"):
        counts.count("家人", persona, NOW, [soul.MannerWish("length", "less", "qq:1")])
    rows = file.rows("SELECT scope, role, week, axis, direction, person FROM style")
    row = ("2026-11-23", "length", "less", "hash of qq:1")
    assert sorted(rows) == [("家人", role, *row) for role in ("小刚", "小柔")]
    counts.clear("小柔", "length")
    for weeks, roles in ((WEEKS - 1, ["小刚"]), (WEEKS, [])):
        counts.count("家人", "小柔", NOW + timedelta(weeks=weeks), [])
        assert counts.roles() == roles
    file.close()


WISHES = st.tuples(
    st.sampled_from(["家人", "公司"]),
    st.sampled_from(["qq:1", "qq:2", "qq:3", ""]),
    st.sampled_from(get_args(soul.Direction)),
    st.integers(0, WEEKS),
)
THREE: list[Any] = [("家人", f"qq:{number}", "less", 0) for number in (1, 2, 3)]


@example(THREE)
@example([("家人", "qq:1", "less", 0), ("公司", "qq:1", "less", 0)])
@example([("家人", "", "less", 0), ("家人", "", "less", 0), ("公司", "", "less", 0)])
@example([*THREE, ("公司", "", "more", 1)])
@example([*THREE, ("公司", "", "more", 2)])
@given(st.lists(WISHES, max_size=12))
def test_whatever_was_counted_the_threshold_holds(
    wishes: list[tuple[str, str, soul.Direction, int]],
) -> None:
    """The last of a wish: how many weeks ago."""
    file, counts = counting()
    for scope, person, way, weeks in sorted(wishes, key=lambda one: -one[-1]):
        at = NOW - timedelta(weeks=weeks)
        counts.count(scope, "", at, [soul.MannerWish("length", way, person)])
    counts.count("家人", "小柔", NOW, [soul.MannerWish("length", "less", one[1]) for one in THREE])
    found = counts.agreed("%none", NOW.date())
    for way in get_args(soul.Direction):
        mine = [one for one in wishes if one[2] == way and one[3] < WEEKS]
        people = {one[1] for one in mine if one[1]}
        several = {one[1] or one[0] for one in mine}
        enough = len(people) >= 3 or (len({one[0] for one in mine}) >= 2 and len(several) >= 2)
        against = any(one[2] == soul.OPPOSITE[way] and one[3] <= 1 for one in wishes)
        assert (("length", way) in found) == (enough and not against)
    file.close()


# Tried


async def verdict(model: ProbedModel, own: str = "") -> evaluation.SoulEvaluation:
    trial = evaluation.Evaluation(model.ask, PERSONA, f"{PERSONA}{LINE}", "zh")
    return await trial.run(LINE, own)


async def test_what_is_better_at_its_aim_and_worse_at_nothing_passes() -> None:
    found = await verdict(model := ProbedModel(LINE, better='改进"}\n{'), OWN)
    assert found.why is None
    changes = ["same"] * len(BUILT_IN) + ["better"] * (2 + evaluation.MOST_OWN)
    assert [one.change for one in found.probes] == changes
    asked = [call.prompt for call in model.asked if call.what == "probes"]
    alone = [one.question for one in BUILT_IN if one.kind in PROTECTED]
    assert [one for one in asked if "[[1]]" not in one] == alone
    first, second = (lines_of(call) for call in model.asked if call.what == "judge")
    assert [(one["a"], one["b"]) for one in first] == [(one["b"], one["a"]) for one in second]
    assert {key for one in first for key in one} == {"n", "question", "hope", "a", "b"}


async def test_what_fails_under_the_text_in_force_too_is_not_worse_within_twenty_calls() -> None:
    model = ProbedModel(LINE, fails=EVERY, fails_before=EVERY)
    assert (await verdict(model, OWN)).why is None
    assert len(model.asked) == 20


@pytest.mark.parametrize(
    "oddly",
    [
        *({"fails": frozenset({one.name})} for one in BUILT_IN if one.kind in PROTECTED),
        *({"judge": one} for one in (*map(always, ("a", "b", "tie")), prefers("原来"))),
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
        *({"judge": lambda _, said=said: said} for said in ("都很好，通过！", '{"1": "b"}')),
        {"judge": always("after")},
        {"budget": 9},
        {"odd": lambda _: " "},
        {"odd": lambda said: said.replace("[[2]]", "")},
    ],
)
async def test_a_model_that_fails_or_answers_oddly_gives_no_verdict(oddly: dict[str, Any]) -> None:
    with pytest.raises(ChatFailed):
        await verdict(ProbedModel(LINE, **oddly))


@pytest.mark.parametrize(
    ("read", "reply", "answers"),
    [
        (evaluation.unbundle, "[[1]]\n一 [1]\n[2] 注\n[[2]]\n二", ["一 [1]\n[2] 注", "二"]),
        (evaluation.unbundle, "好的：\n\n**[[1]]** 一\n\n**[[2]]**：二\n三", ["一", "二\n三"]),
        (evaluation.unbundle, "[[2]]\n二\n[[1]]\n一", None),
        (evaluation.unbundle, "[[1]]\n\n[[2]]\n二", None),
        (
            evaluation.preferred,
            '想想：1: tie\n```json\n{"1": "a",\n"2": "TIE"}',
            ["a", "tie"],
        ),
        (evaluation.preferred, '{"1": "a", "2": "b", "3": "b"}', None),
    ],
)
def test_an_answer_to_each_question_is_read(
    read: Callable[[str, int], list[str]], reply: str, answers: list[str] | None
) -> None:
    if answers is not None:
        assert read(reply, 2) == answers
        return
    with pytest.raises(ChatFailed):
        read(reply, 2)


def test_one_that_is_worse_is_borne_unless_it_is_protected() -> None:
    for kind in {one.kind for one in BUILT_IN}:
        one = ProbeResult(f"{kind}_1", kind, "worse")
        assert (evaluation.worse([one]) is not None) is (kind in PROTECTED)
        assert evaluation.worse([one, one]) is not None


@pytest.mark.parametrize(
    ("language", "probe"),
    [(language, probe) for language in LANGUAGES for probe in evaluation.built_in(language)],
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
    for axis, way, language in product(get_args(soul.Axis), get_args(soul.Direction), LANGUAGES):
        line = line_of(axis, way, language)
        assert [one.hope for one in evaluation.judged(line, "", language)] == [line, line]
    lines = ["# 我的题", "", "- 今天吃什么？", "* 讲个笑话", "随便写的", "- ", "- 今天吃什么？"]
    long = f"- {'长' * evaluation.LONGEST}。"
    own = evaluation.judged(LINE, "\n".join([*lines, long]), "zh")[2:]
    assert [(one.kind, one.question) for one in own] == [
        ("own", "今天吃什么？"),
        ("own", "讲个笑话"),
    ]
