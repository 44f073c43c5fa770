"""All of the bot's writes to vault files. Each is recorded in the ledger, so that it is not taken
for a person's edit."""

from __future__ import annotations

import contextlib
import stat
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.data_models import Memory, StoredMemory
from ..models.passages import only_reader
from ..models.scope import Place, Scope
from ..models.vault_layout import part_path
from ..storage.files import (
    ABSENT,
    ChangedMeanwhile,
    Stamp,
    append_durably,
    replace_durably,
    stamp_of,
    when_free,
)
from .ledger import SqliteLedger
from .markdown.entry import render
from .markdown.topic_file import Entry, RunningDigest, TopicFile, behind, digest, parse_file
from .models import KnownEntry, KnownFile, PartlyWritten, RemovedEntry
from .vault_tree import FileSnapshot, VaultTree

SPLIT_BYTES = 256 * 1024
"""A topic file larger than this gets no more entries: the next part is begun."""
_TRIES = 10
"""Attempts at writing a batch while another program keeps writing to the same file."""


@dataclass(slots=True)
class _Written:
    """A file's content and what is appended. ``versions`` are the digests of the whole file after
    each appended memory."""

    path: str
    before: bytes | None
    text: str
    stamp: Stamp
    memories: list[Memory] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    added: bytes = b""
    running: RunningDigest | None = None

    def add(self, memory: Memory) -> None:
        more = behind(self.text, memory)
        self.running = self.running or RunningDigest(self.before or b"")
        self.running.add(more.encode())
        self.text += more
        self.added += more.encode()
        self.memories.append(memory)
        self.versions.append(self.running.value)

    @property
    def size(self) -> int:
        return len(self.before or b"") + len(self.added)


