"""What may become of a proposal, and of what a person writes into SOUL.md: one step each, on the
disk. Nothing comes into force that was not passed, but for a file that an owner had before the
first version."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Final

from ..models.soul import (
    OWNER,
    SoulChanged,
    SoulDraft,
    SoulEvaluation,
    SoulEvent,
    SoulProposal,
    SoulProposed,
)
from ..runtime.identifiers import Clock
from .chain import digest
from .soul_reader import NOT_TEXT, Standing, Stopped
from .soul_store import SoulStore

_WAITS: Final = ("proposed", "approved")


class SoulLife:
    """Every method blocks, one call a role at a time, and takes how the soul stands. Raises
    VaultWriteFailed, Stopped, and UnicodeEncodeError for half a surrogate pair."""

    def __init__(self, store: SoulStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    # A proposal

    def propose(self, draft: SoulDraft, author: str, standing: Standing) -> SoulProposed:
        """Make a proposal, unless another one waits."""
        if standing.history.open:
            raise Stopped("open_proposal", str(standing.history.open))
        if draft.base != standing.version.number:
            raise Stopped("stale")
        if _same(draft.text) == _same(standing.text):
            raise Stopped("same")
        return SoulProposed(self._store.propose(standing, draft, author))

    def waiting(self, number: int, standing: Standing) -> SoulProposed:
        """Returns a proposal that waits, the open one for 0; with its verdict if it has passed."""
        history, version = standing.history, standing.version
        number = _asked(number, standing)
        state, verdict = history.states.get(number), self._store.verdict(standing, number)
        if state == "denied" and verdict is not None:
            raise Stopped("denied", verdict=verdict)
        if number not in history.proposed or state not in _WAITS:
            raise Stopped("no_such", state or "")
        proposal = self._store.proposal(standing, number)
        if (proposal.base, proposal.base_sha256) != (version.number, version.sha256):
            raise Stopped("stale")
        if state == "approved" and (verdict is None or verdict.passed is not True):
            raise Stopped("broken", str(history.verdicts[number].n))
        return SoulProposed(proposal, verdict)

    def judge(
        self, proposal: SoulProposal, verdict: SoulEvaluation, standing: Standing
    ) -> SoulProposed:
        """Keep the verdict on a proposal that still waits."""
        self.waiting(proposal.number, standing)
        self._store.judge(standing, verdict)
        return SoulProposed(proposal, verdict)

    def ready(self, number: int, standing: Standing) -> SoulProposed:
        """Returns a proposal that may be applied now, but for its verdict; the open one for 0."""
        found = self.waiting(number, standing)
        if standing.by_hand:
            raise Stopped("conflict", standing.shut)
        at, now = standing.history.applied_at, self._clock()
        if at is not None and at.astimezone(now.tzinfo).date() == now.date():
            raise Stopped("once_a_day")
        return found

    # What is in force

    def apply(self, number: int, by: str, standing: Standing) -> SoulChanged:
        """Put a proposal in force that has passed."""
        found = self.ready(number, standing)
        if found.verdict is None:
            raise Stopped("no_such", "proposed")
        raw = found.proposal.text.encode()
        done = self._store.put(standing, "applied", raw, by, proposal=number)
        return replace(done, verdict=found.verdict)

    def veto(self, number: int, by: str, standing: Standing) -> SoulChanged:
        """End a proposal, the open one for 0. If its text is in force, the version before it is
        given back."""
        history = standing.history
        number = _asked(number, standing)
        state = history.states.get(number)
        if state == "active":
            target = history.before_veto()
            raw = self._store.text(standing, target)
            return self._store.put(standing, "vetoed", raw, by, proposal=number, source=target)
        if state not in _WAITS:
            raise Stopped("no_such", state or "")
        self._store.write(standing, "vetoed", by, proposal=number)
        return self._ended("vetoed", standing, proposal=number)

    def rollback(self, version: int, by: str, standing: Standing) -> SoulChanged:
        """Give an earlier version's bytes back, as a new version; 0 for the one before."""
        if version and version not in standing.history.versions:
            raise Stopped("no_such")
        target = standing.history.target(version)
        if not target:
            raise Stopped("no_target")
        raw = self._store.text(standing, target)
        return self._store.put(standing, "rolled_back", raw, by, source=target)

    # What a person has written into SOUL.md

    def written(self, standing: Standing) -> SoulProposed:
        """Keep the hand edit as a proposal. The same bytes twice are one."""
        try:
            text = self._by_hand(standing).decode()
        except UnicodeDecodeError:
            raise Stopped("denied", findings=(NOT_TEXT,)) from None
        draft = SoulDraft(standing.version.number, "hand", text, "")
        kept = self._store.kept(standing, text)
        return SoulProposed(kept or self._store.propose(standing, draft, OWNER))

    def adopt(
        self, by: str, proposal: SoulProposal, verdict: SoulEvaluation, standing: Standing
    ) -> SoulChanged:
        """Put it in force if it has passed. What is refused stays in SOUL.md."""
        if proposal.base != standing.version.number:
            raise Stopped("stale")
        raw = proposal.text.encode()
        if standing.page is None or standing.page.raw != raw:
            raise Stopped("conflict")  # it was written again meanwhile
        judged = self._store.judge(standing, verdict)
        done = self._store.put(judged, "adopted", raw, by, proposal=proposal.number)
        return replace(done, verdict=verdict)

    def discard(self, by: str, standing: Standing) -> SoulChanged:
        """Write the version in force over it. It is kept."""
        raw = self._by_hand(standing)
        kept = self._store.put_aside(standing.role, f"{self._clock():%Y-%m-%d}.md", raw)
        sha256 = digest(raw)
        changed = self._store.write(standing, "discarded", by, standing.raw, sha256=sha256)
        if changed.by_hand:  # a person has saved again, and that stays
            raise Stopped("conflict", kept)
        return self._ended("discarded", standing, kept=kept)

    def _ended(
        self, event: SoulEvent, standing: Standing, proposal: int = 0, kept: str = ""
    ) -> SoulChanged:
        text, version = standing.text, standing.version
        return SoulChanged(event, version, text, text, proposal=proposal, kept=kept)

    def _by_hand(self, standing: Standing) -> bytes:
        if not standing.by_hand:
            raise Stopped("nothing_by_hand")
        if standing.page is None:
            raise Stopped("page_shut", standing.shut)
        return standing.page.raw


def _asked(number: int, standing: Standing) -> int:
    """Returns the proposal that is meant, the open one for 0."""
    if not (number := number or standing.history.open):
        raise Stopped("nothing_waits")
    return number


def _same(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
