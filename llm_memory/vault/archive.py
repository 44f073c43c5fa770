"""``archive/``: forgotten entries, and former versions of edited ones. The bot deletes from it only
when a person asked for it."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory
from ..models.scope import Place, Scope
from ..models.transfer import EntryState
from ..models.vault_layout import ARCHIVE, archive_path
from ..storage.files import ChangedMeanwhile, replace_durably
from .markdown.escaping import escape_inline
from .markdown.topic_file import Entry
from .models import KnownEntry
from .vault_tree import VaultTree
from .vault_writer import VaultWriter

_FORGOTTEN = ("忘记：", "忘记者：")
_EDITED = ("改写：", "改写者：")
BY_HAND = Actor("", "在文件里删除")
SUPERSEDED_BY = "被 m-"
"""The actor noted for an entry that another memory replaced."""


@dataclass(frozen=True, slots=True)
class Copy:
    """An entry in the archive: its former place, its former state, and the entry as noted there."""

    path: str
    memory: Memory
    noted: Memory
    file: Path


class VaultArchive:
    """The caller holds the vault's lock."""

    def __init__(self, tree: VaultTree, writer: VaultWriter) -> None:
        self._tree = tree
        self._writer = writer

    def keep_forgotten(
        self, place: Place, path: str, *memories: Memory, by: Actor, at: datetime
    ) -> str:
        """Returns the archive's path inside the place. Raises VaultWriteFailed."""
        noted = [_noted(memory, _FORGOTTEN, by, at) for memory in memories]
        return self._writer.append_unnoted(place, archive_path(path), *noted)

    def keep_edited(
        self, place: Place, path: str, memory: Memory, *, by: Actor, at: datetime
    ) -> None:
        """Archive an entry's former version. Raises VaultWriteFailed."""
        noted = _noted(memory, _EDITED, by, at)
        self._writer.append_unnoted(place, archive_path(path), noted)

    def archive_deleted(self, entries: Sequence[KnownEntry], *, at: datetime) -> None:
        """Archive what a person deleted in the files, file by file. Raises VaultWriteFailed."""
        by_file: dict[tuple[str, str], list[KnownEntry]] = {}
        for entry in entries:
            by_file.setdefault(entry.file, []).append(entry)
        for (name, path), gone in by_file.items():
            if (scope := self._tree.named(name)) is not None:
                noted = [_noted(entry.memory, _FORGOTTEN, BY_HAND, at) for entry in gone]
                self._writer.append_unnoted(scope, archive_path(path), *noted)

    def forgotten(self, scope: Scope, memory_ids: Collection[str]) -> dict[str, list[Copy]]:
        """Returns each copy of forgotten entries by their ids, the one forgotten last at the
        end."""
        found: dict[str, list[Copy]] = {}
        for copy in self._copies(scope, memory_ids):
            found.setdefault(copy.memory.memory_id, []).append(copy)
        return {name: _in_order(some, _FORGOTTEN) for name, some in found.items()}

    def archived_since_append(self, entries: Sequence[KnownEntry]) -> dict[tuple[str, str], bool]:
        """Returns, by scope and id, which of these were forgotten since they were last appended;
        True if the archive has the same words."""
        by_scope: dict[str, dict[str, KnownEntry]] = {}
        for entry in entries:
            by_scope.setdefault(entry.scope, {})[entry.memory_id] = entry
        found: dict[tuple[str, str], bool] = {}
        for name, some in by_scope.items():
            scope = self._tree.named(name)
            for copy in self._copies(scope, some) if scope is not None else ():
                entry = some[copy.memory.memory_id]
                # An older copy is one that could not be cut when the entry was restored.
                if not entry.appended or _moment(copy.noted, _FORGOTTEN) + 1 > entry.appended_at:
                    key = name, entry.memory_id
                    found[key] = found.get(key, False) or _same_words(copy.memory, entry.memory)
        return found

    def lately(self, scope: Scope, since: float) -> list[tuple[Copy, float]]:
        """Returns what was forgotten by command after ``since``, and when: seconds since 1970."""
        found = []
        for copy in self._copies(scope, None, since=since):
            at = _moment(copy.noted, _FORGOTTEN)
            if at >= since and _FORGOTTEN[1] + BY_HAND.name not in copy.noted.extra:
                found.append((copy, at))
        return found

    def holds(
        self, scope: Scope, memory_ids: Collection[str], *, by: Actor | None = None
    ) -> set[str]:
        """Returns which of them were forgotten, by any actor or by ``by``. Reads each file once."""
        noted = "" if by is None else _noted_by(_FORGOTTEN, by)
        return {
            copy.memory.memory_id
            for copy in self._copies(scope, memory_ids)
            if not noted or noted in copy.noted.extra
        }

    def ids(self) -> set[str]:
        """Returns every id in the archives of all scopes, without parsing them."""
        found: set[str] = set()
        for scope, _ in self._tree.folders():
            for path in self._tree.archived_files(scope) if scope is not None else ():
                with contextlib.suppress(VaultFileBroken):
                    found |= self._tree.read(path, patient=True).ids
        return found

    def edited(self, scope: Scope, memory_id: str) -> Copy | None:
        """Returns the entry before its last edit."""
        found = _in_order(self._copies(scope, [memory_id], edited=True), _EDITED)
        return found[-1] if found else None

    def all(self, scope: Scope) -> list[Memory]:
        """Returns every archived entry, former versions included. Raises VaultFileBroken for a file
        that cannot be read."""
        return [
            entry.memory
            for path in self._every_file(scope)
            for entry in self._tree.read(path, patient=True).parsed().entries
        ]

    def purge(
        self, scope: Scope, unwanted: Callable[[Memory], bool], memory_ids: Collection[str]
    ) -> None:
        """Delete every copy that is ``unwanted``, and these ids wherever another entry names them.

        Raises VaultWriteFailed, VaultFileBroken, ChangedMeanwhile; the other files are purged all
        the same.
        """
        named = any_of(memory_ids)
        failure: Exception | None = None
        for path in self._every_file(scope):
            try:
                snapshot = self._tree.read(path, patient=True)
                file = snapshot.parsed()
                gone = [entry for entry in file.entries if unwanted(_without_notes(entry.memory))]
                left = file.without(*gone).encode() if gone else snapshot.raw
                left = named.sub(b"m-", left)
                if left != snapshot.raw:
                    replace_durably(path, left, snapshot.stamp)
            except (VaultWriteFailed, VaultFileBroken, ChangedMeanwhile) as error:
                failure = error
        if failure is not None:
            raise failure

    def _every_file(self, scope: Scope) -> tuple[Path, ...]:
        """Raises VaultFileBroken where a folder cannot be listed: it may hold any."""
        shut: list[str] = []
        files = self._tree.archived_files(scope, shut)
        if shut:
            raise VaultFileBroken(archive_path(shut[0]), "unreadable")
        return files

    def cut_forgotten(
        self, copies: Mapping[str, Sequence[Copy]], back: Mapping[str, StoredMemory]
    ) -> None:
        """Delete the copies of entries that are ``back``; one with different content is kept.
        Raises VaultWriteFailed, VaultFileBroken."""
        by_file: dict[Path, list[Copy]] = {}
        for name, stored in back.items():
            for copy in copies[name]:
                if _same_words(copy.memory, stored.memory):
                    by_file.setdefault(copy.file, []).append(copy)
        for some in by_file.values():
            self.cut(*some)

    def cut(self, *copies: Copy) -> None:
        """Delete copies in one file, unless another program writes to it at this moment: its write
        and the copies are kept then. Raises VaultWriteFailed, VaultFileBroken."""
        path = copies[0].file
        snapshot = self._tree.read(path, patient=True)
        file = snapshot.parsed()
        left, gone = Counter(copy.noted for copy in copies), list[Entry]()
        # Of several equal copies the last one, which keeps the order of the others.
        for entry in reversed(file.entries):
            if left[entry.memory]:
                left[entry.memory] -= 1
                gone.append(entry)
        if gone:
            with contextlib.suppress(ChangedMeanwhile):
                replace_durably(path, file.without(*gone).encode(), snapshot.stamp)

    def move(self, source: Scope, target: Scope, memory_ids: Collection[str] | None) -> list[str]:
        """Move the copies of these entries (None: of any) to another scope's archive. Returns their
        ids. A crash in between leaves a copy in both. Raises VaultWriteFailed, VaultFileBroken."""
        by_file: dict[Path, list[Copy]] = {}
        for edited in (True, False):
            for copy in self._copies(source, memory_ids, edited=edited):
                by_file.setdefault(copy.file, []).append(copy)
        for some in by_file.values():
            noted = [copy.noted for copy in some]
            self._writer.append_unnoted(target, archive_path(some[0].path), *noted)
            self.cut(*some)
        return [copy.memory.memory_id for some in by_file.values() for copy in some]

    def _copies(
        self,
        scope: Scope,
        memory_ids: Collection[str] | None,
        *,
        edited: bool = False,
        since: float = 0.0,
    ) -> list[Copy]:
        """Returns entries of these ids (None: of any), file by file, in the order of their lines:
        with ``edited`` former versions, else forgotten ones. ``since``: only of files that were
        written after it."""
        archive = self._tree.folder(scope) / ARCHIVE
        names = None if memory_ids is None else {*memory_ids}
        found = []
        for path in self._tree.archived_files(scope):
            if since and _written(path) < since:
                continue
            try:
                snapshot = self._tree.read(path, patient=True)
                # Parsing takes long.
                if names is not None and names.isdisjoint(snapshot.ids):
                    continue
                memories = [entry.memory for entry in snapshot.parsed().entries]
            except VaultFileBroken:
                continue
            own = path.relative_to(archive).as_posix()
            found += [
                Copy(own, _without_notes(memory), memory, path)
                for memory in memories
                if (names is None or memory.memory_id in names) and _has(memory, _EDITED) == edited
            ]
        return found


