"""Who may do what to a soul, and what is in force, in memory.

Nothing comes into force without an evaluation that has passed it, but for a file that an owner had
before the first version.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Refused
from ..models.soul import (
    OWNER,
    REFLECTION,
    SoulChanged,
    SoulDraft,
    SoulEvaluation,
    SoulEvolution,
    SoulOutcome,
    SoulProposal,
    SoulProposed,
    SoulRequest,
    SoulView,
)
from ..runtime.identifiers import Clock
from ..storage.files import Stamp
from ..storage.soul_heads import SoulHeads
from .life import SoulLife
from .rules.soul_text import injected
from .soul_files import PROBES, SoulFiles
from .soul_reader import Standing, Stopped, or_refused
from .soul_store import SoulStore

type Judge = Callable[[SoulProposal, str], Awaitable[SoulEvaluation | str]]
"""Evaluates a proposal against the text in force. A fault, such as BUDGET, is no verdict: the
proposal stays as it was."""


RECENT: Final = timedelta(days=7)
_FORBIDDEN: Final = Refused("not_allowed")


class Governance:
    """``role`` is a folder's name, as ``soul_folder`` gives it. All that blocks runs in threads,
    one at a time a role, and comes to its end whatever becomes of the caller."""

    def __init__(
        self,
        files: SoulFiles,
        heads: SoulHeads,
        clock: Clock,
        *,
        seed: bytes,
        evolution: SoulEvolution,
    ) -> None:
        """``seed`` is the first version where there is nothing."""
        self._files = files
        self._clock = clock
        self._store = SoulStore(files, heads, clock, seed)
        self._life = SoulLife(self._store, clock)
        self._evolution = evolution
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._judging: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Held while a judge is asked, which takes minutes: no veto waits for that."""
        self._in_force: dict[str, str] = {}
        self._injected: dict[str, str] = {}
        self._followed: dict[str, Stamp] = {}
        """Each SOUL.md as it was when it was last followed."""

    def in_force(self, role: str) -> str:
        """Returns the text in force, from memory; empty for none."""
        return self._in_force.get(role, "")

    def injected(self, role: str) -> str:
        """Returns what a system prompt ends with, from memory; empty for no rules."""
        return self._injected.get(role, "")

    async def recent_rules(self, role: str) -> frozenset[str]:
        """Returns the rules that came into force within the last seven days; none where the soul
        cannot be read."""
        since = self._clock() - RECENT
        found = await self._read(role, lambda standing: self._store.recent_rules(standing, since))
        return frozenset() if isinstance(found, Refused) else found

    async def own_probes(self, role: str) -> str:
        """Returns what the owner wrote into ``probes.md``, empty where it cannot be read."""
        try:
            raw = await asyncio.to_thread(self._files.read, role, PROBES)
        except VaultWriteFailed as error:
            logger.warning("soul_unread", role=role, file=PROBES, error=error)
            return ""
        return (raw or b"").decode(errors="replace")

    async def recover(self) -> dict[str, SoulView | Refused]:
        """Settle every role that has a soul, after a start. Returns what was found. Raises
        VaultWriteFailed."""
        roles = await asyncio.to_thread(self._files.roles)
        for role in roles:
            await asyncio.to_thread(self._guarded, role, partial(self._files.clean, role))
        return {role: await self.settle(role) for role in roles}

    async def follow(self) -> dict[str, SoulView | Refused]:
        """Settle the roles whose SOUL.md was touched since the last time, and keep what a person
        has written into it as a proposal. Raises VaultWriteFailed."""
        pages, found = await asyncio.to_thread(self._files.pages), {}
        for role in [one for one, stamp in pages.items() if self._followed.get(one) != stamp]:
            found[role] = await self._do(role, self._keep, writes=False)
            if isinstance(found[role], SoulView):  # else it is tried again
                self._followed[role] = pages[role]
        return found

    def _keep(self, standing: Standing) -> SoulView:
        if not (standing.chain.broken or standing.chain.newer):
            with contextlib.suppress(Stopped):  # there is nothing, or nothing that can be kept
                self._life.written(standing)
        return self._store.view(standing)

    async def settle(self, role: str) -> SoulView | Refused:
        """Bring SOUL.md to where the chain is, and make the first version where there is none.
        Returns what is in force."""
        return await self._do(role, self._store.view, writes=False)

    async def look(self, role: str) -> SoulView | Refused:
        """Returns what is in force, and what waits. Changes nothing."""
        return await self._read(role, self._store.view)

    async def read(self, request: SoulRequest, role: str, actor: Actor) -> SoulOutcome:
        """Returns what somebody asks to see: what is in force is for all, the rest for admins.
        Changes nothing."""
        if request.action != "show" and not _is_admin(actor):
            return _FORBIDDEN
        return await self._read(role, partial(self._store.answer, request))

    async def propose(
        self, role: str, draft: SoulDraft, actor: Actor | None
    ) -> SoulProposed | Refused:
        """Make a proposal of an admin's wish, or, without an actor, of what was counted."""
        wished = draft.origin == "wish" and _is_admin(actor)
        counted = draft.origin == "style" and actor is None
        if not (wished or counted):
            return _FORBIDDEN
        return await self._do(role, partial(self._life.propose, draft, _name(actor)))

    async def evaluate(self, role: str, number: int, judge: Judge) -> SoulProposed | Refused:
        """Ask for a verdict on a proposal that has none yet, and keep it. Returns the proposal if
        it has passed. What the judge raises is passed on; nothing has passed then."""
        waiting = partial(self._life.waiting, number)
        return await self._judged(role, waiting, judge, self._life.judge)

    async def apply(
        self, role: str, number: int, actor: Actor | None, judge: Judge
    ) -> SoulChanged | Refused:
        """Put a proposal in force, the open one for 0, evaluated before if it was not. Without an
        actor the night does it: under ``auto`` alone, and what a model has passed alone."""
        is_night = actor is None and self._evolution is SoulEvolution.AUTO
        if not (is_night or _is_admin(actor)):
            return _FORBIDDEN
        ready = partial(self._life.ready, number)  # before tokens are spent on it
        passed = await self._judged(role, ready, judge, self._life.judge)
        if isinstance(passed, Refused):
            return passed
        if is_night and not (passed.verdict and passed.verdict.model):
            return _FORBIDDEN
        number = passed.proposal.number
        return await self._do(role, partial(self._life.apply, number, _name(actor)))

    async def change(
        self, request: SoulRequest, role: str, actor: Actor, judge: Judge
    ) -> SoulOutcome:
        """Carry out what an admin decides. A number of 0 is the open proposal, a version of 0 the
        one before. What is put in force is evaluated, but for what is given back."""
        if not _is_admin(actor):
            return _FORBIDDEN
        by = _name(actor)
        match request.action:
            case "apply":
                return await self.apply(role, request.number, actor, judge)
            case "veto":
                return await self._do(role, partial(self._life.veto, request.number, by))
            case "undo":
                return await self._do(role, partial(self._life.rollback, request.number, by))
            case "adopt":
                adopt = partial(self._life.adopt, by)
                return await self._judged(role, self._life.written, judge, adopt)
            case "discard":
                return await self._do(role, partial(self._life.discard, by))
        raise ValueError(f"no change: {request.action}")

    async def _judged[R](
        self,
        role: str,
        find: Callable[[Standing], SoulProposed],
        judge: Judge,
        keep: Callable[[SoulProposal, SoulEvaluation, Standing], R],
    ) -> R | SoulProposed | Refused:
        async with self._judging[role]:
            found = await self._do(role, find)
            if isinstance(found, Refused) or found.verdict is not None:
                return found
            verdict = await judge(found.proposal, self.in_force(role))
            if isinstance(verdict, str):
                return Refused(verdict)
            verdict = replace(verdict, proposal=found.proposal.number)
            return await self._do(role, partial(keep, found.proposal, verdict))

    async def _read[R](self, role: str, work: Callable[[Standing], R]) -> R | Refused:
        return await asyncio.to_thread(
            self._guarded, role, lambda: work(self._store.standing(role))
        )

    async def _do[R](
        self, role: str, work: Callable[[Standing], R], *, writes: bool = True
    ) -> R | Refused:
        def look_and_work() -> R:
            standing = self._store.look(role)
            if standing.raw is not None:
                self._note(role, standing.text)
            if writes and standing.chain.newer:
                raise Stopped("newer")
            if writes and standing.chain.broken:
                raise Stopped("broken", str(standing.chain.broken))
            outcome = work(standing)
            if isinstance(outcome, SoulChanged):
                self._note(role, outcome.text)
            return outcome

        return await asyncio.to_thread(self._guarded, role, look_and_work)

    def _note(self, role: str, text: str) -> None:
        """In a thread: an owner's file may be long, and no turn waits while it is read."""
        if self._in_force.get(role) != text:
            self._injected[role] = injected(text)
            self._in_force[role] = text

    def _guarded[R](self, role: str, work: Callable[[], R]) -> R | Refused:
        with self._locks[role]:
            return or_refused(work)


def _is_admin(actor: Actor | None) -> bool:
    return actor is not None and actor.admin and not actor.is_agent


def _name(actor: Actor | None) -> str:
    return REFLECTION if actor is None else actor.person or actor.name or OWNER
