"""The whole Markdown tree, as it is carried out: file by file, its entries, and what they leave
out."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from ..errors import VaultFileBroken
from ..models.data_models import Memory
from ..models.scope import ROLES_FOLDER, ROOT_NOTES, SHARED, Place, Scope
from ..models.transfer import EntryState, FileRecord, MemoryRecord
from ..models.vault_layout import ARCHIVE, CARRIED, SCOPES, endings_of, is_recalled, topic_of
from ..storage.files import is_link
from ..text.normalising import is_sendable
from ..vault.archive import state_of
from ..vault.folder_walk import everything
from ..vault.markdown.topic_file import behind
from ..vault.notes.root_notes import notes_in_root
from ..vault.vault_tree import VaultTree

MAX_FILE: Final = 12 * 1024 * 1024
"""Bytes of a file that is carried whole: as a line it may be twice as long."""


class StoreReader:
    """Reads the tree below ``root``, which its caller keeps as it is. Every method blocks."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._tree = VaultTree(root, contextlib.nullcontext())
        self.left_out: list[tuple[str, str]] = []
        """What the last ``records`` could not carry, and why: a stable code."""

    def scopes(self) -> tuple[str, ...]:
        """Returns the names of the scopes that have a folder."""
        return tuple(scope.name for scope, _ in self._tree.folders() if scope is not None)

    def records(self, only: Collection[str] | None = None) -> Iterator[MemoryRecord | FileRecord]:
        """Returns all that stands in the tree, of these scopes alone if some are named, file by
        file: first the file where its entries do not give it back, then its entries in order."""
        self.left_out = []
        for scope, name in self._tree.folders():
            if scope is None:
                if only is None:
                    self.left_out.append((f"{SCOPES}/{shown(name)}", "illegal_folder"))
            elif only is None or name in only:
                yield from self._scope(scope)
        if only is None:
            for name, path, place in self._notes():
                if (record := self._file(name, path, place)) is not None:
                    yield record

    def _notes(self) -> Iterator[tuple[str, str, Path]]:
        """The files of the shelves: the shelf's name, the path in it, and the path on the disk."""
        for name, folder in self._shelves():
            yield from ((name, path, folder / path) for path in self._carried(name, folder))
        for path, place in notes_in_root(self._root).items():
            yield ROOT_NOTES.name, path, place

    def _shelves(self) -> Iterator[tuple[str, Path]]:
        """The shelves' names and folders, as the disk spells them."""
        for top in CARRIED:
            folder = self._root / top
            if top == SCOPES or not folder.is_dir() or is_link(folder):
                continue
            if top == SHARED.folder:
                yield SHARED.name, folder
                continue
            for inside in sorted(folder.iterdir()):
                role = Place.of_folder(inside.name) if is_sendable(inside.name) else None
                if is_link(inside) or not inside.is_dir() or inside.name.startswith("."):
                    continue
                shelf = role if role is None or top == ROLES_FOLDER else role.soul
                if shelf is None:
                    self.left_out.append((f"{top}/{shown(inside.name)}", "illegal_role"))
                else:
                    yield shelf.name, inside

    def _carried(self, name: str, folder: Path) -> list[str]:
        """The files of a folder that are carried; what else lies there is left out."""
        endings = endings_of(folder.relative_to(self._root))
        shut: list[str] = []
        found = []
        for path in everything(folder, shut):
            if not is_sendable(path):
                self.left_out.append((f"{name}/{shown(path)}", "misnamed"))
            elif not path.lower().endswith(endings):
                self.left_out.append((f"{name}/{path}", "not_markdown"))
            else:
                found.append(path)
        self.left_out += [(f"{name}/{shown(path)}", "unreadable") for path in shut]
        return found

    def _scope(self, scope: Scope) -> Iterator[MemoryRecord | FileRecord]:
        folder = self._tree.folder(scope)
        seen: set[str] = set()
        for path in self._carried(scope.name, folder):
            entries, whole = self._entries(scope, path, seen)
            if whole and (record := self._file(scope.name, path, folder / path)) is not None:
                yield record
            yield from entries

    def _entries(self, scope: Scope, path: str, seen: set[str]) -> tuple[list[MemoryRecord], bool]:
        """What stands in a file, and whether that alone would not give it back. ``seen`` are the
        living ids of other files of the scope."""
        if not has_entries(path):  # PRIMER.md and MEMORY.md
            return [], True
        try:
            reading = self._tree.read(self._tree.folder(scope) / path)
            file = reading.parsed()
        except VaultFileBroken:
            return [], True
        memories = [entry.memory for entry in file.entries]
        topic = topic_of(path)
        records = [
            MemoryRecord(
                scope.name, path, memory, _state(path, memory), topic.value if topic else ""
            )
            for memory in memories
        ]
        alike = bool(memories) and behind("", *memories).encode() == reading.raw
        again = False
        if is_recalled(path):
            ids = [memory.memory_id for memory in memories]
            again = len(set(ids)) < len(ids) or not seen.isdisjoint(ids)
            seen.update(ids)
        return records, again or not alike

    def _file(self, name: str, path: str, place: Path) -> FileRecord | None:
        try:
            if place.stat().st_size > MAX_FILE:
                self.left_out.append((f"{name}/{path}", "too_large"))
                return None
            reading = self._tree.read(place)
        except (OSError, VaultFileBroken):
            self.left_out.append((f"{name}/{path}", "unreadable"))
            return None
        return FileRecord(name, path, reading.raw, reading.stamp[0])


def _state(path: str, memory: Memory) -> EntryState:
    if _is_archived(path):
        return state_of(memory)
    return "living" if is_recalled(path) else "conflict"


def _is_archived(path: str) -> bool:
    return path.partition("/")[0].lower() == ARCHIVE


def _is_copy(path: str) -> bool:
    """True for the archive, and for the other version of a file that two have changed."""
    return _is_archived(path) or ".conflict" in path.rpartition("/")[2].lower()


def has_entries(path: str) -> bool:
    """True for files whose entries are carried one by one."""
    return is_recalled(path) or _is_copy(path)


def shown(name: str) -> str:
    """A name that may be no text, as text."""
    return name.encode(errors="replace").decode()
