"""What was read of each file of notes, what is to be read again, and what its owner hears."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...catalogue.rules.passage_text import embedded_passage
from ...errors import VaultFileBroken
from ...models.notes import NoteChunk, NotePlace
from ...models.notices import Notice, NoticeCode
from ...models.scope import Scope
from ...runtime.notice_board import NoticeBoard
from ...text.overlap import fold
from ..models import FileReport
from .markdown_notes import MarkdownNotes
from .models import NoteFolder, Signature

TOO_MANY = "too_many"
"""Why a file is left out that is not broken."""
UNREADABLE = "unreadable"
_NEVER: Signature = (-1, -1, -1)
_MOST_REPORTS = 20
"""Warnings about one place: the owner of a thousand broken files needs no thousand lines."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The pieces of a file, what each says, ready to be looked through, or why there are none."""

    path: str
    chunks: tuple[NoteChunk, ...] = ()
    folded: tuple[str, ...] = ()
    problem: str = ""


def read_files(source: MarkdownNotes, place: NotePlace, paths: Iterable[str]) -> list[Reading]:
    """Blocks. What cannot be read is an answer, too."""
    found = []
    for path in paths:
        try:
            chunks = source.read(place, path)
        except VaultFileBroken as error:
            found.append(Reading(path, problem=error.reason))
        else:
            found.append(Reading(path, chunks, tuple(fold(embedded_passage(c)) for c in chunks)))
    return found


@dataclass(frozen=True, slots=True)
class KnownFile:
    """How a file looked when it was read, and the ids of its pieces. ``wanted``: it was left out,
    and would have needed so much room."""

    signature: Signature = _NEVER
    ids: tuple[str, ...] = ()
    problem: str = ""
    wanted: int = 0


class KnownFiles:
    """By place and path."""

    def __init__(self) -> None:
        self._files: dict[NotePlace, dict[str, KnownFile]] = {}

    def places(self) -> tuple[NotePlace, ...]:
        """Those with files."""
        return tuple(self._files)

    def get(self, place: NotePlace, path: str) -> KnownFile:
        """What is known of a file: nothing, of a new one."""
        return self._files.get(place, {}).get(path, KnownFile())

    def put(self, place: NotePlace, path: str, file: KnownFile) -> None:
        """Add or replace."""
        self._files.setdefault(place, {})[path] = file

    def drop(self, place: NotePlace, path: str) -> None:
        """Take out, if it is there."""
        files = self._files.get(place, {})
        files.pop(path, None)
        if not files:
            self._files.pop(place, None)

    def gone(self, place: NotePlace, folder: NoteFolder) -> list[str]:
        """Known files that stand there no more, as far as anybody can tell."""
        known = self._files.get(place, {})
        return [path for path in known if path not in folder.files] if folder.whole else []

    def changed(self, place: NotePlace, folder: NoteFolder, room: int) -> list[str]:
        """Files that do not look as they did, and those that were left out and may fit now."""
        files = ((path, self.get(place, path), now) for path, now in folder.files.items())
        return [
            path for path, known, now in files if known.signature != now or 0 < known.wanted <= room
        ]

    def problems(self, place: NotePlace) -> Iterator[FileReport]:
        """What is wrong with files that were looked at."""
        for path, file in self._files.get(place, {}).items():
            if file.problem:
                yield FileReport(_label(place), path, file.problem)

    def clear(self) -> None:
        """Let go of everything."""
        self._files.clear()


class NoteReports:
    """The notices about places: each says what is wrong now, and what was is taken down."""

    def __init__(self, notices: NoticeBoard) -> None:
        self._notices = notices
        self._posted: dict[NotePlace | None, list[str]] = {}

    def post(self, place: NotePlace | None, broken: Sequence[FileReport]) -> None:
        """About one place, or about the places themselves."""
        subjects = []
        for report in broken[:_MOST_REPORTS]:
            subject = f"{report.scope}/{report.path}:{report.reason}"
            params = {"scope": report.scope, "path": report.path, "reason": report.reason}
            self._notices.post(Notice(NoticeCode.VAULT_FILE_BROKEN, subject, params))
            subjects.append(subject)
        for subject in self._posted.pop(place, []):
            if subject not in subjects:
                self._notices.clear(NoticeCode.VAULT_FILE_BROKEN, subject)
        if subjects:
            self._posted[place] = subjects


def _label(place: NotePlace) -> str:
    """What a person is told about where a file stands."""
    return place.name if isinstance(place, Scope) else f"memory/{place.folder}"
