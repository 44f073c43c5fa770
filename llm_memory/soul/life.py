"""What may become of a proposal, and of what a person writes into SOUL.md: one step each, on the
disk. Nothing comes into force that was not passed, but for a file that an owner had before the
first version."""

from __future__ import annotations

import contextlib
import difflib
import unicodedata
from dataclasses import replace
from datetime import timedelta
from typing import Final

from ..models.said import Said
from ..models.soul import (
    OWNER,
    REFLECTION,
    Finding,
    SoulChanged,
    SoulDraft,
    SoulEnded,
    SoulEvaluation,
    SoulEvent,
    SoulFault,
    SoulOrigin,
    SoulProposal,
    SoulProposed,
    SoulRefused,
    SoulState,
    SoulText,
    SoulView,
)
from ..runtime.identifiers import Clock
from .rules.soul_text import rules_of
from .soul_reader import Refused, SoulReader, Standing
from .soul_store import SoulStore

RECENT: Final = timedelta(days=7)
_WAITS: Final = (SoulState.PROPOSED, SoulState.APPROVED)
NOT_TEXT: Final = Finding("encoding", Said("这段文字不是 UTF-8", "The text is not in UTF-8"))


class SoulLife:
    """Every method blocks, one call a role at a time, and takes how the soul stands. Raises
    VaultWriteFailed, Refused, and UnicodeEncodeError for half a surrogate pair."""

    def __init__(self, store: SoulStore, reader: SoulReader, clock: Clock) -> None:
        self._store = store
        self._reader = reader
        self._clock = clock

    # A proposal

    def propose(
        self, draft: SoulDraft, author: str, standing: Standing
    ) -> SoulProposed | SoulRefused:
        """Make a proposal, unless another one waits."""
        if standing.history.open:
            return SoulRefused(SoulFault.OPEN_PROPOSAL, str(standing.history.open))
        if draft.base != standing.version.number:
            return SoulRefused(SoulFault.STALE)
        if _same(draft.text) == _same(text_of(standing)):
            return SoulRefused(SoulFault.SAME)
        return SoulProposed(self._store.propose(standing, draft, author))

    def waiting(self, number: int, standing: Standing) -> SoulProposed | SoulRefused:
        """Returns a proposal that waits, with its verdict if it was approved."""
        state = standing.history.states.get(number)
        verdict = self._reader.verdict(standing, number)
        if state is SoulState.DENIED and verdict is not None:
            return SoulRefused(SoulFault.DENIED, "", verdict.findings, verdict)
        if number not in standing.history.proposed or state not in _WAITS:
            return SoulRefused(SoulFault.NO_SUCH, state or "")
        proposal, version = self._reader.proposal(standing, number), standing.version
        if (proposal.base, proposal.base_sha256) != (version.number, version.sha256):
            return SoulRefused(SoulFault.STALE)
        if state is SoulState.APPROVED and (verdict is None or verdict.passed is not True):
            return SoulRefused(SoulFault.BROKEN, str(standing.history.verdicts[number].n))
        return SoulProposed(proposal, verdict)

    def judge(self, verdict: SoulEvaluation, standing: Standing) -> SoulProposed | SoulRefused:
        """Keep the verdict on a proposal that still waits."""
        found = self.waiting(verdict.proposal, standing)
        if isinstance(found, SoulRefused):
            return found
        self._store.judge(standing, verdict)
        if verdict.passed is not True:
            return SoulRefused(SoulFault.DENIED, "", verdict.findings, verdict)
        return SoulProposed(found.proposal, verdict)

    def ready(self, number: int, standing: Standing) -> SoulProposed | SoulRefused:
        """Returns a proposal that may be applied now, but for its verdict."""
        found = self.waiting(number, standing)
        if isinstance(found, SoulRefused):
            return found
        if standing.by_hand:
            return SoulRefused(SoulFault.CONFLICT, standing.shut)
        at, now = standing.history.applied_at, self._clock()
        if at is not None and at.astimezone(now.tzinfo).date() == now.date():
            return SoulRefused(SoulFault.ONCE_A_DAY)
        return found

    # What is in force

    def apply(self, number: int, by: str, standing: Standing) -> SoulChanged | SoulRefused:
        """Put a proposal in force that has passed."""
        found = self.ready(number, standing)
        if isinstance(found, SoulRefused):
            return found
        if found.verdict is None:
            return SoulRefused(SoulFault.NO_SUCH, SoulState.PROPOSED)
        raw = found.proposal.text.encode()
        done = self._put(standing, SoulEvent.APPLIED, raw, by, proposal=number)
        return replace(done, verdict=found.verdict)

    def veto(
        self, number: int, by: str, standing: Standing
    ) -> SoulChanged | SoulEnded | SoulRefused:
        """End a proposal. If its text is in force, the version before it is given back."""
        history = standing.history
        state = history.states.get(number)
        if state is SoulState.ACTIVE:
            target = history.before_veto()
            raw = self._reader.text(standing, target)
            return self._put(standing, SoulEvent.VETOED, raw, by, proposal=number, source=target)
        if state not in _WAITS:
            return SoulRefused(SoulFault.NO_SUCH, state or "")
        self._store.note(standing, SoulEvent.VETOED, by, proposal=number)
        return SoulEnded(SoulEvent.VETOED, number)

    def rollback(self, version: int, by: str, standing: Standing) -> SoulChanged | SoulRefused:
        """Give an earlier version's bytes back, as a new version; 0 for the one before."""
        if version and version not in standing.history.versions:
            return SoulRefused(SoulFault.NO_SUCH)
        target = standing.history.target(version)
        if not target:
            return SoulRefused(SoulFault.NO_TARGET)
        raw = self._reader.text(standing, target)
        return self._put(standing, SoulEvent.ROLLED_BACK, raw, by, source=target)

    def _put(
        self,
        standing: Standing,
        event: SoulEvent,
        raw: bytes,
        by: str,
        *,
        proposal: int = 0,
        source: int = 0,
    ) -> SoulChanged:
        changed = self._store.put(standing, event, raw, by, proposal=proposal, source=source)
        return SoulChanged(event, changed.version, text_of(changed), text_of(standing))

    # What a person has written into SOUL.md

    def written(self, standing: Standing) -> SoulProposal | SoulRefused:
        """Returns the hand edit as a proposal. The same bytes twice are one."""
        if not standing.by_hand:
            return SoulRefused(SoulFault.NOTHING_BY_HAND)
        if standing.page is None:
            return SoulRefused(SoulFault.NOT_WRITTEN, standing.shut)
        try:
            text = standing.page.raw.decode()
        except UnicodeDecodeError:
            return SoulRefused(SoulFault.DENIED, findings=(NOT_TEXT,))
        history, base = standing.history, standing.version.number
        for number in sorted(history.states.keys() - history.proposed.keys(), reverse=True):
            with contextlib.suppress(Refused):  # a file that is gone is no hindrance
                known = self._reader.proposal(standing, number)
                if (known.text, known.base) == (text, base):
                    return known
        return self._store.add_proposal(standing, SoulDraft(base, SoulOrigin.HAND, text), OWNER)

    def adopt(
        self, proposal: SoulProposal, verdict: SoulEvaluation, by: str, standing: Standing
    ) -> SoulChanged | SoulRefused:
        """Put it in force if it has passed. What is refused stays in SOUL.md."""
        if proposal.base != standing.version.number:
            return SoulRefused(SoulFault.STALE)
        raw = proposal.text.encode()
        if standing.page is None or standing.page.raw != raw:
            return SoulRefused(SoulFault.CONFLICT)  # it was written again meanwhile
        judged = self._store.judge(standing, verdict)
        if verdict.passed is not True:
            return SoulRefused(SoulFault.DENIED, "", verdict.findings, verdict)
        done = self._put(judged, SoulEvent.ADOPTED, raw, by, proposal=proposal.number)
        return replace(done, verdict=verdict)

    def discard(self, by: str, standing: Standing) -> SoulEnded | SoulRefused:
        """Write the version in force over it. It is kept."""
        if not standing.by_hand:
            return SoulRefused(SoulFault.NOTHING_BY_HAND)
        if standing.page is None:
            return SoulRefused(SoulFault.NOT_WRITTEN, standing.shut)
        changed, kept = self._store.discard(standing, by)
        if changed.by_hand:  # a person has saved again, and that stays
            return SoulRefused(SoulFault.CONFLICT, kept)
        return SoulEnded(SoulEvent.DISCARDED, kept=kept)

    # What is told of it

    def recent_rules(self, standing: Standing) -> frozenset[str]:
        """Returns the rules that came into force within the last seven days."""
        since = self._clock() - RECENT
        versions = standing.history.versions
        before = [number for number, line in versions.items() if line.at <= since]
        base = max(before, default=min(versions, default=0))
        if not base:
            return frozenset()
        former = self._reader.text(standing, base).decode(errors="replace")
        return frozenset(rules_of(text_of(standing))) - frozenset(rules_of(former))

    def diff(self, number: int, standing: Standing) -> SoulText | SoulRefused:
        """Returns what a proposal changes; with 0 the open one, else what a person has written."""
        number = number or standing.history.open
        if number in standing.history.states:
            proposal = self._reader.proposal(standing, number)
            raw, new = self._reader.text(standing, proposal.base), proposal.text
        elif not number and standing.by_hand and standing.page is not None:
            raw, new = standing.raw or b"", standing.page.raw.decode(errors="replace")
        else:
            return SoulRefused(SoulFault.NO_SUCH)
        old = raw.decode(errors="replace").splitlines()
        lines = difflib.unified_diff(old, new.splitlines(), n=1, lineterm="")
        return SoulText(tuple(lines)[2:])

    def view(self, standing: Standing) -> SoulView:
        """Returns what is in force, and what waits."""
        number = standing.history.open
        text = text_of(standing)
        line = standing.history.versions.get(standing.version.number)
        view = SoulView(
            standing.role,
            standing.version,
            text,
            rules_of(text),
            by_hand=standing.by_hand,
            by_night=line is not None and line.actor == REFLECTION,
            restored=standing.restored,
            broken=standing.chain.broken,
            newer=standing.chain.newer,
        )
        if not number:
            return view
        state = standing.history.states[number]
        try:
            proposal = self._reader.proposal(standing, number)
            verdict = self._reader.verdict(standing, number)
        except Refused as error:
            return replace(view, broken=int(error.detail))
        return replace(view, open=proposal, state=state, verdict=verdict)


def text_of(standing: Standing) -> str:
    """Returns the text in force, empty for none."""
    return (standing.raw or b"").decode(errors="replace")


def _same(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
