"""Repairs a file after a person's save, in one read and one write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.vault_layout import conflict_path
from ..runtime.identifiers import make_id
from ..storage.files import ChangedMeanwhile, replace_durably
from .markdown.new_entries import plain_lines, with_ids
from .markdown.topic_file import Entry, TopicFile, behind, digest, parse_file
from .models import KnownEntry, KnownFile, Repair, RepairedFile, SeenFile
from .rules.reconcile import matched
from .rules.stale_saves import appended_since
from .scan import OUTGROWN, VaultScan
from .vault_tree import MAX_FILE_BYTES, FileSnapshot, VaultTree
from .vault_writer import VaultWriter


class VaultRepair:
    """The caller holds the vault's lock."""

    def __init__(self, tree: VaultTree, scan: VaultScan, writer: VaultWriter) -> None:
        self._tree = tree
        self._scan = scan
        self._writer = writer

    def write_repair(
        self, seen: SeenFile, repair: Repair, known: Sequence[KnownEntry], *, name: bool
    ) -> RepairedFile | None:
        """Write what the file needs and record its new state. Returns None if the file changed
        since it was seen. ``known``: the entries of this file. Without ``name``, no ids are given:
        a person may be typing.

        Raises VaultWriteFailed.
        """
        path = self._tree.folder(seen.scope) / seen.path
        after = seen
        if _needs_writing(repair, name=name):
            self._tree.refuse_links(path)
            try:
                snapshot = self._tree.read(path, patient=True, limit=MAX_FILE_BYTES)
                if digest(snapshot.raw) != seen.digest:
                    return None
                raw = self.repaired(seen, snapshot, repair, name=name).encode()
                # Before anything is written: a file that outgrows the limit is never read again.
                after = self._scan.seen(seen.scope, FileSnapshot(path, raw, snapshot.stamp))
                # Our version first: a crash between leaves both.
                for entry in repair.conflicts:
                    target = conflict_path(seen.path)
                    self._writer.append_unnoted(seen.scope, target, entry.memory)
                if raw != snapshot.raw:
                    replace_durably(path, raw, snapshot.stamp)
            except ChangedMeanwhile:
                return None
            except VaultFileBroken as error:
                if error.reason == OUTGROWN:
                    raise VaultWriteFailed(f"{path.name}: larger than 8 MiB") from error
                return None
        waits = not name and bool(repair.copied or repair.adopts)
        return self._noted(seen, after, repair, known, waits=waits)

    def repaired(
        self, seen: SeenFile, snapshot: FileSnapshot, repair: Repair, *, name: bool
    ) -> str:
        """Returns the text of the file after the repair."""
        file = snapshot.parsed()

        def again(text: str) -> TopicFile:
            return parse_file(text, fallback_time=snapshot.modified)

        if name and repair.copied:
            fresh = _fresh(snapshot, len(repair.copied))
            copies = [file.entries[number] for number in repair.copied]
            file = again(file.with_other_ids(dict(zip(copies, fresh, strict=True))))
        if name and repair.adopts:
            file = again(self._named(file, seen, repair, snapshot))
        # Another entry under the same id is a person's, and is kept.
        while cut := _departed(file, repair):
            file = again(file.without(*cut))
        rewritten = [*(known.memory for known in repair.restored), *repair.reworded]
        pairs = ((file.find(memory.memory_id), memory) for memory in rewritten)
        text = file.with_all_replaced((entry, memory) for entry, memory in pairs if entry)
        if repair.returned:
            text += behind(text, *(known.memory for known in repair.returned))
        return text

    def _named(
        self, file: TopicFile, seen: SeenFile, repair: Repair, snapshot: FileSnapshot
    ) -> str:
        """Returns the text with ids after a person's words, former ids where they are known."""
        lines = plain_lines(file)
        fits = len(lines) == len(seen.unnamed)
        had = matched(seen.unnamed, repair.kept_ids) if fits else {}
        fresh = iter(_fresh(snapshot, len(lines) - len(had)))
        ids = {
            line: had[number].memory_id if number in had else next(fresh)
            for number, line in enumerate(lines)
        }
        return with_ids(file, ids)

    def _noted(
        self,
        seen: SeenFile,
        after: SeenFile,
        repair: Repair,
        known: Sequence[KnownEntry],
        *,
        waits: bool,
    ) -> RepairedFile:
        """Record the file. Returns its recallable entries, without copies that wait for an id."""
        copies = _places(seen, repair) if waits else set()
        before = {entry.memory_id: entry for entry in known}
        unseen = self._unseen(seen, known)
        restored = {entry.memory_id for entry in repair.restored}
        reworded = {memory.memory_id for memory in repair.reworded}
        returned = {entry.memory_id: entry for entry in repair.returned}
        saved = {entry.memory.memory_id: entry for entry in seen.entries}
        rows = []
        living = []
        for number, entry in enumerate(after.entries):
            memory_id = entry.memory.memory_id
            if number in copies:
                continue
            living.append(entry.memory)
            row = KnownEntry(after.scope.name, after.path, entry.memory, entry.digest)
            if memory_id in restored and memory_id in before:
                row = replace(before[memory_id], digest=entry.digest)
            elif memory_id in reworded:
                was = saved[memory_id]
                row = replace(
                    row,
                    prior=was.memory,
                    prior_digest=was.digest,
                    rewritten_at=self._writer.now(),
                )
            elif memory_id in returned:
                row = replace(
                    row,
                    appended=self._writer.ledger.next_append(),
                    appended_at=self._writer.now(),
                    before=seen.digest,
                    after=after.digest,
                    returned=returned[memory_id].returned,
                )
            elif memory_id in unseen:
                row = replace(before[memory_id], memory=entry.memory, held=False)
            rows.append(row)
        file = KnownFile(
            *after.key,
            "" if waits else after.digest,  # so that the next start compares it again
            after.plain,
            after.timeless,
        )
        self._writer.ledger.record(files=[file], entries=rows)
        return RepairedFile(tuple(living), waits)

    def _unseen(self, seen: SeenFile, known: Sequence[KnownEntry]) -> set[str]:
        """Returns the entries whose last write by us is in no person's save yet: all if only the
        bot wrote to the file, else those appended since."""
        file = self._writer.ledger.file(seen.key)
        if file is not None and file.digest == seen.digest:
            return {entry.memory_id for entry in known}
        return appended_since(seen.digest, known)[1]


def _fresh(snapshot: FileSnapshot, count: int) -> list[str]:
    return [make_id("m", snapshot.modified, number=number) for number in range(count)]


def _departed(file: TopicFile, repair: Repair) -> list[Entry]:
    cut = set(repair.cut)
    return [e for e in file.entries if cut and (e.memory.memory_id, file.digest(e)) in cut]


def _places(seen: SeenFile, repair: Repair) -> set[int]:
    """Returns the numbers of the copies after other entries were cut."""
    cut = set(repair.cut)
    stays = [
        number
        for number, entry in enumerate(seen.entries)
        if (entry.memory.memory_id, entry.digest) not in cut
    ]
    return {place for place, number in enumerate(stays) if number in repair.copied}


def _needs_writing(repair: Repair, *, name: bool) -> bool:
    return repair.needs_rewrite or (name and bool(repair.copied or repair.adopts))
