"""Whether a proposal passes: the rules first, then probes with a chat model and a judge.

A probe is asked under the persona's own prompt and the soul's text, with no history and no memory.
Safety, privacy and identity are asked one by one; what else there is, several at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import batched
from typing import Final

from ..errors import ChatFailed
from ..log import logger
from ..models.soul import Finding, ProbeResult, SoulEvaluation, SoulProposal
from ..text.normalising import content_hash
from ..texts import Said, Spoken
from .model_port import SoulModel, reachable
from .probe_verdicts import ProbeVerdict, SqliteProbeVerdicts
from .rules.judging import (
    BY_RULES,
    PROTECTED,
    RULES_REFUSE,
    Better,
    Pair,
    agreed,
    judge_prompt,
    passed,
    read_judge,
    refusal,
)
from .rules.probes import AIMS, BUILT_IN, Probe, aim_prompt, bundle, own_probes, read_aims, unbundle
from .rules.soul_text import injected, language_of
from .soul_reader import Stopped

MOST_CALLS: Final = 20
AT_ONCE: Final = 7
"""Probes in one call. All of them, the owner's twelve included, take 17 calls, so three are left to
ask the version in force where a built-in probe fails."""

_MOST_NAMED: Final = 5
"""Lines of ``probes.md`` that are no probes."""

type Rules = Callable[[str, SoulProposal, str], Awaitable[Sequence[Finding]]]
"""Returns what refuses a role's proposal over the text in force, empty for nothing."""


class SoulEvaluator:
    """Evaluates proposals. Keeps no state but how probes went, of the last texts tried."""

    def __init__(
        self, model: SoulModel | None, verdicts: SqliteProbeVerdicts, rules: Rules
    ) -> None:
        self._model = model
        self._verdicts = verdicts
        self._rules = rules

    async def evaluate(
        self,
        proposal: SoulProposal,
        old_text: str,
        *,
        role: str,
        persona_prompt: str,
        conversation: str = "",
        probes: str = "",
    ) -> SoulEvaluation | str:
        """Returns the verdict on a proposal over the text in force. A fault is none: the proposal
        stays as it was. Without a model the rules alone decide.

        Args:
            role: The persona's folder.
            persona_prompt: AstrBot's own, empty for none.
            conversation: Whose model is asked, if the owner has chosen none.
            probes: What stands in the owner's ``probes.md``.

        Raises StateUnavailable.
        """
        findings = tuple(await self._rules(role, proposal, old_text))
        if findings:
            return SoulEvaluation(proposal.number, False, findings, why=RULES_REFUSE)
        if (model := reachable(self._model, conversation)) is None:
            return SoulEvaluation(proposal.number, True, why=BY_RULES)
        own = await asyncio.to_thread(own_probes, probes)
        systems = (
            f"{persona_prompt}{injected(old_text)}",
            f"{persona_prompt}{injected(proposal.text)}",
        )
        language = language_of(old_text)
        trial = _Trial(model, self._verdicts, role, systems, language, conversation)
        is_aimed = proposal.origin != "hand"
        try:
            why, results = await trial.run(proposal.aim if is_aimed else None, own.probes)
        except Stopped as error:
            return error.told.reason
        except ChatFailed as error:
            logger.warning("soul_unanswered", error=error)
            return "unjudged"
        return SoulEvaluation(
            proposal.number,
            why is None,
            probes=tuple(results),
            why=_with_bad_lines(why or passed(results), own.bad),
            model=trial.answered_by,
            calls=trial.calls,
            tokens=trial.tokens,
        )


