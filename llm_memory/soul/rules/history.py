"""What the lines of a chain add up to: versions, proposals, and where a rollback leads. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from ...models.soul import SoulEvent, SoulLine, SoulState, SoulVersion

_WAITS: Final = ("proposed", "approved")


class History:
    """Of one role.

    Attributes:
        versions: The line that put each one in force, by number.
        in_force: The number of the version that is, 0 for none.
        states: Of the proposals, by number.
        proposed: The line of each proposal but of a hand edit, by number.
        verdicts: The line of each proposal's newest verdict, by number.
        applied_at: When a proposal was last applied.
        broken: The first line that cannot follow the ones before it, 0 for none. It and what stands
            behind it count for nothing.
    """

    def __init__(self, lines: Iterable[SoulLine] = ()) -> None:
        self.versions: dict[int, SoulLine] = {}
        self.in_force = 0
        self.states: dict[int, SoulState] = {}
        self.proposed: dict[int, SoulLine] = {}
        self.verdicts: dict[int, SoulLine] = {}
        self.applied_at: datetime | None = None
        self._below: dict[int, int] = {}
        """The version that each applied or adopted one was put over."""
        self._vetoed: set[str] = set()
        """Hashes: what was vetoed comes back under no other number."""
        self.broken = 0
        for line in lines:
            if not self._may_follow(line):
                self.broken = line.n
                break
            self._add(line)

    def _may_follow(self, line: SoulLine) -> bool:
        if line.event in ("seeded", "applied", "adopted"):
            is_new = line.version > max(self.versions, default=0) and not line.source
        elif line.event == "rolled_back" or (line.event == "vetoed" and line.version):
            is_new = line.version > self.in_force and line.source in self.versions
        else:
            is_new = True
        if line.event in ("applied", "adopted"):
            was_proposed = line.proposal in self.proposed
            is_approved = self.states.get(line.proposal) == "approved"
            return is_new and is_approved and was_proposed is (line.event == "applied")
        return is_new and bool(self.versions) is (line.event != "seeded")

    def _add(self, line: SoulLine) -> None:
        if line.eval:
            self.verdicts[line.proposal] = line
        match line.event:
            case "proposed":
                self.proposed[line.proposal] = line
                self.states[line.proposal] = "proposed"
            case "approved":
                self.states[line.proposal] = "approved"
            case "denied":
                self.states[line.proposal] = "denied"
            case "vetoed" if not line.version:
                self.states[line.proposal] = "vetoed"
            case "discarded" | "restored":
                pass
            case _:
                self._put_in_force(line)

    def _put_in_force(self, line: SoulLine) -> None:
        if before := self.active:
            self.states[before] = _AFTER.get(line.event, "superseded")
        if line.event == "vetoed":
            self._vetoed.add(self.sha256)
        if line.event == "applied":
            self.applied_at = line.at
        if line.event in ("applied", "adopted"):
            self._below[line.version] = self._made(self.in_force)
        self.versions[line.version] = line
        self.in_force = line.version
        if now := self.active:
            self.states[now] = "active"

    @property
    def sha256(self) -> str:
        """The hash of the version in force, empty for none."""
        return self.versions[self.in_force].sha256 if self.in_force else ""

    @property
    def active(self) -> int:
        """The proposal whose text is in force, also after a rollback to it; 0 for none."""
        return self.versions[self._made(self.in_force)].proposal if self.in_force else 0

    @property
    def open(self) -> int:
        """The proposal that waits, 0 for none. One that was made from another version than the one
        in force waits for nothing any more."""
        waiting = (
            number
            for number, line in self.proposed.items()
            if self.states[number] in _WAITS and line.version == self.in_force
        )
        return max(waiting, default=0)

    def _made(self, number: int) -> int:
        """The version whose bytes this one has: itself, unless a rollback or veto made it."""
        return self.versions[number].source or number

    def target(self, number: int = 0) -> int:
        """Returns the version that a rollback gives back, 0 for none.

        Without a number that is the version that the one in force was put over; two rollbacks in a
        row go two steps down. A version that was vetoed, or that has the bytes that are in force,
        is passed over, and is no target by its number either. The first version cannot be vetoed.
        """
        if number:
            return self._made(number) if number in self.versions and self._fits(number) else 0
        below = self._below.get(self._made(self.in_force), 0) if self.in_force else 0
        while below and not self._fits(below):
            below = self._below.get(below, 0)
        return below

    def before_veto(self) -> int:
        """Returns the version that a veto of the one in force gives back."""
        return self.target() or min(self.versions)

    def _fits(self, number: int) -> bool:
        sha256 = self.versions[number].sha256
        is_first = self._made(number) == min(self.versions)
        return sha256 != self.sha256 and (is_first or sha256 not in self._vetoed)

    def version(self, number: int) -> SoulVersion:
        """Returns a version that there is."""
        line = self.versions[number]
        proposal = 0 if line.source else line.proposal
        return SoulVersion(number, line.sha256, line.at, proposal)


_AFTER: Final[Mapping[SoulEvent, SoulState]] = {
    "vetoed": "vetoed",
    "rolled_back": "rolled_back",
}
"""What becomes of the proposal that was in force; else another one supersedes it."""
