"""Every write of ours to a living file. The ledger hears of it, so that we know it for our own."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..markdown.entry import render
from ..markdown.topic_file import Entry, TopicFile, behind, digest, parse_file
from ..models.data_models import Memory
from ..models.scope import Scope
from ..models.vault_state import Departed, KnownEntry, KnownFile
from ..policies.vault_layout import part_path
from ..ports.ledger import EntryLedger
from .files import append_durably, replace_durably
from .patience import when_free
from .vault_tree import Reading, VaultTree

SPLIT_BYTES = 256 * 1024
"""A topic file that has grown past this is left alone, and the next part begun."""


class VaultPen:
    """Appends and rewrites. Whoever calls holds the vault's lock."""

    def __init__(
        self, tree: VaultTree, ledger: EntryLedger, now: Callable[[], float] = time.time
    ) -> None:
        self._tree = tree
        self.ledger = ledger
        self.now = now

    def append(self, scope: Scope, relative: str, memory: Memory) -> str:
        """To the first part of ``relative`` that takes more: the part's path."""
        target, before = self.append_unnoted(scope, relative, memory)
        entry = KnownEntry(
            scope.name,
            target,
            memory,
            digest(render(memory).rstrip()),
            appended=self.ledger.next_append(),
            appended_at=self.now(),
            before="" if before is None else digest(before),
        )
        self._note(lambda: self._note_append(entry, before))
        return target

    def append_unnoted(
        self, scope: Scope, relative: str, *memories: Memory
    ) -> tuple[str, bytes | None]:
        """The same for a file that holds nothing living: the part's path, and what stood in it."""
        folder = self._tree.folder(scope)
        self._tree.make(scope)
        self._tree.refuse_links((folder / relative).parent)
        part = 1
        while (found := self._before_more(folder / part_path(relative, part))) is None:
            part += 1
        target = part_path(relative, part)
        before, text = found
        append_durably(folder / target, behind(text, *memories).encode())
        return target, before

    def _before_more(self, path: Path) -> tuple[bytes | None, str] | None:
        """What stands in the file that an entry is put behind. None for a file that is full, or
        that we could not read back what we put into.

        Raises VaultWriteFailed where no file can be looked at: no other part could be, either.
        """
        try:
            status = path.lstat()
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            raise VaultWriteFailed(f"{path.name}: {error.strerror or error}") from error
        if not stat.S_ISREG(status.st_mode) or status.st_size > SPLIT_BYTES:
            return None
        try:
            raw = when_free(path.read_bytes)
            return raw, raw.decode()
        except (OSError, UnicodeDecodeError):
            return None

    def _note_append(self, entry: KnownEntry, before: bytes | None) -> None:
        known = self.ledger.file(entry.file)
        text = "" if before is None else before.decode()
        whole = digest(text.encode() + behind(text, entry.memory).encode())
        files = []
        # Where a person wrote to it meanwhile, or took the file away, the next look finds what.
        if before is None and known is None:
            files = [KnownFile(*entry.file, whole, digest(""))]
        elif known is not None and known.digest == entry.before:
            files = [replace(known, digest=whole)]
        self.ledger.record(files=files, entries=[replace(entry, after=whole)])

    def replace(
        self, scope: Scope, reading: Reading, file: TopicFile, entry: Entry, memory: Memory
    ) -> None:
        """Put ``memory`` in an entry's place. Raises ChangedMeanwhile, VaultWriteFailed."""
        text = file.with_replaced(entry, memory)
        replace_durably(reading.path, text.encode(), reading.stamp)
        self._note(lambda: self._note_replace(scope, reading, file, entry, memory, text))

    def _note_replace(
        self,
        scope: Scope,
        reading: Reading,
        file: TopicFile,
        entry: Entry,
        memory: Memory,
        text: str,
    ) -> None:
        after = parse_file(text, fallback_time=reading.modified)
        written = after.find(memory.memory_id)
        path = self._tree.relative(scope, reading.path)
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
        self.ledger.record(files=self._in_step(scope, reading, after, text), entries=[changed])

    def cut(self, scope: Scope, reading: Reading, file: TopicFile, entry: Entry) -> None:
        """Take an entry out. Raises ChangedMeanwhile, VaultWriteFailed."""
        text = file.without(entry)
        replace_durably(reading.path, text.encode(), reading.stamp)
        self._note(lambda: self._note_cut(scope, reading, file, entry, text))

    def _note_cut(
        self, scope: Scope, reading: Reading, file: TopicFile, entry: Entry, text: str
    ) -> None:
        after = parse_file(text, fallback_time=reading.modified)
        memory_id = entry.memory.memory_id
        self.ledger.record(
            files=self._in_step(scope, reading, after, text),
            gone=[(scope.name, memory_id)],
            departed=[
                Departed(
                    scope.name,
                    self._tree.relative(scope, reading.path),
                    memory_id,
                    file.digest(entry),
                    self.now(),
                )
            ],
        )

    def _in_step(
        self, scope: Scope, reading: Reading, after: TopicFile, text: str
    ) -> list[KnownFile]:
        """The file as it is now, if we knew the version that we rewrote; else the next look has to
        compare what a person did to it."""
        path = self._tree.relative(scope, reading.path)
        known = self.ledger.file((scope.name, path))
        if known is None or known.digest != digest(reading.raw):
            return []
        timeless = any(entry.timeless for entry in after.entries)
        whole = digest(text.encode())
        return [KnownFile(scope.name, path, whole, after.plain_digest(), timeless)]

    def _note(self, step: Callable[[], None]) -> None:
        """It is written, whether or not the ledger can be told: the next look finds it."""
        try:
            step()
        except StateUnavailable as error:
            logger.warning("没能记下自己写了什么：{}", error)
