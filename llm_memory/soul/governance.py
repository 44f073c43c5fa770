"""Who may do what to a soul, and what is in force, in memory.

Nothing comes into force without an evaluation that has passed it, but for a file that an owner had
before the first version.
"""

from __future__ import annotations

import asyncio
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
from ..models.soul import (
    OWNER,
    REFLECTION,
    SoulDraft,
    SoulEvaluation,
    SoulEvolution,
    SoulOrigin,
    SoulProposal,
)
from ..models.soul_requests import (
    ShowSoul,
    SoulChanged,
    SoulEnded,
    SoulFault,
    SoulOutcome,
    SoulProposed,
    SoulReading,
    SoulRefused,
    SoulView,
)
from ..runtime.identifiers import Clock
from ..storage.files import Stamp
from ..storage.soul_heads import SoulHeads
from .life import NOT_TEXT, SoulLife
from .soul_files import PROBES, SoulFiles
from .soul_reader import SoulReader, Standing, or_refused
from .soul_store import SoulStore

type Judge = Callable[[SoulProposal, str], Awaitable[SoulEvaluation | SoulFault]]
"""Evaluates a proposal against the text in force. A fault, such as BUDGET, is no verdict: the
proposal stays as it was."""

RECENT: Final = timedelta(days=7)
_FORBIDDEN: Final = SoulRefused(SoulFault.NOT_ALLOWED)


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
        self._reader = SoulReader(files, heads)
        self._life = SoulLife(self._store, self._reader, clock)
        self._evolution = evolution
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._judging: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Held while a judge is asked, which takes minutes: no veto waits for that."""
        self._in_force: dict[str, str] = {}
        self._followed: dict[str, Stamp] = {}
        """Each SOUL.md as it was when it was last followed."""

    def in_force(self, role: str) -> str | None:
        """Returns the text in force, from memory; None if the role was not looked at yet."""
        return self._in_force.get(role)

    async def recent_rules(self, role: str) -> frozenset[str]:
        """Returns the rules that came into force within the last seven days; none where the soul
        cannot be read."""
        since = self._clock() - RECENT
        found = await self._read(role, lambda standing: self._reader.recent_rules(standing, since))
        return frozenset() if isinstance(found, SoulRefused) else found

    async def own_probes(self, role: str) -> str:
        """Returns what the owner wrote into ``probes.md``, empty where it cannot be read."""
        try:
            raw = await asyncio.to_thread(self._files.read, role, PROBES)
        except VaultWriteFailed as error:
            logger.warning("读不了人格“{}”的 {}：{}", role, PROBES, error)
            return ""
        return (raw or b"").decode(errors="replace")

    async def recover(self) -> dict[str, SoulView | SoulRefused]:
        """Settle every role that has a soul, after a start. Returns what was found."""
        try:
            roles = await asyncio.to_thread(self._files.roles)
        except VaultWriteFailed as error:
            logger.warning("读不了人格的文件夹：{}", error)
            return {}
        for role in roles:
            await asyncio.to_thread(self._guarded, role, partial(self._files.clean, role))
        return {role: await self.settle(role) for role in roles}

    async def follow(self) -> dict[str, SoulView | SoulRefused]:
        """Settle the roles whose SOUL.md was touched since the last time, and keep what a person
        has written into it as a proposal. Raises VaultWriteFailed."""
        pages, found = await asyncio.to_thread(self._files.pages), {}
        for role in [one for one, stamp in pages.items() if self._followed.get(one) != stamp]:
            found[role] = await self._do(role, self._keep, writes=False)
            if isinstance(found[role], SoulView):  # else it is tried again
                self._followed[role] = pages[role]
        return found

    def _keep(self, standing: Standing) -> SoulView:
        if standing.by_hand and not (standing.chain.broken or standing.chain.newer):
            self._life.written(standing)
        return self._reader.view(standing)

    async def settle(self, role: str) -> SoulView | SoulRefused:
        """Bring SOUL.md to where the chain is, and make the first version where there is none.
        Returns what is in force."""
        return await self._do(role, self._reader.view, writes=False)

    async def look(self, role: str) -> SoulView | SoulRefused:
        """Returns what is in force, and what waits. Changes nothing."""
        return await self._read(role, self._reader.view)

    async def read(self, request: SoulReading, role: str, actor: Actor) -> SoulOutcome:
        """Returns what somebody asks to see: what is in force is for all, the rest for admins.
        Changes nothing."""
        if not isinstance(request, ShowSoul) and not _is_admin(actor):
            return _FORBIDDEN
        return await self._read(role, partial(self._reader.answer, request))

    async def propose(
        self, role: str, draft: SoulDraft, actor: Actor | None
    ) -> SoulProposed | SoulRefused:
        """Make a proposal of an admin's wish, or, without an actor, of what was counted."""
        wished = draft.origin is SoulOrigin.WISH and _is_admin(actor)
        counted = draft.origin is SoulOrigin.STYLE and actor is None
        if not (wished or counted):
            return _FORBIDDEN
        return await self._do(role, partial(self._life.propose, draft, _name(actor)))

    async def evaluate(self, role: str, number: int, judge: Judge) -> SoulProposed | SoulRefused:
        """Ask for a verdict on a proposal that has none yet, and keep it. Returns the proposal if
        it has passed. What the judge raises is passed on; nothing has passed then."""
        async with self._judging[role]:
            found = await self._do(role, partial(self._life.waiting, number))
            if isinstance(found, SoulRefused) or found.verdict is not None:
                return found
            verdict = await judge(found.proposal, self._in_force.get(role, ""))
            if isinstance(verdict, SoulFault):
                return SoulRefused(verdict)
            verdict = replace(verdict, proposal=number)
            return await self._do(role, partial(self._life.judge, verdict))

    async def apply(
        self, role: str, number: int, actor: Actor | None, judge: Judge
    ) -> SoulChanged | SoulRefused:
        """Put a proposal in force, evaluated before if it was not. Without an actor the night does
        it: under ``auto`` alone, and what a model has passed alone."""
        is_night = actor is None and self._evolution is SoulEvolution.AUTO
        if not (is_night or _is_admin(actor)):
            return _FORBIDDEN
        ready = await self._do(role, partial(self._life.ready, number))
        if isinstance(ready, SoulRefused):  # before tokens are spent on it
            return ready
        passed = await self.evaluate(role, number, judge)
        if isinstance(passed, SoulRefused):
            return passed
        if is_night and not (passed.verdict and passed.verdict.model):
            return _FORBIDDEN
        return await self._do(role, partial(self._life.apply, number, _name(actor)))

    async def veto(
        self, role: str, number: int, actor: Actor
    ) -> SoulChanged | SoulEnded | SoulRefused:
        """End a proposal. If its text is in force, the version before it is given back at once."""
        return await self._by_admin(role, actor, partial(self._life.veto, number, _name(actor)))

    async def rollback(self, role: str, version: int, actor: Actor) -> SoulChanged | SoulRefused:
        """Give an earlier version's bytes back, as a new version; 0 for the one before."""
        return await self._by_admin(
            role, actor, partial(self._life.rollback, version, _name(actor))
        )

    async def adopt(self, role: str, actor: Actor, judge: Judge) -> SoulChanged | SoulRefused:
        """Put what a person wrote into SOUL.md in force, through the same evaluation. What is
        refused stays there."""
        if not _is_admin(actor):
            return _FORBIDDEN
        async with self._judging[role]:
            proposal = await self._do(role, self._life.written)
            if isinstance(proposal, SoulRefused):
                return proposal
            verdict = await judge(proposal, self._in_force.get(role, ""))
            if isinstance(verdict, SoulFault):
                return SoulRefused(verdict)
            verdict = replace(verdict, proposal=proposal.number)
            step = partial(self._life.adopt, proposal, verdict, _name(actor))
            return await self._do(role, step)

    async def discard(self, role: str, actor: Actor) -> SoulEnded | SoulRefused:
        """Write the version in force over what a person wrote. That is kept in ``discarded/``."""
        return await self._by_admin(role, actor, partial(self._life.discard, _name(actor)))

    async def _read[R](self, role: str, work: Callable[[Standing], R]) -> R | SoulRefused:
        return await asyncio.to_thread(
            self._guarded, role, lambda: work(self._reader.standing(role))
        )

    async def _by_admin[R](
        self, role: str, actor: Actor, work: Callable[[Standing], R]
    ) -> R | SoulRefused:
        return await self._do(role, work) if _is_admin(actor) else _FORBIDDEN

    async def _do[R](
        self, role: str, work: Callable[[Standing], R], *, writes: bool = True
    ) -> R | SoulRefused:
        def look_and_work() -> R | SoulRefused:
            standing = self._store.look(role)
            if standing.raw is not None:
                self._in_force[role] = standing.text
            if writes and standing.chain.newer:
                return SoulRefused(SoulFault.NEWER)
            if writes and standing.chain.broken:
                return SoulRefused(SoulFault.BROKEN, str(standing.chain.broken))
            outcome = work(standing)
            if isinstance(outcome, SoulChanged):
                self._in_force[role] = outcome.text
            return outcome

        return await asyncio.to_thread(self._guarded, role, look_and_work)

    def _guarded[R](self, role: str, work: Callable[[], R]) -> R | SoulRefused:
        with self._locks[role]:
            try:
                return or_refused(work)
            except UnicodeEncodeError:
                return SoulRefused(SoulFault.DENIED, findings=(NOT_TEXT,))


def _is_admin(actor: Actor | None) -> bool:
    return actor is not None and actor.admin and not actor.is_agent


def _name(actor: Actor | None) -> str:
    return REFLECTION if actor is None else actor.person or actor.name or OWNER
