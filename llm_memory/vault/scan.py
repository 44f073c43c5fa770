"""Lists the files of the vault and reads those that are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from stat import S_ISREG

from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.data_models import Memory, StoredMemory
from ..models.scope import Scope
from ..models.vault_layout import is_topic_file
from ..storage.files import Stamp, stamp_of
from .folder_walk import Listing
from .markdown.new_entries import plain_lines, with_ids
from .markdown.topic_file import TopicFile, digest, parse_file
from .models import (
    FileKey,
    FileReport,
    FoundFile,
    KnownFile,
    Look,
    SeenEntry,
    SeenFile,
    VaultContent,
)
from .vault_tree import MAX_FILE_BYTES, FileSnapshot, VaultTree

OUTGROWN = "outgrown"
"""Why a file is not read that its ids would take beyond the limit."""
_ID_BYTES = 20
"""The bytes that an id takes in its line."""


class VaultScan:
    """Writes nothing."""

    def __init__(self, tree: VaultTree) -> None:
        self._tree = tree

    def is_absent(self) -> bool:
        """True if the tree is gone, or an empty disk stands in its place."""
        try:
            self._tree.require_disk()
        except VaultWriteFailed:
            return True
        return False

    def look(self) -> Look:
        """Returns every file whose entries may be recalled, by name and stamp."""
        if self.is_absent():
            return Look(absent=True)
        files: list[FoundFile] = []
        broken: list[FileReport] = []
        hidden: list[FileKey] = []
        scopes: list[Scope] = []
        for scope, name in self._tree.folders():
            if scope is None:
                broken.append(FileReport(name, "", "illegal_folder"))
                continue
            scopes.append(scope)
            found = self._tree.stamps(scope)
            broken += [FileReport(scope.name, path, "misnamed") for path in found.misnamed]
            broken += [FileReport(scope.name, path, "unreadable") for path in found.shut]
            hidden += [(scope.name, path) for path in found.shut]
            files += [FoundFile(scope, path, stamp) for path, stamp in found.files]
        if self.is_absent():  # since then: what was not found may still be there
            return Look(absent=True)
        return Look(tuple(scopes), tuple(files), tuple(broken), tuple(hidden))

    def read(self, scope: Scope, listing: Listing) -> VaultContent:
        """Returns the entries of these files of a scope; of several with one id the first."""
        memories: list[StoredMemory] = []
        broken = [FileReport(scope.name, path, "misnamed") for path in listing.misnamed]
        broken += [FileReport(scope.name, path, "unreadable") for path in listing.shut]
        seen: set[str] = set()
        for path in listing.files:
            relative = self._tree.relative(scope, path)
            try:
                file = self._tree.read(path, limit=MAX_FILE_BYTES).parsed()
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

    def stamps(self, keys: Iterable[FileKey]) -> dict[FileKey, Stamp | None]:
        """Returns the present stamps of files, None where there is none: a folder or a link may
        stand in its place."""
        found: dict[FileKey, Stamp | None] = {}
        for name, path in keys:
            scope = self._tree.named(name)
            try:
                status = None if scope is None else (self._tree.folder(scope) / path).lstat()
            except OSError:
                status = None
            if status is not None and not S_ISREG(status.st_mode):
                status = None
            found[name, path] = None if status is None else stamp_of(status)
        return found

    def see(
        self, found_files: Iterable[FoundFile], known: dict[FileKey, KnownFile]
    ) -> Iterator[SeenFile | FileReport | KnownFile]:
        """Yields one answer for each file: its content, a report, or the ``known`` record of an
        unchanged file."""
        for found in found_files:
            path = self._tree.folder(found.scope) / found.path
            before = known.get(found.key)
            try:
                snapshot = self._tree.read(path, limit=MAX_FILE_BYTES)
                same = before is not None and before.digest == digest(snapshot.raw)
                if before is not None and same and not before.timeless:
                    yield before
                elif before is not None and same:
                    yield self._as_known(found.scope, snapshot, before)
                else:
                    yield self.seen(found.scope, snapshot)
            except VaultFileBroken as error:
                yield FileReport(found.scope.name, found.path, error.reason)

    def _as_known(self, scope: Scope, snapshot: FileSnapshot, known: KnownFile) -> SeenFile:
        """Returns an unchanged file without the digests that a comparison would need."""
        entries = snapshot.parsed().entries
        return SeenFile(
            scope,
            known.path,
            known.digest,
            known.plain,
            tuple(SeenEntry(entry.memory, "") for entry in entries),
            timeless=known.timeless,
        )

    def seen(self, scope: Scope, snapshot: FileSnapshot) -> SeenFile:
        """Returns a file as it was read. Raises VaultFileBroken."""
        file = snapshot.parsed()
        path = self._tree.relative(scope, snapshot.path)
        unnamed = _unnamed(file, path, snapshot)
        if len(snapshot.raw) + len(unnamed) * _ID_BYTES > MAX_FILE_BYTES:
            raise VaultFileBroken(snapshot.path.name, OUTGROWN)
        return SeenFile(
            scope,
            path,
            digest(snapshot.raw),
            file.plain_digest(),
            tuple(SeenEntry(entry.memory, file.digest(entry)) for entry in file.entries),
            tuple(unnamed),
            timeless=any(entry.timeless for entry in file.entries),
            empty=not any(line.strip() for line in file.lines),
        )


def _unnamed(file: TopicFile, path: str, snapshot: FileSnapshot) -> list[Memory]:
    """Returns a person's entries without an id, as memories."""
    if not is_topic_file(path):
        return []
    lines = plain_lines(file)
    if not lines:
        return []
    named = {line: f"m-{number:08d}" for number, line in enumerate(lines)}
    trial = parse_file(with_ids(file, named), fallback_time=snapshot.modified)
    found = {entry.memory.memory_id: entry.memory for entry in trial.entries}
    return [found[name] for name in named.values() if name in found]
