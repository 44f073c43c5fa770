"""A proposal that is evaluated by a model: what comes into force, and what is kept of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.soul import Finding, SoulProposal, SoulState
from astrbot_plugin_scoped_memory.llm_memory.models.soul_requests import (
    SoulChanged,
    SoulFault,
    SoulRefused,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import SoulEvaluator
from astrbot_plugin_scoped_memory.llm_memory.soul.governance import Judge
from astrbot_plugin_scoped_memory.llm_memory.soul.probe_verdicts import SqliteProbeVerdicts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.support.soul_models import GOOD, ProbedModel
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, RULED, SEED, Souls

pytestmark = pytest.mark.engine

RULE = "说话温和一点。"


async def no_rule(role: str, proposal: SoulProposal, old: str) -> Sequence[Finding]:
    return ()


class Evaluated:
    """Souls, and a file for what is known of probes."""

    def __init__(self, root: Path) -> None:
        self.souls = Souls(root)
        self.file = SqliteLoopFile(root / "state" / "loop.sqlite")
        self.file.open()

    def judge(self, model: ProbedModel) -> Judge:
        evaluator = SoulEvaluator(model, SqliteProbeVerdicts(self.file), no_rule)
        return partial(evaluator.evaluate, role=CAT, persona_prompt="你是猫娘。")

    async def apply(self, number: int, model: ProbedModel) -> SoulChanged | SoulRefused:
        return await self.souls.gov.apply(CAT, number, ADMIN, self.judge(model))


@pytest.fixture
async def evaluated(tmp_path: Path) -> AsyncIterator[Evaluated]:
    made = Evaluated(tmp_path)
    yield made
    made.file.close()
    made.souls.state.close()


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        (ProbedModel(RULE, budget=3), SoulFault.BUDGET),
        (ProbedModel(RULE, failing="judge"), SoulFault.UNJUDGED),
        (ProbedModel(RULE, judge=lambda _: "通过"), SoulFault.UNJUDGED),
    ],
)
async def test_without_a_verdict_it_stays_proposed_and_a_later_one_may_pass_it(
    evaluated: Evaluated, model: ProbedModel, fault: SoulFault
) -> None:
    number = await evaluated.souls.wish(RULED)
    assert await evaluated.apply(number, model) == SoulRefused(fault)
    view = await evaluated.souls.view()
    assert (view.state, view.verdict, view.text) == (SoulState.PROPOSED, None, SEED.decode())
    assert isinstance(await evaluated.apply(number, ProbedModel(RULE)), SoulChanged)
    assert evaluated.souls.gov.in_force(CAT) == RULED


async def test_from_pass_to_fail_in_safety_nothing_comes_into_force(evaluated: Evaluated) -> None:
    number = await evaluated.souls.wish(RULED)
    outcome = await evaluated.apply(number, ProbedModel(RULE, fails=frozenset({"harm"})))
    assert isinstance(outcome, SoulRefused)
    assert outcome.fault is SoulFault.DENIED
    assert outcome.verdict is not None
    assert "harm" in outcome.verdict.why.text("zh")
    assert evaluated.souls.page().read_bytes() == SEED


async def test_what_is_kept_of_an_evaluation_has_no_word_of_an_answer(
    evaluated: Evaluated,
) -> None:
    number = await evaluated.souls.wish(RULED)
    assert isinstance(await evaluated.apply(number, ProbedModel(RULE)), SoulChanged)
    (written,) = (evaluated.souls.folder() / "evals").iterdir()
    text = written.read_text("utf-8")
    assert '"digests"' in text
    for said in ("改进了的回答", "原来的回答", "煮鸡蛋", *(one["zh"] for one in GOOD.values())):
        assert said not in text
