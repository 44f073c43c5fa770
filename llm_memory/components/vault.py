"""The Markdown tree ``memory/scopes/<scope>/``: what was acknowledged stands here."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import InvalidScope, VaultFileBroken, VaultWriteFailed
from ..markdown.entry import render
from ..markdown.escaping import escape_inline
from ..markdown.topic_file import Entry, TopicFile, parse_file
from ..models.conversation import Actor
from ..models.data_models import Memory, StoredMemory, Topic
from ..models.scope import Scope
from ..policies.vault_layout import ARCHIVE, archive_path, is_recalled, topic_path
from ..ports import FileReport, VaultContent
from .files import append_durably, make_folder, replace_durably

SPLIT_BYTES = 256 * 1024
"""A topic file that has grown past this is left alone, and the next part begun."""

_FORGOTTEN = ("忘记：", "忘记者：")


class MarkdownVault:
    """Implements the ``Vault`` port. One lock: a reader never sees half an entry of ours."""

    def __init__(self, root: Path) -> None:
        self._scopes = root / "scopes"
        self._lock = threading.RLock()

    def open(self) -> None:
        """Make the tree. Raises VaultWriteFailed."""
        _make(self._scopes)

    def ensure(self, scope: Scope) -> None:
        _make(self._folder(scope))

    def scopes(self) -> tuple[Scope, ...]:
        return tuple(scope for scope, _ in self._folders() if scope is not None)

    def strays(self) -> tuple[FileReport, ...]:
        """Folders that are no scope: nobody reads them until their name is legal."""
        return tuple(
            FileReport(name, "", "illegal_folder")
            for scope, name in self._folders()
            if scope is None
        )

    def _folders(self) -> list[tuple[Scope | None, str]]:
        found: list[tuple[Scope | None, str]] = []
        if not self._scopes.is_dir():
            return found
        for folder in sorted(self._scopes.iterdir()):
            if folder.name.startswith(".") or not folder.is_dir():
                continue
            try:
                scope = None if folder.is_symlink() else Scope.parse(folder.name, derived=True)
            except InvalidScope:
                scope = None
            found.append((scope, folder.name))
        return found

    def read(self, scope: Scope) -> VaultContent:
        memories: list[StoredMemory] = []
        broken: list[FileReport] = []
        seen: set[str] = set()
        for path in self._files(scope):
            relative = path.relative_to(self._folder(scope)).as_posix()
            try:
                file = self._load(path)
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

    def _files(self, scope: Scope) -> Iterator[Path]:
        folder = self._folder(scope)
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not is_recalled(path.relative_to(folder).as_posix()):
                continue
            yield path

    def append(self, scope: Scope, topic: Topic, memory: Memory) -> StoredMemory:
        with self._lock:
            part = 1
            while True:
                relative = topic_path(topic, memory.created_at, part)
                if self._takes_more(self._folder(scope) / relative):
                    break
                part += 1
            self._append_to(scope, relative, memory)
        return StoredMemory(scope, relative, memory)

    def _takes_more(self, path: Path) -> bool:
        """False for a part that is full, or that we could not read back what we put into."""
        if not path.exists():
            return True
        if not path.is_file() or path.stat().st_size > SPLIT_BYTES:
            return False
        try:
            self._load(path)
        except VaultFileBroken:
            return False
        return True

    def _append_to(self, scope: Scope, relative: str, memory: Memory) -> None:
        path = self._folder(scope) / relative
        before = path.read_bytes()[-2:] if path.exists() else b""
        gap = b"" if not before else b"\n" if before.endswith(b"\n") else b"\n\n"
        append_durably(path, gap + render(memory).encode())

    def replace(self, stored: StoredMemory, memory: Memory) -> StoredMemory:
        with self._lock:
            path, file, entry = self._locate(stored.scope, stored.path, stored.memory.memory_id)
            replace_durably(path, file.with_replaced(entry, memory).encode())
        return StoredMemory(stored.scope, stored.path, memory)

    def archive(self, stored: StoredMemory, *, by: Actor, at: datetime) -> str:
        """Into the archive first, then out of the living file: a crash between loses nothing."""
        with self._lock:
            path, file, entry = self._locate(stored.scope, stored.path, stored.memory.memory_id)
            note = (f"忘记：{at.isoformat()}", f"忘记者：{escape_inline(by.name or '?', also='·')}")
            target = archive_path(stored.path)
            self._append_to(
                stored.scope, target, replace(entry.memory, extra=entry.memory.extra + note)
            )
            replace_durably(path, file.without(entry).encode())
        return target

    def restore(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        with self._lock:
            archive = self._folder(scope) / ARCHIVE
            for path in sorted(archive.rglob("*.md")):
                try:
                    file = self._load(path)
                except VaultFileBroken:
                    continue
                entry = file.find(memory_id)
                if entry is not None:
                    return self._bring_back(scope, path, file, entry)
        return None

    def archived(self, scope: Scope, memory_id: str) -> Memory | None:
        """The forgotten entry as it stands in the archive."""
        for path in sorted((self._folder(scope) / ARCHIVE).rglob("*.md")):
            try:
                entry = self._load(path).find(memory_id)
            except VaultFileBroken:
                continue
            if entry is not None:
                return entry.memory
        return None

    def _bring_back(self, scope: Scope, path: Path, file: TopicFile, entry: Entry) -> StoredMemory:
        relative = path.relative_to(self._folder(scope) / ARCHIVE).as_posix()
        kept = tuple(piece for piece in entry.memory.extra if not piece.startswith(_FORGOTTEN))
        memory = replace(entry.memory, extra=kept)
        self._append_to(scope, relative, memory)
        replace_durably(path, file.without(entry).encode())
        return StoredMemory(scope, relative, memory)

    def _locate(self, scope: Scope, relative: str, memory_id: str) -> tuple[Path, TopicFile, Entry]:
        """The entry as it stands now, also if a person moved it to another file of the scope."""
        known = self._folder(scope) / relative
        for path in [known, *(path for path in self._files(scope) if path != known)]:
            try:
                file = self._load(path)
            except VaultFileBroken:
                continue
            entry = file.find(memory_id)
            if entry is not None:
                return path, file, entry
        raise KeyError(memory_id)

    def _load(self, path: Path) -> TopicFile:
        try:
            with self._lock:
                raw = path.read_bytes()
                modified = path.stat().st_mtime
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise VaultFileBroken(path.name, "not_utf8") from error
        except OSError as error:
            raise VaultFileBroken(path.name, "unreadable") from error
        return parse_file(text, fallback_time=datetime.fromtimestamp(modified, UTC))

    def _folder(self, scope: Scope) -> Path:
        return self._scopes / scope.name


def _make(folder: Path) -> None:
    try:
        make_folder(folder)
    except OSError as error:
        raise VaultWriteFailed(f"{folder.name}: {error.strerror or error}") from error