def any_of(memory_ids: Collection[str]) -> re.Pattern[bytes]:
    """Returns a pattern that finds these ids in a file, and nothing where there are none."""
    names = "|".join(re.escape(name) for name in memory_ids)
    return re.compile(rf"(?:{names})(?![0-9a-z])".encode() if names else rb"(?!)")


def _written(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _in_order(copies: Sequence[Copy], names: tuple[str, str]) -> list[Copy]:
    """Returns the copies, the last written at the end. Inside a file the place decides, for clocks
    can be set back and two changes fall into one second; between files the noted time."""
    by_file: dict[Path, list[Copy]] = {}
    for copy in copies:
        by_file.setdefault(copy.file, []).append(copy)
    files = sorted(by_file.values(), key=lambda some: _moment(some[-1].noted, names))
    return [copy for some in files for copy in some]


def _same_words(one: Memory, other: Memory) -> bool:
    """True if two entries are equal but for strength and time, which may be the file's."""
    return replace(one, created_at=other.created_at, strength=other.strength) == other


def state_of(memory: Memory) -> EntryState:
    """Returns the state of an archived entry, from what was noted there."""
    if _has(memory, _EDITED):
        return "edited"
    by = _FORGOTTEN[1] + SUPERSEDED_BY
    replaced = any(piece.startswith(by) for piece in memory.extra)
    return "superseded" if replaced else "forgotten"


def _noted(memory: Memory, names: tuple[str, str], by: Actor, at: datetime) -> Memory:
    return replace(
        memory, extra=(*memory.extra, f"{names[0]}{at.isoformat()}", _noted_by(names, by))
    )


def _noted_by(names: tuple[str, str], by: Actor) -> str:
    return f"{names[1]}{escape_inline(by.name or '?', also='·')}"


def _without_notes(memory: Memory) -> Memory:
    notes = (*_FORGOTTEN, *_EDITED)
    return replace(memory, extra=tuple(p for p in memory.extra if not p.startswith(notes)))


def _has(memory: Memory, names: tuple[str, str]) -> bool:
    return any(piece.startswith(names[0]) for piece in memory.extra)


def _moment(memory: Memory, names: tuple[str, str]) -> float:
    """Returns when it was noted, seconds since 1970; 0 if that is unreadable."""
    text = next((piece for piece in memory.extra if piece.startswith(names[0])), "")
    try:
        return datetime.fromisoformat(text.removeprefix(names[0]).strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
