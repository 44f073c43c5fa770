"""Puts a whole Markdown tree back: while no bot has it open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import batched
from pathlib import Path
from typing import Final

from ..errors import StateUnavailable, TransferFailed, VaultFileBroken, VaultWriteFailed
from ..log import logger
from ..models.data_models import Memory, Topic
from ..models.scope import ROOT_NOTES, SOUL_FOLDER, Place, Scope
from ..models.transfer import FileRecord, MemoryRecord
from ..models.vault_layout import (
    SOUL_CHAIN,
    archive_path,
    endings_of,
    is_recalled,
    may_be_note,
    part_path,
    topic_path,
)
from ..remember.rules.gate import topic_for
from ..storage.files import is_link, replace_durably
from ..text.normalising import is_sendable
from ..vault.ledger import SqliteLedger
from ..vault.markdown.topic_file import behind
from ..vault.models import KnownEntry
from ..vault.scan import VaultScan
from ..vault.vault_tree import VaultTree
from ..vault.vault_writer import SPLIT_BYTES
from .store_reader import has_entries, shown

_LONGEST_PATH: Final = 1000
_AT_ONCE: Final = 500
_TOLD_AT_ONCE: Final = 1000
"""Entries. Where the ledger knows of nothing yet, it is no matter if a crash leaves some
untold."""


class Put(StrEnum):
    """What became of a file that was to be put into a store."""

    WRITTEN = "written"
    SAME = "same"
    DIFFERS = "differs"


class StoreWriter:
    """Writes into the tree below ``root``, whose lock the caller holds. Every method blocks.

    What it writes it tells the ledger, so that the next start takes it for known: an id that stands
    in two scopes keeps both, and what was forgotten and is brought back is not cut again.
    """

    def __init__(
        self, root: Path, ledger: SqliteLedger, chain_comes: Callable[[str], None]
    ) -> None:
        """``chain_comes`` hears of a role's folder before a soul's chain is put there, so that its
        end is not taken for a cut one. Raises StateUnavailable, and then no chain is written."""
        self._root = root
        self._tree = VaultTree(root, contextlib.nullcontext())
        self._scan = VaultScan(self._tree)
        self._ledger = ledger
        self._chain_comes = chain_comes
        self._living: dict[str, set[str]] = {}
        self._told: list[KnownEntry] = []

    def close(self) -> None:
        """Give back what was opened. Idempotent."""
        self._tell_all()
        self._ledger.close()

    def put_file(self, record: FileRecord) -> tuple[Put, list[Memory]]:
        """Write a file, if none stands there. Returns the entries that came with it, too. Raises
        TransferFailed."""
        scope, target = self._target(record.scope, record.path)
        if os.path.lexists(target):
            try:
                same = target.is_file() and target.read_bytes() == record.content
            except OSError:
                same = False
            if same and scope is not None and is_recalled(record.path):
                self._tell_again(scope, target)
            return (Put.SAME if same else Put.DIFFERS), []
        if target.relative_to(self._root).match(f"{SOUL_FOLDER}/*/{SOUL_CHAIN}"):
            try:
                self._chain_comes(target.parent.name)
            except StateUnavailable as error:
                raise TransferFailed("not_written", str(error)) from error
        self._write(scope, target, record.content, modified=record.modified)
        if scope is not None and has_entries(record.path):
            return Put.WRITTEN, self._there(scope, record.path)
        return Put.WRITTEN, []

    def put_memories(self, scope: str, path: str, entries: Sequence[MemoryRecord]) -> int:
        """Write entries of one file, in their order. Returns how many stand there now and did not.

        One whose id lives in the scope already, or lies in the archive's file word by word, is
        known and stays. Raises TransferFailed, and then none was written.
        """
        if not path:
            return sum(
                self._put(scope, own, some, split=True)
                for own, records in _byown_path(entries).items()
                for some in batched(records, _AT_ONCE)
            )
        return self._put(scope, path, entries, split=False)

    def _put(self, scope: str, path: str, entries: Sequence[MemoryRecord], *, split: bool) -> int:
        place, target = self._target(scope, path)
        if place is None or not has_entries(path):
            raise TransferFailed("illegal_place", path[:80])
        memories = [record.memory for record in entries]
        missing = self._missing(place, path, memories)
        if missing:
            self._append(place, path, target, missing, split=split)
        return len(missing)

    def _missing(self, scope: Scope, path: str, memories: Sequence[Memory]) -> list[Memory]:
        if is_recalled(path):
            known = self._ids(scope)
            fresh = {m.memory_id: m for m in reversed(memories) if m.memory_id not in known}
            return [memory for memory in memories if fresh.get(memory.memory_id) is memory]
        there = self._there(scope, path)
        return [memory for memory in memories if memory not in there]

    def _ids(self, scope: Scope) -> set[str]:
        """The ids that live in a scope."""
        if scope.name not in self._living:
            found: set[str] = set()
            for path in self._tree.list_files(scope).files:
                with contextlib.suppress(VaultFileBroken):
                    file = self._tree.load(path)
                    found.update(entry.memory.memory_id for entry in file.entries)
            self._living[scope.name] = found
        return self._living[scope.name]

    def _append(
        self, scope: Scope, path: str, target: Path, memories: Sequence[Memory], *, split: bool
    ) -> None:
        part, before = 1, b""
        while os.path.lexists(target):
            try:
                before = self._tree.read(target).raw
                before.decode()
                if not split or len(before) <= SPLIT_BYTES:
                    break
            except (VaultFileBroken, UnicodeDecodeError):
                pass  # what we could not read back is no place to write to
            part, before = part + 1, b""
            target = self._tree.folder(scope) / part_path(path, part)
        there = os.path.lexists(target)
        modified = target.stat().st_mtime_ns if there else None
        payload = before + behind(before.decode(), *memories).encode()
        fresh = {memory.memory_id for memory in memories}
        self._write(scope, target, payload, modified=modified, fresh=fresh)

    def _write(
        self,
        scope: Scope | None,
        target: Path,
        content: bytes,
        *,
        modified: int | None,
        fresh: Collection[str] | None = None,
    ) -> None:
        """``fresh``: the ids that did not stand there, None for all. Raises TransferFailed."""
        try:
            if scope is not None:
                self._tree.make(scope)
            replace_durably(target, content)
            if modified is not None:  # entries that state no time have their file's
                os.utime(target, ns=(modified, modified))
        except (VaultWriteFailed, OSError, ValueError, OverflowError) as error:
            raise TransferFailed("not_written", str(error)) from error
        if scope is not None and is_recalled(self._tree.relative(scope, target)):
            self._tell(scope, target, fresh)

    def _there(self, scope: Scope, path: str) -> list[Memory]:
        """The entries of a file; none where it cannot be read."""
        try:
            file = self._tree.load(self._tree.folder(scope) / path)
        except VaultFileBroken:
            return []
        return [entry.memory for entry in file.entries]

    def _target(self, name: str, path: str) -> tuple[Scope | None, Path]:
        """Where a file stands; no scope for one of a shelf. Raises TransferFailed."""
        if not _is_inside(path):
            raise TransferFailed("illegal_place", shown(path)[:80])
        scope = self._tree.named(name)
        if scope is not None:
            folder = self._tree.folder(scope)
        elif (shelf := _shelf(name)) is not None:
            folder = self._root / shelf.folder
            if shelf == ROOT_NOTES and not may_be_note(shelf, path):
                raise TransferFailed("illegal_place", path[:80])
        else:
            raise TransferFailed("illegal_place", shown(name)[:80])
        if not path.lower().endswith(endings_of(folder.relative_to(self._root))):
            raise TransferFailed("illegal_place", shown(path)[:80])
        target = folder.joinpath(*path.split("/"))
        way = [target, *target.parents]
        if any(is_link(step) for step in way[: way.index(self._root)]):
            raise TransferFailed("illegal_place", path[:80])
        return scope, target

    def _tell(self, scope: Scope, target: Path, named: Collection[str] | None = None) -> None:
        """Have the ledger know the entries that were put there, and no more: what a person did to
        the file before is still to be found, and the bot looks at it once."""
        try:
            seen = self._scan.seen(scope, self._tree.read(target))
        except VaultFileBroken:
            return
        fresh = [e for e in seen.entries if named is None or e.memory.memory_id in named]
        if scope.name in self._living:
            self._living[scope.name].update(entry.memory.memory_id for entry in fresh)
        self._told += [KnownEntry(*seen.key, e.memory, e.digest) for e in fresh]
        if len(self._told) > _TOLD_AT_ONCE or not self._is_fresh:
            self._tell_all()

    @cached_property
    def _is_fresh(self) -> bool:
        """True if the ledger knows of nothing yet."""
        try:
            self._ledger.open()
            return not self._ledger.counts()
        except StateUnavailable:
            return False

    def _tell_again(self, scope: Scope, target: Path) -> None:
        """A restore that was cut off wrote it, and did not tell the ledger."""
        with contextlib.suppress(StateUnavailable):
            key = scope.name, self._tree.relative(scope, target)
            if self._is_fresh or self._ledger.file(key) is None:
                self._tell(scope, target)

    def _tell_all(self) -> None:
        entries, self._told = self._told, []
        try:
            if entries:
                self._ledger.record(entries=entries)
        except StateUnavailable as error:
            logger.warning("state_not_written", error=error)


def _byown_path(records: Sequence[MemoryRecord]) -> dict[str, list[MemoryRecord]]:
    found: dict[str, list[MemoryRecord]] = {}
    for record in records:
        found.setdefault(own_path(record), []).append(record)
    return found


def own_path(record: MemoryRecord) -> str:
    """Where an entry goes that does not say."""
    memory = record.memory
    try:
        topic = Topic(record.topic)
    except ValueError:
        topic = topic_for(memory)
    path = topic_path(topic, memory.created_at)
    return path if record.state == "living" else archive_path(path)


def _shelf(name: str) -> Place | None:
    shelf = Place.named(name) if is_sendable(name) else None
    return shelf if shelf is not None and shelf.folder else None  # a person's has no folder


def _is_inside(path: str) -> bool:
    """True for a file below the folder, on this system."""
    steps = path.split("/")
    odd = "\\:" if os.name == "nt" else ""
    return (
        len(path) <= _LONGEST_PATH
        and is_sendable(path)
        and not any(character in path for character in "\0" + odd)
        and all(step and not step.startswith(".") for step in steps)
    )
