"""``archive/``: what was forgotten, and what entries were before they were edited. Nothing here is
ever thrown away but by people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ..errors import VaultFileBroken
from ..markdown.escaping import escape_inline
from ..models.conversation import Actor
from ..models.data_models import Memory
from ..models.scope import Scope
from ..models.vault_state import KnownEntry
from ..policies.vault_layout import ARCHIVE, archive_path
from .files import replace_durably
from .vault_pen import VaultPen
from .vault_tree import VaultTree

_FORGOTTEN = ("忘记：", "忘记者：")
_EDITED = ("改写：", "改写者：")
BY_HAND = Actor("", "在文件里删除")


@dataclass(frozen=True, slots=True)
class Copy:
    """An entry in the archive: where it came from, as it was, and with what was noted there."""

    path: str
    memory: Memory
    noted: Memory
    file: Path


class VaultArchive:
    """Whoever calls holds the vault's lock."""

    def __init__(self, tree: VaultTree, pen: VaultPen) -> None:
        self._tree = tree
        self._pen = pen

    def keep_forgotten(
        self, scope: Scope, path: str, memory: Memory, *, by: Actor, at: datetime
    ) -> str:
        """The archive's path inside the scope. Raises VaultWriteFailed."""
        noted = _noted(memory, _FORGOTTEN, by, at)
        return self._pen.append_unnoted(scope, archive_path(path), noted)[0]

    def keep_edited(
        self, scope: Scope, path: str, memory: Memory, *, by: Actor, at: datetime
    ) -> None:
        """The entry as it was. Raises VaultWriteFailed."""
        noted = _noted(memory, _EDITED, by, at)
        self._pen.append_unnoted(scope, archive_path(path), noted)

    def bury(self, entries: Sequence[KnownEntry], *, at: datetime) -> None:
        """What a person deleted in the files, a file at a time. Raises VaultWriteFailed."""
        by_file: dict[tuple[str, str], list[KnownEntry]] = {}
        for entry in entries:
            by_file.setdefault(entry.file, []).append(entry)
        for (name, path), gone in by_file.items():
            if (scope := self._tree.named(name)) is not None:
                noted = [_noted(entry.memory, _FORGOTTEN, BY_HAND, at) for entry in gone]
                self._pen.append_unnoted(scope, archive_path(path), *noted)

    def forgotten(self, scope: Scope, memory_id: str) -> list[Copy]:
        """Each copy of a forgotten entry, the one forgotten last at the end."""
        found = self._copies(scope, memory_id, lambda memory: not _has(memory, _EDITED))
        return sorted(found, key=lambda copy: _moment(copy.noted, _FORGOTTEN))

    def edited(self, scope: Scope, memory_id: str) -> Copy | None:
        """The entry before its last edit."""
        found = self._copies(scope, memory_id, lambda memory: _has(memory, _EDITED))
        return max(found, key=lambda copy: _moment(copy.noted, _EDITED), default=None)

    def cut_forgotten(self, scope: Scope, memory_id: str) -> None:
        """Take all copies out. Raises VaultWriteFailed, VaultFileBroken."""
        for copy in self.forgotten(scope, memory_id):
            self._cut(copy)

    def cut_edited(self, scope: Scope, copy: Copy) -> None:
        """Take one out. Raises VaultWriteFailed, VaultFileBroken."""
        self._cut(copy)

    def _cut(self, copy: Copy) -> None:
        file = self._tree.load(copy.file)
        entry = next((entry for entry in file.entries if entry.memory == copy.noted), None)
        if entry is not None:
            replace_durably(copy.file, file.without(entry).encode())

    def _copies(self, scope: Scope, memory_id: str, wanted: Callable[[Memory], bool]) -> list[Copy]:
        archive = self._tree.folder(scope) / ARCHIVE
        found = []
        for path in self._tree.archived_files(scope):
            try:
                hit = self._tree.find(path, memory_id)
            except VaultFileBroken:
                continue
            for entry in hit[1].entries if hit else ():
                memory = entry.memory
                if memory.memory_id == memory_id and wanted(memory):
                    own = path.relative_to(archive).as_posix()
                    found.append(Copy(own, _bare(memory), memory, path))
        return found


def _noted(memory: Memory, names: tuple[str, str], by: Actor, at: datetime) -> Memory:
    when, who = names
    note = (f"{when}{at.isoformat()}", f"{who}{escape_inline(by.name or '?', also='·')}")
    return replace(memory, extra=memory.extra + note)


def _bare(memory: Memory) -> Memory:
    notes = (*_FORGOTTEN, *_EDITED)
    return replace(memory, extra=tuple(p for p in memory.extra if not p.startswith(notes)))


def _has(memory: Memory, names: tuple[str, str]) -> bool:
    return any(piece.startswith(names[0]) for piece in memory.extra)


def _moment(memory: Memory, names: tuple[str, str]) -> str:
    return next((piece for piece in memory.extra if piece.startswith(names[0])), "")
