"""The manner that personas have learned: what a turn is told of it, what admins ask, the night."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..errors import ChatFailed, VaultFileBroken
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
from ..reflection.model_calls import ModelCalls
from ..reflection.rules.prompt import Prompt
from ..runtime.lifecycle import Lifespan
from ..soul.evaluation import SoulEvaluator
from ..soul.governance import RECENT
from ..soul.model_port import ProbeAnswer
from ..soul.private_words import Told, repeated, told_anywhere
from ..soul.probe_verdicts import SqliteProbeVerdicts
from ..soul.rules.checks import complaints
from ..soul.rules.soul_text import language_of
from ..soul.rules.vocabulary import line_of, with_manner
from ..soul.rules.wording import worded
from ..soul.style_counts import SqliteStyleCounts

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
        judges = self._is_auto and parts.remembers
        self._model = SoulCalls(parts.model_calls, parts.life) if judges else None
        verdicts = SqliteProbeVerdicts(parts.loop_file)
        self._evaluator = SoulEvaluator(self._model, verdicts, self._findings)

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
        model = None if conversation else self._model
        away = model is not None and model.label and not model.is_there("")
        if away or not self._parts.life.is_ready:
            return "unjudged"
        return await self._evaluator.evaluate(
            proposal,
            old,
            role=role,
            persona_prompt=await self._parts.persona_prompt(role),
            conversation=conversation,
            probes=await self._governance.own_probes(role),
        )

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


@dataclass(eq=False)
class SoulCalls:
    """The port SoulModel, with the service, day's tokens and deadline that reading has. Its calls
    do not count as the night's, and a close waits for none."""

    _model_calls: ModelCalls
    _life: Lifespan

    @property
    def label(self) -> str:
        return self._model_calls.label

    def is_there(self, conversation: str) -> bool:
        return self._model_calls.unavailable_reason(conversation) == ""

    async def affords(self, prompt: str, *, system: str) -> bool:
        return await self._model_calls.affords(Prompt(system, prompt))

    async def ask(self, prompt: str, *, system: str, conversation: str) -> ProbeAnswer:
        asked, complete = Prompt(system, prompt), self._model_calls.complete
        call = partial(complete, asked, conversation=conversation, night=False)
        completion = await self._life.unless_closing(call)
        if completion is None:
            raise ChatFailed("closing")
        return ProbeAnswer(completion.text, completion.tokens or 0, completion.model)