class VaultWriter:
    """Appends and rewrites. The caller holds the vault's lock."""

    def __init__(
        self, tree: VaultTree, ledger: SqliteLedger, now: Callable[[], float] = time.time
    ) -> None:
        self._tree = tree
        self.ledger = ledger
        self.now = now

    def append(self, scope: Scope, relative: str, memory: Memory) -> str:
        """Append to the first part of ``relative`` with room. Returns the part's path.

        What one person alone may read is written with the whole file: cut off behind its heading by
        a power loss, it would name no speaker, and everybody would read it.
        """
        if only_reader(scope, memory) is not None:
            return self.append_many(scope, [(relative, memory)])[0]
        part = self._part_with_room(scope, relative)
        part.add(memory)
        path = self._tree.folder(scope) / part.path
        append_durably(path, part.added)
        self._reread_after_append(path, part)
        self._note(lambda: self._note_append(scope, [part]))
        return part.path

    def _reread_after_append(self, path: Path, part: _Written) -> None:
        """A person may have saved the file after we read it: then we appended to that version, and
        the person's next save descends from it."""
        with contextlib.suppress(OSError):
            raw = path.read_bytes()
            if raw.endswith(part.added) and raw != (part.before or b"") + part.added:
                part.before = raw[: -len(part.added)]
                part.versions = [digest(raw)]

    def append_many(self, scope: Scope, entries: Sequence[tuple[str, Memory]]) -> list[str]:
        """Append each entry to the first part of its file with room, in one write for each part.
        Returns their paths. A crash in a write leaves none of its entries, not half of one.

        Raises VaultWriteFailed, PartlyWritten; what was written is in the ledger then.
        """
        waiting: dict[str, list[int]] = {}
        for number, (relative, _) in enumerate(entries):
            waiting.setdefault(relative, []).append(number)
        paths: dict[int, str] = {}
        written: list[_Written] = []
        try:
            for relative, numbers in waiting.items():
                while numbers:
                    part = self._written(scope, relative, [entries[n][1] for n in numbers])
                    written.append(part)
                    some, numbers = numbers[: len(part.memories)], numbers[len(part.memories) :]
                    paths |= dict.fromkeys(some, part.path)
        except VaultWriteFailed as error:
            if paths:
                stored = [StoredMemory(scope, path, entries[n][1]) for n, path in paths.items()]
                raise PartlyWritten(str(error), stored) from error
            raise
        finally:
            if written:
                self._note(lambda: self._note_append(scope, written))
        return [paths[number] for number in range(len(entries))]

    def _written(self, scope: Scope, relative: str, memories: Sequence[Memory]) -> _Written:
        """Write as many entries as the first part takes, at least one."""
        for _ in range(_TRIES):
            part = self._part_with_room(scope, relative)
            for memory in memories:
                part.add(memory)
                if part.size > SPLIT_BYTES:
                    break
            whole = (part.before or b"") + part.added
            with contextlib.suppress(ChangedMeanwhile):
                replace_durably(self._tree.folder(scope) / part.path, whole, part.stamp)
                return part
        raise VaultWriteFailed(f"{relative}: somebody else writes to it all the time")

    def append_unnoted(self, place: Place, relative: str, *memories: Memory) -> str:
        """Append to a file without recallable entries, past the ledger. Returns the part's path."""
        part = self._part_with_room(place, relative)
        payload = behind(part.text, *memories).encode()
        append_durably(self._tree.folder(place) / part.path, payload)
        return part.path

    def _part_with_room(self, place: Place, relative: str) -> _Written:
        """Returns the first part of a file with room, and its content."""
        folder = self._tree.folder(place)
        self._tree.make(place)
        self._tree.refuse_links((folder / relative).parent)
        part = 1
        while (found := self._appendable(folder / part_path(relative, part))) is None:
            part += 1
        return _Written(self._tree.name_on_disk(place, part_path(relative, part)), *found)

    def _appendable(self, path: Path) -> tuple[bytes | None, str, Stamp] | None:
        """Returns the content of the file to append to; None for a file that is full or unreadable.

        Raises VaultWriteFailed if the file's status cannot be read: other parts would fail too.
        """
        try:
            status = path.lstat()
        except FileNotFoundError:
            return None, "", ABSENT
        except OSError as error:
            raise VaultWriteFailed(f"{path.name}: {error.strerror or error}") from error
        if not stat.S_ISREG(status.st_mode) or status.st_size > SPLIT_BYTES:
            return None
        try:
            raw = when_free(path.read_bytes)
            return raw, raw.decode(), stamp_of(status)
        except (OSError, UnicodeDecodeError):
            return None

    def _note_append(self, scope: Scope, written: Sequence[_Written]) -> None:
        files, entries = [], []
        for part in written:
            key = scope.name, part.path
            before = "" if part.before is None else digest(part.before)
            known = self.ledger.file(key)
            # If a person changed or removed the file meanwhile, the next round finds out.
            if part.before is None and known is None:
                files.append(KnownFile(*key, part.versions[-1], digest("")))
            elif known is not None and part.before is not None and known.digest == before:
                files.append(replace(known, digest=part.versions[-1]))
            elif known is not None:
                files.append(known.outdated())
            for memory, after in zip(part.memories, part.versions, strict=True):
                entries.append(
                    KnownEntry(
                        *key,
                        memory,
                        written_digest(memory),
                        appended=self.ledger.next_append(),
                        appended_at=self.now(),
                        before=before,
                        after=after,
                    )
                )
                before = after
        self.ledger.record(files=files, entries=entries)

    def replace(
        self, scope: Scope, snapshot: FileSnapshot, file: TopicFile, entry: Entry, memory: Memory
    ) -> None:
        """Replace an entry by ``memory``. Raises ChangedMeanwhile, VaultWriteFailed."""
        text = file.with_replaced(entry, memory)
        replace_durably(snapshot.path, text.encode(), snapshot.stamp)
        self._note(lambda: self._note_replace(scope, snapshot, file, entry, memory, text))

    def _note_replace(
        self,
        scope: Scope,
        snapshot: FileSnapshot,
        file: TopicFile,
        entry: Entry,
        memory: Memory,
        text: str,
    ) -> None:
        after = parse_file(text, fallback_time=snapshot.modified)
        written = after.find(memory.memory_id)
        path = self._tree.relative(scope, snapshot.path)
        known = self.ledger.entry(scope.name, memory.memory_id)
        if known is None or known.path != path:
            known = KnownEntry(scope.name, path, memory, "")
        if known.prior is None:
            known = replace(known, prior=entry.memory, prior_digest=file.digest(entry))
        changed = replace(
            known,
            memory=memory,
            digest=after.digest(written) if written else "",
            rewritten_at=self.now(),
        )
        in_step, files = self._was_known(scope, snapshot, after, text)
        others: list[KnownEntry] = []
        if not in_step:
            others = self._extended_chains(scope, snapshot, text, without=memory.memory_id)
            if known.appended and known.after == digest(snapshot.raw):
                changed = replace(changed, after=digest(text))
        self.ledger.record(files=files, entries=[*others, changed])

    def cut(self, scope: Scope, snapshot: FileSnapshot, file: TopicFile, *entries: Entry) -> None:
        """Remove entries in one write. Raises ChangedMeanwhile, VaultWriteFailed."""
        text = file.without(*entries)
        replace_durably(snapshot.path, text.encode(), snapshot.stamp)
        self._note(lambda: self._note_cut(scope, snapshot, file, entries, text))

    def _note_cut(
        self,
        scope: Scope,
        snapshot: FileSnapshot,
        file: TopicFile,
        entries: Sequence[Entry],
        text: str,
    ) -> None:
        after = parse_file(text, fallback_time=snapshot.modified)
        path = self._tree.relative(scope, snapshot.path)
        cut = {entry.memory.memory_id: file.digest(entry) for entry in entries}
        in_step, files = self._was_known(scope, snapshot, after, text)
        others = [] if in_step else self._extended_chains(scope, snapshot, text, without=cut)
        now = self.now()
        # What was moved stands in another file already, under the same id.
        rows = self.ledger.entries_in([(scope.name, path)])
        self.ledger.record(
            files=files,
            entries=others,
            gone=[(scope.name, one.memory_id) for one in rows if one.memory_id in cut],
            departed=[
                RemovedEntry(scope.name, path, memory_id, words, now)
                for memory_id, words in cut.items()
            ],
        )

    def _extended_chains(
        self, scope: Scope, snapshot: FileSnapshot, text: str, *, without: Collection[str]
    ) -> list[KnownEntry]:
        """Returns entries whose version chain continues over this rewrite: if a person's save was
        not compared yet, our appends after it are linked to it version by version."""
        rows = self.ledger.entries_in([(scope.name, self._tree.relative(scope, snapshot.path))])
        last, more = set[str](), {digest(snapshot.raw)}
        while not more <= last:
            last |= more
            more = {
                e.before for e in rows if e.memory_id in without and e.appended and e.after in last
            }
        return [
            replace(entry, after=digest(text))
            for entry in rows
            if entry.appended and entry.after in last and entry.memory_id not in without
        ]

    def _was_known(
        self, scope: Scope, snapshot: FileSnapshot, after: TopicFile, text: str
    ) -> tuple[bool, list[KnownFile]]:
        """Returns whether the ledger had the version that we rewrote, and the file's new row; if it
        had not, the next round must compare what a person changed."""
        path = self._tree.relative(scope, snapshot.path)
        known = self.ledger.file((scope.name, path))
        if known is None:
            return False, []
        if known.digest != digest(snapshot.raw):
            return False, [known.outdated()]
        timeless = any(entry.timeless for entry in after.entries)
        whole = digest(text.encode())
        return True, [KnownFile(scope.name, path, whole, after.plain_digest(), timeless)]

    def _note(self, step: Callable[[], None]) -> None:
        """Record a write that was done. If the ledger fails, the next round finds the write."""
        try:
            step()
        except StateUnavailable as error:
            logger.warning("state_not_written", error=error)


def written_digest(memory: Memory) -> str:
    """Returns the digest of an entry's lines as we write them."""
    return digest(render(memory).rstrip())
