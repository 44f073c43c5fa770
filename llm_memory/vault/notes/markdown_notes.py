"""Reads the notes below the memory root. Links are not followed, nothing is written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath

from ...errors import VaultFileBroken
from ...models.decisions import RECORD_PATHS
from ...models.passages import NoteChunk, NoteSection
from ...models.scope import QUARANTINE_NAME, ROLES_FOLDER, ROOT_NOTES, SHARED, Place
from ...models.vault_layout import MEMORY_PAGE, SOUL_CHAIN, SOUL_PAGE, SOUL_VERSIONS, may_be_note
from ...storage.files import Stamp, is_link, stamp_of
from ...text.normalising import without_controls
from ..folder_walk import Listing
from ..markdown.chunks import Chunk, chunk_markdown, worth_indexing
from ..markdown.daily_note import is_session_note
from ..markdown.decision_record import records_of
from ..markdown.exclusion_list import without_list
from ..markdown.marked_block import persons_text
from ..markdown.sections import section_of
from ..markdown.topic_file import parse_file
from ..models import FileReport
from ..rules.encodings import likely_encoding
from ..vault_tree import VaultTree
from .models import NoteFolder, NotePlaces
from .root_notes import is_root_note, listed_in_root, notes_in_root

MAX_FILE = 1024 * 1024
"""Bytes. A larger file is a log or an export rather than a note."""
_REASONS = {"gb18030": "gb18030", "utf-16": "utf16"}
if sys.platform == "win32":
    _FLAGS = os.O_RDONLY | os.O_BINARY
else:  # does not block on a pipe, and does not follow a link in the last step
    _FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class MarkdownNotes:
    """Finds and reads the notes of a tree.

    Args:
        reads_root: The store is a project's, and what lies in the root itself is its notes.
            Elsewhere everybody would read it.
    """

    def __init__(self, root: Path, *, reads_root: bool = False) -> None:
        self._root = root
        self.reads_root = reads_root
        # The vault's lock guards the bot's writes; notes are only read.
        self._tree = VaultTree(root, contextlib.nullcontext())

    def places(self) -> NotePlaces | None:
        """Returns where notes may be; None while the tree is unavailable (its disk was removed,
        say)."""
        try:
            return self._places() if (self._root / "scopes").is_dir() else None
        except OSError:  # it cannot be read just now
            return None

    def _places(self) -> NotePlaces:
        places: list[Place] = [
            scope
            for scope, _ in self._tree.folders()
            if scope is not None and scope.name != QUARANTINE_NAME
        ]
        broken = []
        shared = self._root / SHARED.folder
        if is_link(shared):
            broken.append(FileReport("memory", SHARED.folder, "link"))
        elif shared.is_dir():
            places.append(SHARED)
        where = f"memory/{ROLES_FOLDER}"
        for folder in _folders(self._root / ROLES_FOLDER):
            name = folder.name.encode(errors="replace").decode()
            shelf = Place.of_folder(folder.name)
            if is_link(folder):
                broken.append(FileReport(where, name, "link"))
            elif shelf is None or shelf in places:
                broken.append(FileReport(where, name, "illegal_role"))
            else:
                places.append(shelf)
        if self.reads_root:
            places.append(ROOT_NOTES)
        return NotePlaces(tuple(places), tuple(broken), tuple(notes_in_root(self._root)))

    def list_files(self, place: Place) -> NoteFolder:
        """Returns the files of a place and their stamps."""
        top = self._tree.folder(place)
        found = self._listed(place)
        files: dict[str, Stamp] = {}
        broken: list[FileReport] = []
        inside = len(os.fspath(top)) + 1
        for path in found.files:
            relative = os.fspath(path)[inside:].replace(os.sep, "/")
            try:
                status = path.lstat()
            except OSError:  # removed since it was listed
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            if status.st_size > MAX_FILE:
                broken.append(FileReport(label_of(place), relative, "too_large"))
            else:
                files[relative] = stamp_of(status)
        if place.is_shelf:  # the vault reports those of a scope
            broken += [FileReport(label_of(place), path, "misnamed") for path in found.misnamed]
            broken += [FileReport(label_of(place), path, "unreadable") for path in found.shut]
        return NoteFolder(files, tuple(broken), whole=not found.shut)

    def _listed(self, place: Place) -> Listing:
        if place == ROOT_NOTES:
            return listed_in_root(self._root)
        found = self._tree.list_files(place, partial(may_be_note, place))
        if place.soul is not None:
            soul = self._root / place.soul.folder
            if (soul / SOUL_CHAIN).is_file() or (soul / SOUL_VERSIONS).is_dir():
                # What is in force of it stands in the prompt already, and nothing else is to.
                page = self._tree.folder(place) / SOUL_PAGE
                return replace(found, files=tuple(path for path in found.files if path != page))
        return found

    def read(self, place: Place, path: str) -> tuple[NoteChunk, ...]:
        """Returns the pieces of a note worth indexing; none for a file of entries.

        Raises VaultFileBroken.
        """
        text, modified = self._text(place, path)
        if not place.is_shelf and _holds_entries(text):
            return ()
        pieces = _named(place, path, chunk_markdown(text), modified)
        return tuple(named for _, named in pieces)

    def text(self, place: Place, path: str) -> str:
        """Returns what a file says; of a MEMORY.md, what a person wrote. Raises VaultFileBroken."""
        return self._text(place, path)[0]

    def section(self, chunk: NoteChunk) -> NoteSection | None:
        """Returns the section around a piece as its file is now; None if the piece was removed.

        Raises VaultFileBroken.
        """
        text, modified = self._text(chunk.place, chunk.path)
        if not chunk.place.is_shelf and _holds_entries(text):
            return None
        chunks = chunk_markdown(text)
        for piece, named in _named(chunk.place, chunk.path, chunks, modified):
            if named.note_id == chunk.note_id:
                section = section_of(chunks, piece)
                return NoteSection(named, section.text, section.first, section.last, section.cut)
        return None

    def _text(self, place: Place, path: str) -> tuple[str, datetime]:
        """Raises VaultFileBroken."""
        in_root = place == ROOT_NOTES
        if not (is_root_note(self._root, path) if in_root else may_be_note(place, path)):
            raise VaultFileBroken(path, "unreadable")
        target = self._tree.folder(place) / path
        inside = (target, *target.parents)
        if any(is_link(step) for step in inside[: inside.index(self._root)]):
            raise VaultFileBroken(path, "link")
        try:
            raw, modified = _bytes(target)
        except OSError as error:
            raise VaultFileBroken(path, "unreadable") from error
        if len(raw) > MAX_FILE:
            raise VaultFileBroken(path, "too_large")
        try:
            # A partial save may end in the middle of a character.
            text = without_controls(getincrementaldecoder("utf-8")().decode(raw))
        except UnicodeDecodeError as error:
            encoding = likely_encoding(raw)
            reason = _REASONS[encoding.value] if encoding is not None else "not_utf8"
            raise VaultFileBroken(path, reason) from error
        if target.name.casefold() != MEMORY_PAGE.casefold():
            return text, modified
        own = persons_text(without_list(text))
        if own is None:
            raise VaultFileBroken(path, "marks")
        return own, modified


def label_of(place: Place) -> str:
    """Returns the place's name for notices."""
    if not place.is_shelf:
        return place.name
    return "memory" if place == ROOT_NOTES else f"memory/{place.folder}"


