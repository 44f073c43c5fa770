"""The Markdown tree ``memory/scopes/<scope>/``: what was acknowledged stands here."""

from __future__ import annotations

import contextlib
import stat
import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ..errors import VaultFileBroken, VaultWriteFailed
from ..markdown.escaping import escape_inline
from ..markdown.topic_file import Entry, TopicFile, behind
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory, Topic
from ..models.scope import Scope
from ..policies.vault_layout import ARCHIVE, archive_path, part_path, topic_path
from ..ports import FileReport, VaultContent
from .files import append_durably, replace_durably
from .patience import when_free
from .vault_tree import VaultTree, is_gone

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
        self._tree.open()

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
        survey = self._tree.survey(scope)
        broken = [FileReport(scope.name, path, "misnamed") for path in survey.misnamed]
        broken += [FileReport(scope.name, path, "unreadable") for path in survey.shut]
        seen: set[str] = set()
        for path in survey.files:
            relative = self._tree.relative(scope, path)
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
        self._tree.make(scope)
        self._tree.refuse_links((folder / relative).parent)
        part = 1
        while (before := self._before_more(folder / part_path(relative, part))) is None:
            part += 1
        target = part_path(relative, part)
        append_durably(folder / target, behind(before, memory).encode())
        return target

    def _before_more(self, path: Path) -> str | None:
        """What stands in the file that an entry is put behind. None for a file that is full, or
        that we could not read back what we put into.

        Raises VaultWriteFailed where no file can be looked at: no other part could be, either.
        """
        try:
            status = path.lstat()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise VaultWriteFailed(f"{path.name}: {error.strerror or error}") from error
        if not stat.S_ISREG(status.st_mode) or status.st_size > SPLIT_BYTES:
            return None
        try:
            return when_free(path.read_bytes).decode()
        except (OSError, UnicodeDecodeError):
            return None

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
            # It lives now, and that is the answer: a copy that cannot be cut from the archive, on a
            # full disk, is one as a crash leaves it.
            with contextlib.suppress(VaultWriteFailed, VaultFileBroken):
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
        self._tree.refuse_absence()
        known = self._tree.folder(scope) / relative
        self._tree.refuse_links(known)
        problem = ""
        try:
            if (found := self._tree.find(known, memory_id)) is not None:
                return known, *found
        except VaultFileBroken as error:
            problem = "" if is_gone(known) else str(error)
        survey = self._tree.survey(scope)
        for path in survey.files:
            with contextlib.suppress(VaultFileBroken):
                if path != known and (found := self._tree.find(path, memory_id)) is not None:
                    return path, *found
        if problem or survey.shut:
            raise VaultWriteFailed(problem or f"{survey.shut[0] or scope.name}: unreadable")
        raise KeyError(memory_id)


def _forgotten_at(memory: Memory) -> str:
    return next((piece for piece in memory.extra if piece.startswith(_FORGOTTEN[0])), "")
