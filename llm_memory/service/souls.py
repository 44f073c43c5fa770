"""The manner that personas have learned: what a turn is told of it, what admins ask, the night."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from ..catalogue.catalogue import Catalogue
from ..errors import ChatFailed, VaultFileBroken
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Memory, Reason, Refused
from ..models.loop import Resting
from ..models.scope import Place
from ..models.soul import (
    READINGS,
    Finding,
    SoulAction,
    SoulDenied,
    SoulDraft,
    SoulEvaluation,
    SoulEvolution,
    SoulOrigin,
    SoulOutcome,
    SoulProposal,
    SoulProposed,
    SoulRequest,
    SoulState,
    SoulView,
    soul_folder,
)
from ..models.status import Notice
from ..reflection.model_calls import ModelCalls
from ..reflection.rules.prompt import Prompt
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..soul.evaluation import SoulEvaluator
from ..soul.governance import RECENT, Governance
from ..soul.model_port import ProbeAnswer, SoulModel
from ..soul.probe_verdicts import SqliteProbeVerdicts
from ..soul.rules.checks import check
from ..soul.rules.neutrality import heard, neutral
from ..soul.rules.soul_text import language_of
from ..soul.rules.vocabulary import line_of, with_manner
from ..soul.rules.wording import worded
from ..soul.style_counts import SqliteStyleCounts
from ..vault.notes.note_book import NoteBook

type PersonaPrompt = Callable[[str], Awaitable[str]]
"""Returns a persona's own prompt by its folder, empty for none."""