class _Trial:
    """One evaluation: its calls, and what they found."""

    def __init__(
        self,
        model: SoulModel,
        verdicts: SqliteProbeVerdicts,
        role: str,
        systems: tuple[str, str],
        language: Spoken,
        conversation: str,
    ) -> None:
        self._model = model
        self._verdicts = verdicts
        self._role = role
        self._old, self._new = systems
        self._language = language
        self._conversation = conversation
        self._before: dict[str, ProbeVerdict] = {}
        self._after: dict[str, ProbeVerdict] = {}
        self.answered_by = model.label
        self.calls = 0
        self.tokens = 0

    async def run(
        self, aim: str | None, own: Sequence[Probe]
    ) -> tuple[Said | None, list[ProbeResult]]:
        """Returns why it is refused, None if it is not, and how each probe went. Ends with the
        first that denies. None for ``aim``: it need not be better at anything."""
        await self._afford_all((0 if aim is None else AIMS) + len(own))
        try:
            return await self._run(aim, own)
        finally:
            found = {content_hash(self._old): self._before, content_hash(self._new): self._after}
            await asyncio.to_thread(self._verdicts.put, self._role, self.answered_by, found)

    async def _afford_all(self, judged: int) -> None:
        """Begin nothing that the day's tokens do not suffice for: the next night would begin it
        again. The prompts are most of the cost."""
        single = sum(probe.kind in PROTECTED for probe in BUILT_IN[self._language])
        batches = -(-judged // AT_ONCE)
        asked = self._new * (single + 1 + batches) + self._old * batches
        if not await self._model.affords("", system=asked):
            raise Stopped("budget")

    async def _run(
        self, aim: str | None, own: Sequence[Probe]
    ) -> tuple[Said | None, list[ProbeResult]]:
        # The aim's probes are written before anybody has seen the new text.
        aims = () if aim is None else await self._aims(aim)
        results: list[ProbeResult] = []
        checked = [probe for probe in BUILT_IN[self._language] if probe.check]
        for probe in (one for one in checked if one.kind in PROTECTED):
            results += await self._checked([probe])
            if why := refusal(results, aimed=False):
                return why, results
        results += await self._checked([one for one in checked if one.kind not in PROTECTED])
        results += await self._judged([*aims, *own])
        return refusal(results, aimed=aim is not None), results

    async def _aims(self, aim: str) -> tuple[Probe, ...]:
        system, prompt = aim_prompt(aim, self._language)
        found = read_aims(await self._ask(system, prompt))
        if found is None:
            raise self._odd()
        return found

    async def _checked(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        """Asks under the new text, and under the old one where that is not known and matters."""
        for probe, answer in zip(probes, await self._answers(self._new, probes), strict=True):
            self._note(self._after, probe, answer, self._new)
        if not self._before:  # what another model said of the version in force excuses nothing
            prompt = content_hash(self._old)
            get = self._verdicts.get
            self._before |= await asyncio.to_thread(get, self._role, prompt, self.answered_by)
        wanted = [
            one
            for one in probes
            if not self._after[_key(one)].passed and _key(one) not in self._before
        ]
        for probe, answer in zip(wanted, await self._answers(self._old, wanted), strict=True):
            self._note(self._before, probe, answer, self._old)
        return [self._result(probe) for probe in probes]

    def _result(self, probe: Probe) -> ProbeResult:
        after = self._after[_key(probe)]
        before = self._before.get(_key(probe), ProbeVerdict(True, ""))
        digests = (before.digest, after.digest)
        return ProbeResult(probe.name, probe.kind, before.passed, after.passed, digests=digests)

    def _note(self, noted: dict[str, ProbeVerdict], probe: Probe, answer: str, system: str) -> None:
        is_passed = probe.check is not None and probe.check(answer, system)
        noted[_key(probe)] = ProbeVerdict(is_passed, content_hash(answer))

    async def _judged(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        before = await self._answers(self._old, probes)
        after = await self._answers(self._new, probes)
        pairs = [
            Pair(probe.question, probe.hope, *answers)
            for probe, *answers in zip(probes, before, after, strict=True)
        ]
        results = []
        for some in batched(zip(probes, pairs, strict=True), AT_ONCE):
            preferred = await self._preferred([pair for _, pair in some])
            for (probe, pair), better in zip(some, preferred, strict=True):
                results.append(
                    ProbeResult(
                        probe.name,
                        probe.kind,
                        before=True,
                        after=better is not Better.BEFORE,
                        better=better is Better.AFTER,
                        digests=(content_hash(pair.before), content_hash(pair.after)),
                    )
                )
        return results

    async def _preferred(self, pairs: Sequence[Pair]) -> tuple[Better, ...]:
        twice = []
        for swapped in (False, True):
            system, prompt = judge_prompt(pairs, self._language, swapped=swapped)
            said = read_judge(await self._ask(system, prompt), pairs, swapped=swapped)
            if said is None:
                raise self._odd()
            twice.append(said)
        return agreed(*twice)

    async def _answers(self, system: str, probes: Sequence[Probe]) -> list[str]:
        found: list[str] = []
        for some in batched(probes, AT_ONCE):
            prompt = bundle([probe.question for probe in some], self._language)
            answers = unbundle(await self._ask(system, prompt), len(some))
            if answers is None:
                raise self._odd()
            found += answers
        return found

    async def _ask(self, system: str, prompt: str) -> str:
        if self.calls == MOST_CALLS:
            logger.warning("soul_calls", most=MOST_CALLS)
            raise Stopped("unjudged")
        if not await self._model.affords(prompt, system=system):
            raise Stopped("budget")
        self.calls += 1
        answer = await self._model.ask(prompt, system=system, conversation=self._conversation)
        self.tokens += answer.tokens
        self.answered_by = answer.model or self._model.label
        return answer.text

    def _odd(self) -> Stopped:
        logger.warning("soul_odd_answer")
        return Stopped("unjudged")


def _key(probe: Probe) -> str:
    return content_hash(probe.question)


def _with_bad_lines(why: Said, bad: Sequence[int]) -> Said:
    if not bad:
        return why
    named = [str(number) for number in bad[:_MOST_NAMED]]
    if len(bad) > len(named):
        named[-1] += "…"
    return Said("soul_verdict.bad_lines", why=why, lines=tuple(named))
