"""Works out what was done to files, from what the ledger knows of them. Everything here blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..models.data_models import Memory
from ..runtime.cooperative import cooperative
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import Changes, FileKey, KnownEntry, KnownFile, RemovedEntry, SeenFile
from ..vault.rules.reconcile import Known, compare
from .unsettled_files import files_to_defer

type Correction = tuple[str, Memory | None, str, Memory]
"""Former scope and entry, present scope and entry."""


@dataclass(slots=True)
class Differences:
    """What was done to some files, and what follows.

    Attributes:
        known: By file, the entries as they were known.
        unsettled: The files that are applied only when no program writes to them any more.
        vanished: By file, what is to be forgotten.
        left: Entries that live at another place, and none of their id where they were.
        living: By file and id, what is recallable of it, whether it can be written to or not.
        corrected: By file, what people reworded, moved to another scope, or put back, but not what
            a stale save undid.
    """

    changes: Changes
    known: dict[FileKey, list[KnownEntry]]
    unsettled: set[FileKey]
    vanished: dict[FileKey, list[KnownEntry]]
    left: list[KnownEntry] = field(default_factory=list)
    living: dict[FileKey, dict[str, Memory]] = field(default_factory=dict)
    corrected: dict[FileKey, list[Correction]] = field(default_factory=dict)


@dataclass(frozen=True)
class FileComparison:
    """``_now`` returns seconds since 1970."""

    _vault: MarkdownVault
    _now: Callable[[], float]

    def of(
        self, seen: Sequence[SeenFile], gone: Collection[FileKey], *, first: bool
    ) -> Differences:
        """Compare files with what is known of them. ``first``: since the start."""
        known = self._known(seen, gone, first=first)
        changes = compare(seen, gone, known, self._now())
        rows, vanished = _by_file(known.entries), _by_file(changes.vanished)
        found = Differences(changes, rows, files_to_defer(changes), vanished)
        stays: set[tuple[str, str]] = set()
        undone = {(e.file, e.memory_id) for one in changes.repairs.values() for e in one.restored}
        for file, entry, before in cooperative(changes.living):
            scope, memory = file.scope.name, entry.memory
            stays.add((scope, memory.memory_id))
            found.living.setdefault(file.key, {})[memory.memory_id] = memory
            former, was = (scope, None) if before is None else (before.scope, before.memory)
            same = was is not None and (former, was.judgment) == (scope, memory.judgment)
            if not same and (file.key, memory.memory_id) not in undone:
                found.corrected.setdefault(file.key, []).append((former, was, scope, memory))
        for key, repair in changes.repairs.items():
            ours = {known.memory_id: known.memory for known in (*repair.restored, *repair.returned)}
            found.living.setdefault(key, {}).update(ours)
        found.left += (e for e in cooperative(changes.left) if (e.scope, e.memory_id) not in stays)
        return found

    def _known(self, seen: Sequence[SeenFile], gone: Collection[FileKey], *, first: bool) -> Known:
        ledger = self._vault.ledger
        keys = {*(file.key for file in seen), *gone}
        there = {entry.memory.memory_id for file in seen for entry in file.entries}
        found = [*ledger.entries_named(there), *ledger.entries_in(keys, but=there)]
        rows = {(row.scope, row.memory_id): row for row in found}
        missing = [row for row in found if row.file in keys and row.memory_id not in there]
        homes = keys | {row.file for row in found}
        files = {key: file for key in homes if (file := ledger.file(key)) is not None}
        unknown = there - {row.memory_id for row in found}
        return Known(
            files,
            list(rows.values()),
            ledger.counts(),
            [*self._departed(unknown if first else ()), *self._corrected(seen, files, rows.keys())],
            self._vault.archived_since_append(missing) if missing else {},
        )

    def _departed(self, unknown: Collection[str]) -> list[RemovedEntry]:
        """Returns what the bot removed lately. At the start the ledger may be older than the vault:
        what it lists as departed, and no archive has, was restored by command. ``unknown`` are ids
        that are only in files."""
        departed = self._vault.ledger.departed()
        asked: dict[str, set[str]] = {}
        for entry in departed:
            if entry.memory_id in unknown:
                asked.setdefault(entry.scope, set()).add(entry.memory_id)
        for name, ids in asked.items():
            scope = self._vault.named(name)
            back = ids - (self._vault.forgotten(scope, ids) if scope is not None else set())
            departed = [d for d in departed if d.scope != name or d.memory_id not in back]
        return departed

    def _corrected(
        self,
        seen: Sequence[SeenFile],
        files: Mapping[FileKey, KnownFile],
        known: Collection[tuple[str, str]],
    ) -> Iterator[RemovedEntry]:
        """Yields what was forgotten or moved in the originals of former copies, and is still in
        these."""
        elsewhere = {memory_id for _, memory_id in known}
        for file in seen:
            if not (file.key in files and files[file.key].is_copy):
                continue
            name = file.scope.name
            ids = {entry.memory.memory_id for entry in file.entries}
            ids = {memory_id for memory_id in ids if (name, memory_id) not in known}
            corrected = (ids & elsewhere) | self._vault.forgotten(file.scope, ids)
            for entry in file.entries:
                if (memory_id := entry.memory.memory_id) in corrected:
                    yield RemovedEntry(name, file.path, memory_id, entry.digest, self._now())


def _by_file(entries: Sequence[KnownEntry]) -> dict[FileKey, list[KnownEntry]]:
    found: dict[FileKey, list[KnownEntry]] = {}
    for entry in cooperative(entries):
        found.setdefault(entry.file, []).append(entry)
    return found