def _folders(parent: Path) -> list[Path]:
    if is_link(parent):
        return [parent]
    try:
        return sorted(p for p in parent.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []


def _bytes(path: Path) -> tuple[bytes, datetime]:
    """Returns at most one byte more than a note may have, and when it was written. Raises
    OSError."""
    descriptor = os.open(path, _FLAGS)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123  (of a descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path.name}: not a file")
        pieces = []
        left = MAX_FILE + 1
        while left and (piece := file.read(left)):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces), _moment(status.st_mtime)


def _moment(timestamp: float) -> datetime:
    """Returns the time in the machine's zone: its date is shown."""
    try:
        return datetime.fromtimestamp(timestamp).astimezone()
    except (ValueError, OverflowError, OSError):  # some disks keep invalid dates
        return datetime.fromtimestamp(0).astimezone()


def _holds_entries(text: str) -> bool:
    """True for a file of memories: text between the entries belongs to it."""
    return "^m-" in text and bool(parse_file(text, fallback_time=_moment(0)).entries)


def _named(
    place: Place, path: str, chunks: tuple[Chunk, ...], modified: datetime
) -> Iterator[tuple[Chunk, NoteChunk]]:
    """Yields the pieces worth indexing, with their ids."""
    seen: dict[tuple[tuple[str, ...], str], int] = {}
    written = modified
    of_records = f"{place.folder}/{path}" in RECORD_PATHS
    of_role = place.is_shelf and place != SHARED
    for chunk in worth_indexing(chunks):
        if of_records and chunk.heading_lines:
            records = records_of(chunk.text)
            modified = (records[0].record.at if records else None) or written
        said = chunk.headings, chunk.text
        seen[said] = seen.get(said, 0) + 1
        identifier = _note_id(place, path, chunk.headings, chunk.text, seen[said])
        named = NoteChunk(
            note_id=identifier,
            place=place,
            path=path,
            headings=chunk.headings,
            text=chunk.text,
            first=chunk.first,
            last=chunk.last,
            modified=modified,
            heading_lines=chunk.heading_lines,
            unvouched=of_role and is_session_note(path, chunk.headings),
        )
        yield chunk, named


def _note_id(place: Place, path: str, headings: tuple[str, ...], text: str, nth: int) -> str:
    """The id of a piece. ``nth`` counts pieces of a file that agree in headings and text."""
    parts = (place.name, PurePosixPath(path).as_posix(), *headings, text, str(nth))
    # With its length before each part, no two lists of parts look the same.
    spelt = "".join(f"{len(part)}:{part}" for part in (str(len(headings)), *parts))
    digest = hashlib.sha256(spelt.encode("utf-8", "surrogatepass")).hexdigest()
    return f"n-{digest[:20]}"
