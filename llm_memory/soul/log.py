"""The log of a soul: one line of canonical JSON an event, each with the hash of the one before.

What was changed in it later shows: tamper-evident, not tamper-proof. In every format a line's
``prev`` is the SHA-256 of the line before without its line end, and the first line names the
format. What is in force and what waits is what the lines add up to.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Final

from ..models.soul import SoulEvent, SoulLine, SoulState
from ..storage.soul_heads import SoulHead

FORMAT: Final = 1
_FORMAT: Final = re.compile(rb'"format":(\d{1,9})\b')
NO_LINE: Final = "0" * 64
"""What the first line has for ``prev``."""
_AFTER: Final[Mapping[SoulEvent, SoulState]] = {"vetoed": "vetoed", "rolled_back": "rolled_back"}
"""What becomes of the proposal that was in force; else another one supersedes it."""


@dataclass
class Soul:
    """What the lines of a log add up to.

    Attributes:
        lines: Those before the first broken one; none of a newer format.
        end: The hash of the last of them.
        broken: The first broken line, 0 for none; ``why`` names what is wrong with it.
        newer: A newer version of the plugin wrote it.
        versions: The line that put each one in force, by number, from 1 without a gap.
        proposals: The line of each, by number, from 1 without a gap.
        states: Of the proposals.
        applied_at: When a proposal was last applied.
    """

    lines: list[SoulLine] = field(default_factory=list)
    end: str = NO_LINE
    broken: int = 0
    why: str = ""
    newer: bool = False
    versions: dict[int, SoulLine] = field(default_factory=dict)
    proposals: dict[int, SoulLine] = field(default_factory=dict)
    states: dict[int, SoulState] = field(default_factory=dict)
    applied_at: datetime | None = None
    _stacks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """For each version those that it lies upon, the first one first, and at the end the one that
    has its bytes: itself, unless a rollback or a veto gave another one back."""
    _vetoed: set[str] = field(default_factory=set)
    """Hashes: what was vetoed comes back under no other number."""

    @property
    def version(self) -> int:
        """The number of the version in force, 0 for none."""
        return len(self.versions)

    @property
    def sha256(self) -> str:
        """The hash of the version in force, empty for none."""
        return self.versions[self.version].sha256 if self.versions else ""

    @property
    def active(self) -> int:
        """The proposal whose text is in force, also after a rollback to it; 0 for none."""
        return self.versions[self._stacks[self.version][-1]].proposal if self.versions else 0

    @property
    def open(self) -> SoulLine | None:
        """The proposal that waits. One that was made from another version than the one in force
        waits for nothing any more."""
        last = self.proposals.get(len(self.proposals))
        waits = last and last.version == self.version and self.states[last.proposal] == "proposed"
        return last if waits else None

    def target(self, number: int = 0) -> int:
        """Returns the version that a rollback gives back, 0 for none.

        Without a number that is the version that the one in force was put over; two rollbacks in a
        row go two steps down. A version that was vetoed, or that has the bytes that are in force,
        is passed over, and is no target by its number either. The first version cannot be vetoed.
        """
        below = self._stacks.get(self.version, ())[:-1]
        wanted = self._stacks[number][-1:] if number else below[::-1]
        return next(filter(self._fits, wanted), 0)

    def _fits(self, number: int) -> bool:
        sha256 = self.versions[number].sha256
        return sha256 != self.sha256 and (number == 1 or sha256 not in self._vetoed)

    def add(self, line: SoulLine) -> None:
        """Take the next line. Raises KeyError and ValueError for one that cannot follow."""
        _require((line.event == "seeded") is not bool(self.versions))
        if line.event == "proposed":
            _require(line.proposal == len(self.proposals) + 1 and line.version == self.version)
            self.proposals[line.proposal] = line
            self.states[line.proposal] = "proposed"
        elif line.event == "denied" or (line.event == "vetoed" and not line.version):
            _require(self.states[line.proposal] == "proposed")
            self.states[line.proposal] = line.event
        elif line.event != "discarded":
            self._put_in_force(line)
        self.lines.append(line)

    def _put_in_force(self, line: SoulLine) -> None:
        _require(line.version == self.version + 1)
        own = (*self._stacks.get(self.version, ()), line.version)
        stack = self._stacks[line.source] if line.source else own
        if line.event == "applied":
            _require(self.states[line.proposal] == "proposed")
            self.applied_at = line.at
        if line.event == "vetoed":
            self._vetoed.add(self.sha256)
        if before := self.active:
            self.states[before] = _AFTER.get(line.event, "superseded")
        self.versions[line.version], self._stacks[line.version] = line, stack
        if now := self.active:
            self.states[now] = "active"


def _require(is_so: bool) -> None:
    if not is_so:
        raise ValueError("no line of a log")


def digest(raw: bytes) -> str:
    """Returns the SHA-256 of bytes as it stands in the log."""
    return hashlib.sha256(raw).hexdigest()


def written(line: SoulLine) -> bytes:
    """Returns the line as it is written, without its line end and what it has none of."""
    fields = {name: value for name, value in asdict(line).items() if value}
    fields["at"] = line.at.isoformat()
    if line.n == 1:
        fields["format"] = FORMAT
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="replace")  # a name may be any text, half a character as well


def read(raw: bytes, role: str, head: SoulHead | None) -> Soul:
    """Returns what the bytes of a log's file add up to. ``head`` is its last known line. What
    stands behind the last line end was never acknowledged, and counts for nothing."""
    soul, pieces = Soul(), raw.split(b"\n")[:-1]
    if (found := _FORMAT.search(raw)) and int(found[1]) > FORMAT:
        soul.newer = True
        return soul
    for number, piece in enumerate(pieces, 1):
        sha256 = digest(piece)
        if head and number == head.n and sha256 != head.sha256:
            soul.why = "head"
        elif not _is_added(soul, piece, (number, role, soul.end)):
            soul.why = "form"
        if soul.why:
            soul.broken = number
            return soul
        soul.end = sha256
    if head and len(pieces) < head.n:
        soul.broken, soul.why = len(pieces) + 1, "missing"
    return soul


def _is_added(soul: Soul, piece: bytes, name: tuple[int, str, str]) -> bool:
    """Takes the line, and returns False for one that is not as we write it, or cannot follow."""
    try:
        fields = json.loads(piece)
        fields.pop("format", None)
        line = SoulLine(**fields | {"at": datetime.fromisoformat(fields["at"])})
        _require((line.n, line.role, line.prev) == name and line.at.tzinfo is not None)
        _require(written(line) == piece)
        soul.add(line)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return False
    return True
