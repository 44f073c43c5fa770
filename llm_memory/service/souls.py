"""The manner that personas have learned: what a turn is told of it, what admins ask, the night."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ..errors import VaultFileBroken
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Refused
from ..models.scope import Place
from ..models.soul import (
    READINGS,
    Finding,
    SoulDenied,
    SoulDraft,
    SoulEvaluation,
    SoulEvolution,
    SoulOutcome,
    SoulProposal,
    SoulProposed,
    SoulRequest,
    SoulView,
    soul_folder,
)
from ..models.status import Notice
from ..soul.evaluation import Evaluation
from ..soul.governance import RECENT
from ..soul.private_words import Told, repeated, told_anywhere
from ..soul.rules.checks import complaints
from ..soul.rules.soul_text import language_of
from ..soul.rules.vocabulary import line_of, with_manner
from ..soul.rules.wording import worded
from ..soul.style_counts import SqliteStyleCounts
from ..texts import Said
from .soul_model import ProbedByReader

if TYPE_CHECKING:
    from .parts import Parts


class Souls:
    """The cognitive service's own. ``persona`` is a persona's name, empty for none; every persona
    has a soul of its own, and a change of one is none of another."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._governance = parts.governance
        self.is_off = parts.settings.soul_evolution is SoulEvolution.OFF
        self._is_auto = parts.settings.soul_evolution is SoulEvolution.AUTO
        # Elsewhere than under auto an admin sees what changes before it is in force.
        self._is_judging = self._is_auto and parts.remembers
        self._probes = parts.model

    def injected(self, persona: str | None) -> str:
        """Returns what the system prompt ends with, from memory; the same bytes until another
        version is in force. Empty for no rules, and where the persona is not known."""
        if persona is None or self.is_off:
            return ""
        return self._governance.injected(soul_folder(persona))

    async def load(self) -> None:
        """Have what is in force in memory from now on. Raises VaultWriteFailed."""
        self._tell(await self._governance.recover())

    async def follow(self) -> None:
        """Keep what people have written into a SOUL.md since the last time, put back one that is
        gone, and tell the admins. Raises VaultWriteFailed."""
        self._tell(await self._governance.follow())

    async def ask(
        self, request: SoulRequest, persona: str, actor: Actor, *, conversation: str = ""
    ) -> SoulOutcome:
        """Carry out what is asked, or say why not. ``conversation`` selects the model that
        evaluates, where the owner has chosen none. Raises EngineClosed, EngineOff."""
        await self._parts.life.ready()
        role = soul_folder(persona)
        if request.action in READINGS:
            return await self._governance.read(request, role, actor)
        if self.is_off and request.action in ("propose", "apply", "adopt"):
            return Refused("soul_off")
        if request.action == "propose":
            change = partial(self._propose, role, request.wish, actor)
        else:
            judge = partial(self._judge, role, conversation)
            change = partial(self._governance.change, request, role, actor, judge)
        outcome = await self._parts.life.finish(change)
        self._tell({role: await self._governance.look(role)})
        return outcome

    async def _propose(self, role: str, wish: str, actor: Actor) -> SoulOutcome:
        """Propose a wish as it was typed, or say which rules refuse it."""
        if not actor.admin or actor.is_agent:
            return Refused("not_allowed")
        view = await self._governance.settle(role)
        if isinstance(view, Refused):
            return view
        text = worded(view.text, wish)
        draft = SoulDraft(view.version.number, "wish", text, wish.strip())
        if findings := await self._findings(role, draft, view.text):
            # A soul is read in every scope: of a wish that is refused no word is kept.
            return SoulDenied("denied", findings=tuple(findings))
        return await self._governance.propose(role, draft, actor)

    async def _judge(
        self, role: str, conversation: str, proposal: SoulProposal, old: str
    ) -> SoulEvaluation | str:
        # What private scopes say is not known before the vault is read, so it is no verdict. Nobody
        # waits at night, and a verdict without the probes of the chosen model would stand.
        away = not conversation and self._probes.unavailable_reason("") == "no_provider"
        if (self._is_judging and away) or not self._parts.life.is_ready:
            return "unjudged"
        if findings := tuple(await self._findings(role, proposal, old)):
            why = Said("soul_verdict.rules_refuse")
            return SoulEvaluation(proposal.number, False, findings, why=why)
        if not self._is_judging or self._probes.unavailable_reason(conversation):
            return SoulEvaluation(proposal.number, True, why=Said("soul_verdict.by_rules"))
        prompt = await self._parts.persona_prompt(role)
        own = await self._governance.own_probes(role)
        model = ProbedByReader(self._probes, self._parts.life, conversation)
        trial = Evaluation(model, old=old, new=proposal.text, persona_prompt=prompt)
        verdict = await trial.run(proposal.aim if proposal.origin == "style" else "", own)
        return verdict.reason if isinstance(verdict, Refused) else verdict

    async def _findings(self, role: str, draft: SoulDraft, old: str) -> list[Finding]:
        parts, notes = self._parts, self._parts.note_book
        if not notes.scanned:
            await notes.refresh()
        memories, is_whole = list(parts.catalogue.all()), parts.life.is_ready
        kept, own = list(notes.all()), Place.of_folder(role)
        prompt = Told(await parts.persona_prompt(role), is_open=True)

        def found() -> list[Finding]:
            told: list[Told] | None = None
            with suppress(VaultFileBroken):
                archived = parts.vault.archived_anywhere()
                told = [prompt, *told_anywhere(memories, kept, archived, parts.vault.scopes(), own)]
            return [
                *complaints(old, draft.text),
                *repeated(old, draft.text, told if is_whole else None),
            ]

        return await asyncio.to_thread(found)

    async def night(self) -> None:
        """Propose what enough people want, evaluate what waits, and under ``auto`` put in force
        what was counted and has passed. Admins are told."""
        if self.is_off:
            return
        if self._parts.remembers and (style := self._parts.style) is not None:
            for role in await asyncio.to_thread(style.roles):
                await self._propose_counted(role, style)
        for role, found in (await self._governance.recover()).items():
            judge = partial(self._judge, role, "")
            if isinstance(found, SoulView) and found.open is not None:
                if self._is_auto and found.open.origin == "style":
                    await self._governance.apply(role, found.open.number, None, judge)
                else:
                    await self._governance.evaluate(role, found.open.number, judge)
            self._tell({role: await self._governance.look(role)})

    async def _propose_counted(self, role: str, style: SqliteStyleCounts) -> None:
        """The rule that several people want, in the vocabulary's own words: of what anybody said
        no word comes here."""
        wanted = await asyncio.to_thread(style.agreed, role, self._parts.clock().date())
        view = await self._governance.settle(role) if wanted else None
        if not isinstance(view, SoulView) or view.open is not None:
            return
        language = language_of(view.text)
        for axis, direction in wanted:
            text = with_manner(view.text, axis, direction, language)
            if text != view.text:
                aim = line_of(axis, direction, language)
                draft = SoulDraft(view.version.number, "style", text, aim)
                done = await self._governance.propose(role, draft, None)
                if isinstance(done, SoulProposed):
                    await asyncio.to_thread(style.clear, role, axis)
                return

    def _tell(self, souls: Mapping[str, SoulView | Refused]) -> None:
        """Post what an admin has to decide, and take back what is decided."""
        notices, now = self._parts.notices, self._parts.clock()
        for role, found in souls.items():
            if isinstance(found, Refused):
                logger.warning("soul_not_followed", role=role, why=f"{found.reason} {found.detail}")
                continue
            waits = found.open if found.state == "approved" else None
            is_new = found.by_night and found.version.at > now - RECENT
            told = {
                "soul_waits": waits and waits.number,
                "soul_applied": found.version.proposal if is_new else None,
                "soul_edited": 0 if found.by_hand else None,
                "soul_broken": found.broken or None,
            }
            for code, number in told.items():
                if number is None:
                    notices.clear(code, role)
                    continue
                params = {"role": role, "number": str(number)}
                notices.post(Notice(code, role, params, error=code == "soul_broken"))
