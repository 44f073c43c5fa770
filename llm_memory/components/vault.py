"""The Markdown tree ``memory/scopes/<scope>/``: what was acknowledged stands here."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ..errors import VaultFileBroken, VaultWriteFailed
from ..markdown.entry import render
from ..markdown.escaping import escape_inline
from ..markdown.topic_file import Entry, TopicFile
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory, Topic
from ..models.scope import Scope
from ..policies.vault_layout import ARCHIVE, archive_path, part_path, topic_path
from ..ports import FileReport, VaultContent
from .files import append_durably, replace_durably
from .vault_tree import VaultTree

SPLIT_BYTES = 256 * 1024
"""A topic file that has grown past this is left alone, and the next part begun."""

_FORGOTTEN = ("忘记：", "忘记者：")


class MarkdownVault:
    """Implements the ``Vault`` port. One lock: a reader never sees half an entry of ours."""

    def __init__(self, root: Path) -> None:
        self._lock = threading.RLock()
        self._tree = VaultTree(root, self._lock)

    def open(self) -> None:
        """Make the tree. Raises VaultWriteFailed."""
        self._tree.make()

    def ensure(self, scope: Scope) -> None:
        self._tree.make(scope)

    def scopes(self) -> tuple[Scope, ...]:
        return tuple(scope for scope, _ in self._tree.folders() if scope is not None)

    def strays(self) -> tuple[FileReport, ...]:
        """Folders that are no scope: nobody reads them until their name is legal."""
        return tuple(
            FileReport(name, "", "illegal_folder")
            for scope, name in self._tree.folders()
            if scope is None
        )

    def read(self, scope: Scope) -> VaultContent:
        memories: list[StoredMemory] = []
        broken = [FileReport(scope.name, p, "misnamed") for p in self._tree.misnamed(scope)]
        seen: set[str] = set()
        for path in self._tree.files(scope):
            relative = path.relative_to(self._tree.folder(scope)).as_posix()
            try:
                file = self._tree.load(path)
            except VaultFileBroken as error:
                broken.append(FileReport(scope.name, relative, error.reason))
                continue
            for entry in file.entries:
                if entry.memory.memory_id in seen:
                    broken.append(FileReport(scope.name, relative, "duplicate_id"))
                    continue
                seen.add(entry.memory.memory_id)
                memories.append(StoredMemory(scope, relative, entry.memory))
        return VaultContent(tuple(memories), tuple(broken))

    def append(self, scope: Scope, topic: Topic, memory: Memory) -> StoredMemory:
        with self._lock:
            relative = self._append_to(scope, topic_path(topic, memory.created_at), memory)
        return StoredMemory(scope, relative, memory)

    def _append_to(self, scope: Scope, relative: str, memory: Memory) -> str:
        """To the first part of ``relative`` that takes more: the part's path."""
        folder = self._tree.folder(scope)
        part = 1
        while (before := self._before_more(folder / part_path(relative, part))) is None:
            part += 1
        target = part_path(relative, part)
        self._tree.refuse_links((folder / target).parent)
        gap = b"" if not before else b"\n" if before.endswith(b"\n") else b"\n\n"
        append_durably(folder / target, gap + render(memory).encode())
        return target

    def _before_more(self, path: Path) -> bytes | None:
        """What stands in the file that an entry is put behind. None for a file that is full, or
        that we could not read back what we put into."""
        try:
            if not path.exists(follow_symlinks=False):
                return b""
            if path.is_symlink() or not path.is_file() or path.stat().st_size > SPLIT_BYTES:
                return None
            before = path.read_bytes()
            before.decode()
        except (OSError, UnicodeDecodeError):
            return None
        return before

    def current(self, stored: StoredMemory) -> StoredMemory | None:
        with self._lock:
            try:
                path, _, entry = self._locate(stored.scope, stored.path, stored.memory.memory_id)
            except KeyError:
                return None
        return StoredMemory(stored.scope, self._tree.relative(stored.scope, path), entry.memory)

    def replace(self, stored: StoredMemory, memory: Memory) -> StoredMemory:
        with self._lock:
            path, file, entry = self._locate(stored.scope, stored.path, stored.memory.memory_id)
            # An entry without a time has its file's, which moves.
            if replace(entry.memory, created_at=stored.memory.created_at) != stored.memory:
                raise KeyError(stored.memory.memory_id)  # a person's edit wins
            replace_durably(path, file.with_replaced(entry, memory).encode())
        return StoredMemory(stored.scope, self._tree.relative(stored.scope, path), memory)

    def archive(self, stored: StoredMemory, *, by: Actor, at: datetime) -> str:
        """Into the archive first, then out of the living file: a crash between loses nothing."""
        with self._lock:
            path, file, entry = self._locate(stored.scope, stored.path, stored.memory.memory_id)
            note = (f"忘记：{at.isoformat()}", f"忘记者：{escape_inline(by.name or '?', also='·')}")
            noted = replace(entry.memory, extra=entry.memory.extra + note)
            target = archive_path(self._tree.relative(stored.scope, path))
            target = self._append_to(stored.scope, target, noted)
            replace_durably(path, file.without(entry).encode())
        return target

    def restore(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        with self._lock:
            copies = self._archived(scope, memory_id)
            if not copies:
                return None
            # A crash while it was forgotten may have left older copies, or the living entry
            # itself: that one wins.
            path, entry = copies[-1]
            archive = self._tree.folder(scope) / ARCHIVE
            stored = self._living(scope, memory_id)
            if stored is None:
                kept = tuple(p for p in entry.memory.extra if not p.startswith(_FORGOTTEN))
                memory = replace(entry.memory, extra=kept)
                relative = self._append_to(scope, path.relative_to(archive).as_posix(), memory)
                stored = StoredMemory(scope, relative, memory)
            for copied in dict.fromkeys(path for path, _ in copies):
                self._cut_all(copied, memory_id)
        return stored

    def _living(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        found = (s for s in self.read(scope).memories if s.memory.memory_id == memory_id)
        return next(found, None)

    def _cut_all(self, path: Path, memory_id: str) -> None:
        file = self._tree.load(path)
        while (entry := file.find(memory_id)) is not None:
            text = file.without(entry)
            replace_durably(path, text.encode())
            file = self._tree.load(path)

    def archived(self, scope: Scope, memory_id: str) -> Memory | None:
        """The forgotten entry as it stands in the archive."""
        copies = self._archived(scope, memory_id)
        return copies[-1][1].memory if copies else None

    def _archived(self, scope: Scope, memory_id: str) -> list[tuple[Path, Entry]]:
        """Each copy of a forgotten entry, the one forgotten last at the end."""
        found = []
        for path in self._tree.archived_files(scope):
            try:
                file = self._tree.load(path)
            except VaultFileBroken:
                continue
            found += [(path, e) for e in file.entries if e.memory.memory_id == memory_id]
        return sorted(found, key=lambda copy: _forgotten_at(copy[1].memory))

    def _locate(self, scope: Scope, relative: str, memory_id: str) -> tuple[Path, TopicFile, Entry]:
        """The entry as it stands now, also if a person moved it to another file of the scope.

        Raises KeyError only if it is gone, not if the file it stood in cannot be read just now.
        """
        known = self._tree.folder(scope) / relative
        unreadable: VaultFileBroken | None = None
        for path in [known, *(path for path in self._tree.files(scope) if path != known)]:
            try:
                file = self._tree.load(path)
            except VaultFileBroken as error:
                unreadable = error if path == known and path.exists() else unreadable
                continue
            entry = file.find(memory_id)
            if entry is not None:
                return path, file, entry
        if unreadable is not None:
            raise VaultWriteFailed(str(unreadable)) from unreadable
        raise KeyError(memory_id)


def _forgotten_at(memory: Memory) -> str:
    return next((piece for piece in memory.extra if piece.startswith(_FORGOTTEN[0])), "")
