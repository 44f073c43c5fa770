"""The manner that personas have learned: what a turn is told of it, what admins ask, the night.

An admin's wish needs the rules, and a yes of an admin who is shown what it changes. By itself, and
under ``auto`` alone, the night puts in force what enough people asked for in the words of a fixed
list, what a model has passed then, and what was not taken back before.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Refused
from ..models.soul import (
    EVALUATION,
    OWNER,
    READINGS,
    REFLECTION,
    Axis,
    Direction,
    Finding,
    SoulChanged,
    SoulDiff,
    SoulEvolution,
    SoulLine,
    SoulLog,
    SoulOutcome,
    SoulRequest,
    SoulVerified,
    SoulView,
    soul_folder,
)
from ..models.status import Notice
from ..models.vault_layout import SOUL_PAGE
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..storage.files import Stamp
from ..text.normalising import one_line
from ..texts import Said
from .evaluation import SoulEvaluation
from .rules.checks import complaints
from .rules.soul_text import injected, language_of, line_of, rules_of, worded
from .store import SoulStore, Standing, Stopped, digest
from .style_counts import SqliteStyleCounts

_RECENT: Final = timedelta(days=7)
"""So long admins are told of what a night has put in force."""
_LATE: Final = timedelta(days=1)
"""Whoever wishes for something sees it at once. After so long admins are told that it waits."""

type Refuse = Callable[[str, str], tuple[Finding, ...]]
"""Returns what refuses a new text: the text in force, and the new one. Blocks."""
type Evaluate = Callable[[str, SoulLine, str], Awaitable[SoulEvaluation | None]]
"""Asks a model about a role's proposal over the text in force. Without a verdict, on a day without
tokens for instance, the proposal stays as it was."""


@dataclass(eq=False)
class Souls:
    """``persona`` is a persona's name, empty for none; every persona has a soul of its own, and a
    change of one is none of another. All that blocks runs in threads, one at a time, and comes to
    its end whatever becomes of the caller. ``style`` is None where nothing is counted;
    ``complaints`` knows what is known now."""

    _store: SoulStore
    _style: SqliteStyleCounts | None
    _complaints: Callable[[str], Awaitable[Refuse]]
    _evaluate: Evaluate
    _notices: NoticeBoard
    _life: Lifespan
    _clock: Clock
    _evolution: SoulEvolution
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _injected: dict[str, str] = field(default_factory=dict)
    _followed: dict[str, Stamp] = field(default_factory=dict)
    """Each SOUL.md as it was when it was last followed."""

    @property
    def is_off(self) -> bool:
        """Nothing is counted, proposed, or injected."""
        return self._evolution is SoulEvolution.OFF

    def injected(self, persona: str | None) -> str:
        """Returns what the system prompt ends with, from memory; the same bytes until another
        version is in force. Empty for no rules, and where the persona is not known."""
        if persona is None or self.is_off:
            return ""
        return self._injected.get(soul_folder(persona), "")

    async def follow(self) -> None:
        """Look at the souls whose SOUL.md was touched since the last time: put back one that is
        gone, and tell the admins of what people have written. The first time, have all that is in
        force in memory."""
        for role in await asyncio.to_thread(self._store.roles):
            stamp = await asyncio.to_thread(self._store.stamp, role)
            if self._followed.get(role) != stamp and await self._look(role):
                self._followed[role] = stamp

    async def ask(self, request: SoulRequest, persona: str, actor: Actor) -> SoulOutcome:
        """Carry out what is asked, or say why not. What is in force is for all to see, the rest
        for admins. Raises EngineClosed, EngineOff."""
        await self._life.ready()
        role, action = soul_folder(persona), request.action
        if action != "show" and not (actor.admin and not actor.is_agent):
            return Refused("not_allowed")
        if action in READINGS:
            return await self._do(role, partial(_answer, request), self._store.read)
        if self.is_off and action in ("propose", "apply", "adopt"):
            return Refused("soul_off")
        by = actor.person or actor.name or OWNER
        return await self._life.finish(partial(self._carry_out, request, role, by))

    async def night(self) -> None:
        """Propose what enough people want, and under ``auto`` put in force what a model has passed.
        Admins are told."""
        if self.is_off:
            return
        if self._style is not None:
            for role in await asyncio.to_thread(self._style.roles):
                agreed = await asyncio.to_thread(self._style.agreed, role, self._clock().date())
                for manner in agreed:
                    done = await self._do(role, partial(self._propose_counted, *manner))
                    if not isinstance(done, Refused):
                        await asyncio.to_thread(self._style.clear, role, manner[0])
        for role in await asyncio.to_thread(self._store.roles):
            if self._evolution is SoulEvolution.AUTO:
                await self._apply_counted(role)
            await self._look(role)

    # What admins decide

    async def _carry_out(self, request: SoulRequest, role: str, by: str) -> SoulOutcome:
        refuse = await self._complaints(role)
        outcome = await self._do(role, partial(self._change, request, by, refuse))
        await self._look(role)
        return outcome

    def _change(
        self, request: SoulRequest, by: str, refuse: Refuse, standing: Standing
    ) -> SoulOutcome:
        standing.require_sound()
        soul, number = standing.soul, request.number
        match request.action:
            case "propose":
                return self._propose(standing, SoulLine("proposed", by, aim=request.wish), refuse)
            case "apply":
                proposal = self._ready(standing, number)
                _require_allowed(refuse(standing.text, proposal.text))
                line = SoulLine("applied", by, proposal=proposal.proposal)
                done = self._store.write(standing, line, proposal.text.encode())
            case "adopt":  # what is refused stays in SOUL.md
                raw = _by_hand(standing)
                _require_allowed(refuse(standing.text, raw.decode(errors="replace")), in_file=True)
                done = self._store.write(standing, SoulLine("adopted", by), raw)
            case "discard":
                raw = _by_hand(standing)
                text = raw.decode(errors="backslashreplace")
                line = SoulLine("discarded", by, sha256=digest(raw), text=text)
                done = self._store.write(standing, line)
            case "veto" if not number or number != soul.active:
                line = SoulLine("vetoed", by, proposal=_waiting(standing, number).proposal)
                done = self._store.write(standing, line)
            case "veto":  # the version before comes back; the first one is nobody's proposal
                line = SoulLine("vetoed", by, proposal=number, source=soul.target() or 1)
                done = self._store.write(standing, line, standing.kept[line.source])
            case _:  # undo
                if not (target := soul.target(number)):
                    raise Stopped("no_target")
                line = SoulLine("rolled_back", by, source=target)
                done = self._store.write(standing, line, standing.kept[target])
        return SoulChanged(done.soul.lines[-1], done.text, standing.text)

    def _propose(self, standing: Standing, line: SoulLine, refuse: Refuse) -> SoulDiff:
        """Keep what a line aims at, unless a rule refuses it: a soul is read in every scope, so of
        what is refused no word is kept."""
        if (waits := standing.soul.open) is not None:
            raise Stopped("open_proposal", str(waits.proposal))
        aim = one_line(line.aim.encode(errors="replace").decode())
        old, new = standing.text, worded(standing.text, aim)
        _require_allowed(refuse(old, new))
        number = len(standing.soul.proposals) + 1
        line = replace(line, proposal=number, version=standing.version, aim=aim, text=new)
        return SoulDiff(_lines(old, new), self._store.write(standing, line).soul.lines[-1])

    def _ready(self, standing: Standing, number: int = 0) -> SoulLine:
        """Returns a proposal that may be applied now, the open one for 0."""
        proposal = _waiting(standing, number)
        if standing.by_hand is not None:
            raise Stopped("conflict")
        at, now = standing.soul.applied_at, self._clock()
        if at is not None and at.astimezone(now.tzinfo).date() == now.date():
            raise Stopped("once_a_day")
        return proposal

    # The night

    def _propose_counted(self, axis: Axis, direction: Direction, standing: Standing) -> SoulDiff:
        """The rule that several people want, in words of our own: of what anybody said no word
        comes here."""
        rule = line_of(axis, direction, language_of(standing.text))
        line = SoulLine("proposed", REFLECTION, aim=rule, counted=True)
        return self._propose(standing, line, complaints)

    async def _apply_counted(self, role: str) -> None:
        """Put in force what was counted and what a model has passed."""
        found = await self._do(role, self._counted)
        if isinstance(found, Refused):
            return
        verdict = await self._evaluate(role, *found)
        if verdict is not None:  # else the next night asks again
            await self._do(role, partial(self._settle, found, verdict))

    def _counted(self, standing: Standing) -> tuple[SoulLine, str]:
        """Returns what the night may put in force, and the text in force. What was vetoed, undone
        or taken out of the text before waits for an admin."""
        proposal, soul = self._ready(standing), standing.soul
        alike = (one for one in soul.proposals.values() if one.aim == proposal.aim)
        ends = {soul.states[one.proposal] for one in alike}
        if not proposal.counted or ends & {"vetoed", "rolled_back", "applied"}:
            raise Stopped("not_allowed")
        return proposal, standing.text

    def _settle(
        self, found: tuple[SoulLine, str], verdict: SoulEvaluation, standing: Standing
    ) -> None:
        if self._counted(standing) != found:
            raise Stopped("nothing_waits")
        proposal, told = found[0], json.loads(json.dumps(asdict(verdict), default=Said.both))
        line = SoulLine("denied", EVALUATION, proposal=proposal.proposal, verdict=told)
        passed = replace(line, event="applied", actor=REFLECTION)
        if verdict.why is None:
            self._store.write(standing, passed, proposal.text.encode())
        else:
            self._store.write(standing, line)

    # Underneath

    async def _look(self, role: str) -> bool:
        """Begin or mend what has to be, and tell the admins what they have to decide. Returns
        False where that could not be seen."""
        view = await self._do(role, _view)
        if isinstance(view, Refused):
            logger.warning("soul_not_followed", role=role, why=f"{view.reason} {view.detail}")
            return False
        now, waits, line = self._clock(), view.open, view.line
        is_told = waits and (waits.counted or waits.at <= now - _LATE)
        is_new = line and line.actor == REFLECTION and line.at > now - _RECENT
        told = {
            "soul_waits": waits.proposal if waits and is_told else None,
            "soul_applied": line.proposal if line and is_new else None,
            "soul_edited": 0 if view.by_hand else None,
            "soul_broken": view.broken or None,
        }
        for code, number in told.items():
            if number is None:
                self._notices.clear(code, role)
            else:
                params = {"role": role, "number": str(number)}
                self._notices.post(Notice(code, role, params, error=code == "soul_broken"))
        return True

    async def _do[R](
        self,
        role: str,
        work: Callable[[Standing], R],
        stands: Callable[[str], Standing] | None = None,
    ) -> R | Refused:
        """Do work on how a soul stands: as it is read, or else after it was begun or mended where
        it had to be."""

        def done() -> R | Refused:
            with self._lock:
                try:
                    standing = (stands or self._store.look)(role)
                    if standing.raw is not None:
                        self._injected[role] = injected(standing.text)
                    return work(standing)
                except Stopped as error:
                    return error.told
                except (StateUnavailable, VaultWriteFailed) as error:
                    return Refused("not_written", detail=str(error))

        return await asyncio.to_thread(done)


def _answer(request: SoulRequest, standing: Standing) -> SoulOutcome:
    """Changes nothing."""
    soul, page, number = standing.soul, standing.page, request.number
    match request.action:
        case "diff":
            proposal = soul.proposals.get(number) if number else soul.open
            if proposal is None and number:
                raise Stopped("no_such")
            if proposal is None and standing.by_hand is None:
                raise Stopped("nothing_waits")
            new = proposal.text if proposal else _by_hand(standing).decode(errors="replace")
            return SoulDiff(_lines(standing.text, new))
        case "log":
            return SoulLog(tuple(soul.lines[::-1]), soul.broken)
        case "verify":
            is_same = not soul.lines or (page is not None and page.raw == standing.raw)
            why = soul.why or ("" if is_same else SOUL_PAGE)
            return SoulVerified(soul.broken, why, len(soul.lines))
    return _view(standing)


def _view(standing: Standing) -> SoulView:
    soul = standing.soul
    return SoulView(
        standing.role,
        standing.version,
        soul.versions.get(standing.version),
        standing.text,
        rules_of(standing.text),
        open=soul.open,
        by_hand=standing.by_hand is not None,
        broken=soul.broken,
    )


def _lines(old: str, new: str) -> tuple[str, ...]:
    """Returns what was changed, as ``diff -u`` tells it."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
    return tuple(lines)[2:]


def _require_allowed(findings: tuple[Finding, ...], *, in_file: bool = False) -> None:
    """Raises Stopped with the findings. Nobody can look up the numbers of a wish's lines."""
    if findings:
        told = findings if in_file else tuple(replace(one, line=0) for one in findings)
        raise Stopped("denied", findings=told)


def _waiting(standing: Standing, number: int) -> SoulLine:
    """Returns the proposal that waits, if it has this number or the number is 0."""
    proposal = standing.soul.open
    if proposal is None or number not in (0, proposal.proposal):
        raise Stopped("no_such" if number else "nothing_waits")
    return proposal


def _by_hand(standing: Standing) -> bytes:
    """Returns what a person has written into SOUL.md."""
    if (raw := standing.by_hand) is None:
        raise Stopped("nothing_by_hand")
    return raw
