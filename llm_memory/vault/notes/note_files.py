"""Tracks what was read of each note file, what to read again, and the notices about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...catalogue.rules.passage_text import embedded_passage
from ...errors import VaultFileBroken
from ...models.passages import NoteChunk
from ...models.scope import Place
from ...models.status import Notice
from ...runtime.notice_board import NoticeBoard
from ...storage.files import Stamp
from ...text.scripts import fold
from ..models import FileReport
from .markdown_notes import MarkdownNotes, label_of
from .models import NoteFolder

TOO_MANY = "too_many"
"""The problem code of a file that is skipped but not broken."""
UNREADABLE = "unreadable"
_NEVER: Stamp = (-1, -1, -1)
_MOST_REPORTS = 20
"""The most warnings about one place: a thousand broken files must not post a thousand notices."""


@dataclass(frozen=True, slots=True)
class NoteReading:
    """The pieces of a file with their folded texts, or why there are none."""

    path: str
    chunks: tuple[NoteChunk, ...] = ()
    folded: tuple[str, ...] = ()
    problem: str = ""


def read_files(source: MarkdownNotes, place: Place, paths: Iterable[str]) -> list[NoteReading]:
    """Returns a reading for each path, also for unreadable files. Blocks."""
    found = []
    for path in paths:
        try:
            chunks = source.read(place, path)
        except VaultFileBroken as error:
            found.append(NoteReading(path, problem=error.reason))
        else:
            found.append(
                NoteReading(path, chunks, tuple(fold(embedded_passage(c)) for c in chunks))
            )
    return found


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file's stamp when it was read, and the ids of its pieces. ``wanted``: how many pieces
    it needs room for if it was skipped."""

    stamp: Stamp = _NEVER
    ids: tuple[str, ...] = ()
    problem: str = ""
    wanted: int = 0


class KnownFiles:
    """The known files by place and path."""

    def __init__(self) -> None:
        self._files: dict[Place, dict[str, KnownFile]] = {}

    def places(self) -> tuple[Place, ...]:
        """Returns the places with files."""
        return tuple(self._files)

    def get(self, place: Place, path: str) -> KnownFile:
        """Returns what is known of a file; an empty record for a new one."""
        return self._files.get(place, {}).get(path, KnownFile())

    def put(self, place: Place, path: str, file: KnownFile) -> None:
        """Add or replace."""
        self._files.setdefault(place, {})[path] = file

    def drop(self, place: Place, path: str) -> None:
        """Remove, if present."""
        files = self._files.get(place, {})
        files.pop(path, None)
        if not files:
            self._files.pop(place, None)

    def gone(self, place: Place, folder: NoteFolder) -> list[str]:
        """Returns known files that were removed, as far as the folder could be read."""
        known = self._files.get(place, {})
        return [path for path in known if path not in folder.files] if folder.whole else []

    def changed(self, place: Place, folder: NoteFolder, room: int) -> list[str]:
        """Returns files with a changed stamp, and skipped ones that may fit now."""
        files = ((path, self.get(place, path), now) for path, now in folder.files.items())
        return [
            path for path, known, now in files if known.stamp != now or 0 < known.wanted <= room
        ]

    def problems(self, place: Place) -> Iterator[FileReport]:
        """Yields the problems of files that were read."""
        for path, file in self._files.get(place, {}).items():
            if file.problem:
                yield FileReport(label_of(place), path, file.problem)


class NoteReports:
    """Posts one place's present problems as notices, and removes outdated ones."""

    def __init__(self, notices: NoticeBoard) -> None:
        self._notices = notices
        self._posted: dict[Place | None, list[str]] = {}

    def post(self, place: Place | None, broken: Sequence[FileReport]) -> None:
        """Post problems of one place, or of the places themselves."""
        subjects = []
        for report in broken[:_MOST_REPORTS]:
            subject = f"{report.scope}/{report.path}:{report.reason}"
            params = {"scope": report.scope, "path": report.path, "reason": report.reason}
            self._notices.post(Notice("vault_file_broken", subject, params))
            subjects.append(subject)
        for subject in self._posted.pop(place, []):
            if subject not in subjects:
                self._notices.clear("vault_file_broken", subject)
        if subjects:
            self._posted[place] = subjects
