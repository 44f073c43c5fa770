"""What was acknowledged, what was found afterwards, and the difference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path


class Fate(StrEnum):
    """What became of a text, as far as was acknowledged."""

    LIVING = "living"
    FORGOTTEN = "forgotten"
    UNSURE = "unsure"
    """The process died between the request and its acknowledgement: either is right."""


@dataclass
class Line:
    """One text. ``owner`` is the umo of the conversation that wrote it."""

    serial: str
    scope: str
    owner: str
    memory_id: str
    fate: Fate = Fate.LIVING


@dataclass(frozen=True, slots=True)
class Found:
    """A text as it stands in the vault: ``scope`` is the folder, ``mark`` what the text says."""

    serial: str
    scope: str
    mark: str
    memory_id: str
    owner: str


@dataclass
class Verdict:
    """Serials of texts that are not as they should be; all of it empty if all is well.

    ``lost``: acknowledged and gone. ``misplaced``: in another scope than its own. ``doubled``:
    there more than once. ``risen``: forgotten, and there.
    """

    lost: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    risen: list[str] = field(default_factory=list)

    def add(self, other: Verdict) -> None:
        """Join what another check has found."""
        self.lost += other.lost
        self.misplaced += other.misplaced
        self.doubled += other.doubled
        self.risen += other.risen


class Ledger:
    """Every text ever acknowledged, by serial."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self._lines = {line.serial: line for line in lines}

    @classmethod
    def load(cls, path: Path) -> Ledger:
        """What ``save`` wrote."""
        rows = json.loads(path.read_text("utf-8"))
        return cls(Line(**{**row, "fate": Fate(row["fate"])}) for row in rows)

    def save(self, path: Path) -> None:
        """For another process."""
        rows = [asdict(line) for line in self]
        path.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines.values())

    def __len__(self) -> int:
        return len(self._lines)

    def stored(self, line: Line) -> None:
        """A write was acknowledged."""
        self._lines[line.serial] = line

    def becomes(self, serial: str, fate: Fate) -> None:
        """A change was asked for (UNSURE) or acknowledged."""
        self._lines[serial].fate = fate

    def settle(self, found: Sequence[Found]) -> Verdict:
        """Compare with all that stands in the vault.

        Whatever was unsure is what it was found to be from now on. What was written and never
        acknowledged may be there; once it was seen, it has to stay.
        """
        verdict = Verdict()
        there = {one.serial: one for one in found if self._in_place(one, verdict)}
        times = Counter(one.serial for one in found)
        verdict.doubled += [serial for serial, count in times.items() if count > 1]
        for line in self:
            match line.fate:
                case Fate.LIVING if line.serial not in there:
                    verdict.lost.append(line.serial)
                case Fate.FORGOTTEN if line.serial in there:
                    verdict.risen.append(line.serial)
                case Fate.UNSURE:
                    line.fate = Fate.LIVING if line.serial in there else Fate.FORGOTTEN
                case _:
                    pass
        for one in there.values():
            if one.serial not in self._lines:
                self.stored(Line(one.serial, one.scope, one.owner, one.memory_id))
        return verdict

    def _in_place(self, one: Found, verdict: Verdict) -> bool:
        line = self._lines.get(one.serial)
        right = one.scope == one.mark and (line is None or line.scope == one.scope)
        if not right:
            verdict.misplaced.append(one.serial)
        return right
