"""What the nightly consolidation asks of the disk. Every method blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Protocol

from ..storage.loop_port import Evidence
from ..transfer.ports import LineSource, WholeStore
from .models import ArchiveDecision, JournalDay, SleepReport, SleepStep, StrengthChange


class SleepStore(Protocol):
    """How far a run is, and what it has decided. Raises StateUnavailable."""

    def begin(self, report: SleepReport) -> None:
        """A run begins."""
        ...

    def unfinished(self) -> SleepReport | None:
        """The run that was begun and not ended, as it stood after its last step."""
        ...

    def last(self) -> SleepReport | None:
        """The last run that was brought to its end."""
        ...

    def finish_step(self, report: SleepReport, step: SleepStep, scope: str) -> None:
        """A step is through in a scope, and the run stands as the report says."""
        ...

    def finished(self, run_id: str) -> frozenset[tuple[SleepStep, str]]:
        """The steps of a run that are through, with their scopes."""
        ...

    def end(self, report: SleepReport) -> None:
        """The run is through. What was kept for it goes, and the runs before it."""
        ...

    def plan(self, fades: Sequence[StrengthChange], weighed: Collection[Evidence]) -> None:
        """Keep what was decided and take off the evidence that it was decided by: both or
        neither."""
        ...

    def plans(self, scope: str) -> list[StrengthChange]:
        """What was decided in a scope and is not carried out yet."""
        ...

    def drop_plans(self, scope: str, memory_ids: Collection[str]) -> None:
        """It is carried out, or overtaken."""
        ...

    def quota(self, run_id: str, scope: str, most: int) -> int:
        """How many entries of a scope may leave in a run: what was said first holds."""
        ...

    def choose(self, run_id: str, departures: Sequence[ArchiveDecision]) -> None:
        """These leave in this run. What was chosen already stays as it was."""
        ...

    def departures(self, run_id: str, scope: str) -> list[ArchiveDecision]:
        """What was chosen in a run, in this order."""
        ...

    def depart(self, run_id: str, scope: str, memory_ids: Collection[str]) -> None:
        """They have left, or stay after all."""
        ...

    def compared(self, scope: str) -> Mapping[str, str]:
        """By id, the digest of what was compared with its neighbours already."""
        ...

    def note_compared(self, scope: str, digests: Mapping[str, str], gone: Collection[str]) -> None:
        """Keep these, and no more those that are gone."""
        ...

    def journal_day(self, scope: str, day: date) -> JournalDay:
        """How far that one is."""
        ...

    def note_journal(self, journal: JournalDay) -> None:
        """It has come so far."""
        ...

    def drop_journals(self, before: date) -> None:
        """Days before this one are not asked for any more."""
        ...


class BackupFolder(Protocol):
    """The nightly backups. Raises TransferFailed."""

    vault_format: int
    """Of the tree."""

    def snapshot(self) -> None:
        """A copy of the tree to make a backup of; called again, it copies what has changed."""
        ...

    def store(self) -> WholeStore:
        """The copy."""
        ...

    def write(self, lines: Iterable[str]) -> None:
        """A new file, not in its place yet."""
        ...

    def written(self) -> LineSource:
        """The new file, to be read through."""
        ...

    def read(self, name: str) -> LineSource:
        """One that stands there."""
        ...

    def publish(self, name: str) -> None:
        """Put it in its place."""
        ...

    def names(self) -> list[str]:
        """The backups that stand there, the oldest first."""
        ...

    def remove(self, name: str) -> None:
        """Throw one away."""
        ...

    def clear(self) -> None:
        """Throw the copy away, and what a crash left. Never raises."""
        ...