@dataclass(eq=False)
class Souls:
    """The cognitive service's own. ``persona`` is a persona's name, empty for none; every persona
    has a soul of its own, and a change of one is none of another."""

    _governance: Governance
    _model: SoulModel | None
    _verdicts: SqliteProbeVerdicts
    _style: SqliteStyleCounts | None
    _catalogue: Catalogue
    _notes: NoteBook
    _private_names: Callable[[], Iterable[str]]
    """Those of scopes that not all may read. It may block."""
    _archived: Callable[[], Iterable[Memory]]
    """What all archives hold. It may block, and raise VaultFileBroken."""
    _persona_prompt: PersonaPrompt
    _notices: NoticeBoard
    _clock: Clock
    _life: Lifespan
    _evolution: SoulEvolution

    def __post_init__(self) -> None:
        # Elsewhere than under auto an admin sees what changes before it is in force.
        self._judging = self._model if self._evolution is SoulEvolution.AUTO else None
        self._evaluator = SoulEvaluator(
            self._judging,
            self._verdicts,
            lambda role, proposal, old: self._findings(role, old, proposal.text, proposal.origin),
        )

    def injected(self, persona: str | None) -> str:
        """Returns what the system prompt ends with, from memory; the same bytes until another
        version is in force. Empty for no rules, and where the persona is not known."""
        if persona is None or self._evolution is SoulEvolution.OFF:
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
        await self._life.ready()
        role = soul_folder(persona)
        if request.action in READINGS:
            return await self._governance.read(request, role, actor)
        puts_in_force = (SoulAction.PROPOSE, SoulAction.APPLY, SoulAction.ADOPT)
        if self._evolution is SoulEvolution.OFF and request.action in puts_in_force:
            return Refused(Reason.SOUL_OFF)
        if request.action is SoulAction.PROPOSE:
            change = partial(self._propose, role, request.wish, actor)
        else:
            judge = partial(self._judge, role, conversation)
            change = partial(self._governance.change, request, role, actor, judge)
        outcome = await self._life.finish(change)
        self._tell({role: await self._governance.look(role)})
        return outcome

    async def _propose(self, role: str, wish: str, actor: Actor) -> SoulOutcome:
        """Propose a wish as it was typed, or say which rules refuse it."""
        if not actor.admin or actor.is_agent:
            return Refused(Reason.NOT_ALLOWED)
        view = await self._governance.settle(role)
        if isinstance(view, Refused):
            return view
        text = worded(view.text, wish)
        if findings := await self._findings(role, view.text, text, SoulOrigin.WISH):
            # A soul is read in every scope: of a wish that is refused no word is kept.
            return SoulDenied(Reason.DENIED, findings=tuple(findings))
        draft = SoulDraft(view.version.number, SoulOrigin.WISH, text, aim=wish.strip())
        return await self._governance.propose(role, draft, actor)

    async def _judge(
        self, role: str, conversation: str, proposal: SoulProposal, old: str
    ) -> SoulEvaluation | Reason:
        # What private scopes say is not known before the vault is read, so it is no verdict. Nobody
        # waits at night, and a verdict without the probes of the chosen model would stand.
        model = None if conversation else self._judging
        away = model is not None and model.label and not model.is_there("")
        if away or not self._life.is_ready:
            return Reason.UNJUDGED
        return await self._evaluator.evaluate(
            proposal,
            old,
            role=role,
            persona_prompt=await self._persona_prompt(role),
            conversation=conversation,
            probes=await self._governance.own_probes(role),
        )

    async def _findings(self, role: str, old: str, new: str, origin: SoulOrigin) -> list[Finding]:
        wish = origin is not SoulOrigin.STYLE
        recent = await self._governance.recent_rules(role)
        if not self._notes.scanned:
            await self._notes.refresh()
        memories, is_whole = list(self._catalogue.all()), self._life.is_ready
        notes, place = list(self._notes.all()), Place.of_folder(role)
        own = await self._persona_prompt(role)

        def found() -> list[Finding]:
            archived, readable = list[Memory](), is_whole
            try:
                archived += self._archived()
            except VaultFileBroken:
                readable = False
            names = self._private_names()
            private, public = heard(memories, names, [own], notes, place, archived)
            repeated = neutral(old, new, private if readable else None, public)
            return [*check(old, new, wish=wish, recent=recent), *([repeated] if repeated else [])]

        return await asyncio.to_thread(found)

    async def night(self) -> None:
        """Propose what enough people want, evaluate what waits, and under ``auto`` put in force
        what has passed. Admins are told."""
        if self._evolution is SoulEvolution.OFF:
            return
        if (style := self._style) is not None:
            for role in await asyncio.to_thread(style.roles):
                await self._propose_counted(role, style)
        for role, found in (await self._governance.recover()).items():
            judge = partial(self._judge, role, "")
            if isinstance(found, SoulView) and found.open is not None:
                if self._evolution is SoulEvolution.AUTO:
                    await self._governance.apply(role, found.open.number, None, judge)
                else:
                    await self._governance.evaluate(role, found.open.number, judge)
            self._tell({role: await self._governance.look(role)})

    async def _propose_counted(self, role: str, style: SqliteStyleCounts) -> None:
        """The rule that several people want, in the vocabulary's own words: of what anybody said
        no word comes here."""
        wanted = await asyncio.to_thread(style.agreed, role, self._clock().date())
        view = await self._governance.settle(role) if wanted else None
        if not isinstance(view, SoulView) or view.open is not None:
            return
        language = language_of(view.text)
        for axis, direction in wanted:
            text = with_manner(view.text, axis, direction, language)
            if text != view.text:
                aim = line_of(axis, direction, language)
                draft = SoulDraft(view.version.number, SoulOrigin.STYLE, text, aim=aim)
                done = await self._governance.propose(role, draft, None)
                if isinstance(done, SoulProposed):
                    await asyncio.to_thread(style.clear, role, axis)
                return

    def _tell(self, souls: Mapping[str, SoulView | Refused]) -> None:
        for role, found in souls.items():
            if isinstance(found, Refused):
                logger.warning("soul_not_followed", role=role, why=f"{found.reason} {found.detail}")
            else:
                self._post(role, found)

    def _post(self, role: str, found: SoulView) -> None:
        """Post what an admin has to decide, and take back what is decided."""
        waits = found.open if found.state is SoulState.APPROVED else None
        is_new = found.by_night and found.version.at > self._clock() - RECENT
        told = {
            "soul_waits": waits.number if waits else None,
            "soul_applied": found.version.proposal if is_new else None,
            "soul_edited": 0 if found.by_hand else None,
            "soul_broken": found.broken or None,
        }
        for code, number in told.items():
            if number is None:
                self._notices.clear(code, role)
                continue
            params = {"role": role, "number": str(number)}
            self._notices.post(Notice(code, role, params, error=code == "soul_broken"))


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
        return self._model_calls.unavailable_reason(conversation) is Resting.NO

    async def affords(self, prompt: str, *, system: str) -> bool:
        return await self._model_calls.affords(Prompt(system, prompt))

    async def ask(self, prompt: str, *, system: str, conversation: str) -> ProbeAnswer:
        asked, complete = Prompt(system, prompt), self._model_calls.complete
        call = partial(complete, asked, conversation=conversation, night=False)
        completion = await self._life.unless_closing(call)
        if completion is None:
            raise ChatFailed("closing")
        return ProbeAnswer(completion.text, completion.tokens or 0, completion.model)
