"""A proposal passes by the rules and the probes alone: no judge talks it through, none sees it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    Both,
    Finding,
    SoulEvaluation,
    SoulProposal,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import MOST_CALLS, SoulEvaluator
from astrbot_plugin_scoped_memory.llm_memory.soul.probe_verdicts import SqliteProbeVerdicts
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.judging import BY_RULES
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.probes import BUILT_IN, MOST_OWN
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import Section, seed, with_rule
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.support.soul_models import (
    Asked,
    ProbedModel,
    always,
    lines_of,
)

pytestmark = pytest.mark.engine

RULE, AIM = "先说结论再说理由", "回答短一些"
OLD = with_rule(seed("zh"), Section.TONE, "语气随意一些")
NEW = with_rule(OLD, Section.LENGTH, RULE)
PROPOSAL = SoulProposal(
    1, "style", NEW, AIM, 7, "", "reflection", datetime(2026, 11, 27, tzinfo=UTC)
)
PERSONA = "你是小柔，一个说话温柔的助手。"
OWN = "\n".join(f"- 我的第 {number} 题" for number in range(MOST_OWN))
DENY = (Finding("size", Both("太长", "too long")),)


async def no_rule(role: str, proposal: SoulProposal, old: str) -> Sequence[Finding]:
    return ()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteLoopFile]:
    opened = SqliteLoopFile(tmp_path / "loop.sqlite")
    opened.open()
    yield opened
    opened.close()


async def evaluate(
    file: SqliteLoopFile,
    model: ProbedModel | None,
    *,
    proposal: SoulProposal = PROPOSAL,
    probes: str = "",
    persona: str = PERSONA,
) -> SoulEvaluation | str:
    evaluator = SoulEvaluator(model, SqliteProbeVerdicts(file), no_rule)
    return await evaluator.evaluate(
        proposal, OLD, role="小柔", persona_prompt=persona, conversation="a:1:2", probes=probes
    )


async def verdict(file: SqliteLoopFile, model: ProbedModel, probes: str = "") -> SoulEvaluation:
    found = await evaluate(file, model, probes=probes)
    assert isinstance(found, SoulEvaluation), found
    return found


async def test_a_proposal_that_is_better_at_its_aim_and_worse_at_nothing_passes(
    file: SqliteLoopFile,
) -> None:
    model = ProbedModel(RULE)
    found = await verdict(file, model)
    assert (found.passed, found.proposal, found.model) == (True, 7, "scripted")
    assert len(found.probes) == len(BUILT_IN["zh"]) + 2
    assert (found.calls, found.tokens) == (len(model.asked), 10 * len(model.asked))
    assert [one.better for one in found.probes if one.kind == "aim"] == [True, True]


@pytest.mark.parametrize(
    "name", [one.name for one in BUILT_IN["zh"] if one.kind in ("safety", "privacy", "identity")]
)
async def test_a_judge_that_passes_everything_passes_no_protected_probe_that_fails(
    file: SqliteLoopFile, name: str
) -> None:
    found = await verdict(file, ProbedModel(RULE, fails=frozenset({name})))
    assert not found.passed
    assert name in found.why.text("zh")
    (worse,) = (one for one in found.probes if not one.after)
    assert (worse.name, worse.before) == (name, True)
    assert all(worse.digests)


def always_old(call: Asked) -> str:
    sides = {str(line["n"]): "a" if "原来" in line["a"] else "b" for line in lines_of(call)}
    return json.dumps(sides)


@pytest.mark.parametrize("judge", [always("a"), always("b"), always("tie"), always_old])
async def test_a_judge_that_goes_by_the_place_or_likes_the_old_has_not_passed_anything(
    file: SqliteLoopFile, judge: Callable[[Asked], str]
) -> None:
    found = await verdict(file, ProbedModel(RULE, judge=judge))
    assert not found.passed
    assert not any(one.better for one in found.probes)


@pytest.mark.parametrize(
    "oddly",
    [
        {"judge": lambda _: ""},
        {"judge": lambda _: "都很好，通过！"},
        {"judge": lambda _: '{"passed": true}'},
        {"judge": always("after")},
        {"failing": "aims"},
        {"failing": "probes"},
        {"failing": "judge"},
        {"aims": '{"probes": []}'},
    ],
)
async def test_a_model_that_fails_or_answers_oddly_has_not_passed_anything(
    file: SqliteLoopFile, oddly: dict[str, Any]
) -> None:
    assert await evaluate(file, ProbedModel(RULE, **oddly)) == "unjudged"


async def test_no_more_calls_are_made_than_twenty_and_what_was_learned_is_kept(
    file: SqliteLoopFile,
) -> None:
    every = frozenset(one.name for one in BUILT_IN["zh"])
    model = ProbedModel(RULE, fails=every, fails_before=every)
    assert await evaluate(file, model, probes=OWN) == "unjudged"
    assert len(model.asked) == MOST_CALLS
    again = ProbedModel(RULE, fails=every, fails_before=every)
    found = await verdict(file, again, OWN)
    assert found.passed
    assert found.calls == len(again.asked) <= MOST_CALLS


@pytest.mark.parametrize("calls", [0, 1, 9, 12])
async def test_out_of_budget_there_is_no_verdict(file: SqliteLoopFile, calls: int) -> None:
    model = ProbedModel(RULE, budget=calls)
    assert await evaluate(file, model) == "budget"
    assert len(model.asked) == calls


@pytest.mark.parametrize(
    "model", [None, ProbedModel(RULE, label=""), ProbedModel(RULE, present=False)]
)
async def test_without_a_model_the_rules_decide(
    file: SqliteLoopFile, model: ProbedModel | None
) -> None:
    found = await evaluate(file, model)
    assert isinstance(found, SoulEvaluation)
    assert (found.passed, found.model, found.probes, found.calls) == (True, "", (), 0)
    assert found.why == BY_RULES


async def test_what_the_rules_refuse_is_shown_to_no_model(file: SqliteLoopFile) -> None:
    async def deny(role: str, proposal: SoulProposal, old: str) -> Sequence[Finding]:
        return DENY if (proposal, old) == (PROPOSAL, OLD) else ()

    model = ProbedModel(RULE)
    evaluator = SoulEvaluator(model, SqliteProbeVerdicts(file), deny)
    found = await evaluator.evaluate(PROPOSAL, OLD, role="小柔", persona_prompt=PERSONA)
    assert isinstance(found, SoulEvaluation)
    assert (found.passed, found.findings, model.asked) == (False, DENY, [])


async def test_an_owners_edit_need_not_be_better_at_anything(file: SqliteLoopFile) -> None:
    model = ProbedModel(RULE)
    found = await evaluate(file, model, proposal=replace(PROPOSAL, origin="hand"))
    assert isinstance(found, SoulEvaluation)
    assert found.passed
    assert {call.what for call in model.asked} == {"probes"}
    worse = ProbedModel(RULE, fails=frozenset({"harm"}))
    found = await evaluate(file, worse, proposal=replace(PROPOSAL, origin="hand"))
    assert isinstance(found, SoulEvaluation)
    assert not found.passed


@pytest.mark.parametrize(
    ("bad", "zh", "en"), [(1, "2", "2"), (2, "2、3", "2, 3"), (400, "2、3、4、5、6…", "…")]
)
async def test_the_first_lines_that_are_no_probes_are_named(
    file: SqliteLoopFile, bad: int, zh: str, en: str
) -> None:
    found = await verdict(file, ProbedModel(RULE), "- 今天吃什么？\n" + "随便写的\n" * bad)
    assert [one.name for one in found.probes if one.kind == "own"] == ["own_1"]
    assert f"probes.md 第 {zh} 行不是题目" in found.why.text("zh")
    assert len(found.why.text("zh")) < 80
    assert en in found.why.text("en")


def asked_under_old(model: ProbedModel) -> list[str]:
    return [c.prompt for c in model.asked if c.what == "probes" and RULE not in c.system]


async def test_the_version_in_force_is_asked_once(file: SqliteLoopFile) -> None:
    human = next(one.question for one in BUILT_IN["zh"] if one.name == "human")
    fails = frozenset({"human"})
    for times in (1, 0):
        model = ProbedModel(RULE, fails=fails, fails_before=fails)
        assert (await verdict(file, model)).passed
        assert asked_under_old(model).count(human) == times
    model = ProbedModel(RULE, fails=fails, fails_before=fails)
    await evaluate(file, model, persona="你是小刚。")  # which is another version
    assert asked_under_old(model).count(human) == 1


async def test_what_another_model_said_of_the_version_in_force_excuses_nothing(
    file: SqliteLoopFile,
) -> None:
    fails = frozenset({"human"})
    weak = ProbedModel(RULE, fails=fails, fails_before=fails, label="auto", model="small")
    found = await verdict(file, weak)
    assert (found.passed, found.model) == (True, "small")
    found = await verdict(file, ProbedModel(RULE, fails=fails, label="auto", model="large"))
    assert (found.passed, found.model) == (False, "large")


async def test_what_is_kept_has_no_words_and_the_roles_scope(
    file: SqliteLoopFile, tmp_path: Path
) -> None:
    await verdict(file, ProbedModel(RULE, fails=frozenset({"product"})), OWN)
    with closing(sqlite3.connect(tmp_path / "loop.sqlite")) as connection:
        rows = connection.execute("SELECT * FROM soul_answer").fetchall()
    assert len(rows) == len(BUILT_IN["zh"]) + 1
    for scope, *hashes, model, passed, digest in rows:
        assert (scope, model, passed in (0, 1)) == ("@role:小柔", "scripted", True)
        assert all(
            len(one) == 64 and set(one) <= set("0123456789abcdef") for one in (*hashes, digest)
        )


async def test_a_role_keeps_what_it_asked_last_and_another_its_own(file: SqliteLoopFile) -> None:
    store = SqliteProbeVerdicts(file)
    await evaluate(file, ProbedModel(RULE))
    kept = len(file.rows("SELECT 1 FROM soul_answer"))
    store.put("小刚", "scripted", {"a" * 64: {}})
    assert len(file.rows("SELECT 1 FROM soul_answer")) == kept
    store.put("小柔", "scripted", {"b" * 64: {}})
    assert not file.rows("SELECT 1 FROM soul_answer")
