"""A whole store into one file, and out of it again: past gate and privacy, as it is. Blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ..catalogue.rules.proposals import holds_here
from ..errors import TransferFailed
from ..models.data_models import Memory, Topic
from ..models.scope import SHARED
from ..models.transfer import (
    End,
    FileRecord,
    Header,
    MemoryRecord,
    Record,
    RefusedLine,
    SettingsRecord,
    StoreRestored,
)
from ..models.vault_layout import CONSTITUTION_PAGE, SOUL_PAGE, is_recalled, topic_of
from ..remember.deeds import Deeds
from ..storage.formats.store_formats import VAULT_FORMAT
from ..vault.markdown.topic_file import TopicFile, parse_file
from .line_files import LineFile
from .rules.format import VERSION, Line, LineBroken
from .store_writer import Put, StoreWriter, own_path

_RULING = (SOUL_PAGE.lower(), CONSTITUTION_PAGE.lower())
_TOLD = ("living", "conflict")
"""What is not in the archive."""
_GROUP_CHARS = 4_000_000
"""Of entries so many characters are held before they are written."""


def heads(
    scopes: Iterable[str],
    *,
    now: datetime,
    version: str,
    settings: Mapping[str, object],
    whole: bool = True,
) -> list[Record]:
    """Returns how a file of these scopes begins. ``version`` is the plugin's; ``settings`` are the
    owner's, without secrets, and carried where the store is ``whole``."""
    header = Header(VERSION, version, now, tuple(sorted(scopes)), whole, VAULT_FORMAT)
    return [header, SettingsRecord(settings)] if settings and whole else [header]


def read_header(source: LineFile, *, known_format: int | None = None) -> Header:
    """Returns the first line of a file; ``known_format`` is the newest format of a vault that is
    read, None for any.

    Raises TransferFailed: it is none of ours, or a later version's.
    """
    try:
        header = next(iter(source), Line(0, fault="wrong")).record()
    except LineBroken as error:
        raise TransferFailed("no_header") from error
    if not isinstance(header, Header):
        raise TransferFailed("no_header")
    if header.version > VERSION or (known_format or header.vault_format) < header.vault_format:
        raise TransferFailed("newer", header.plugin or str(header.version))
    return header


def parsed(record: FileRecord) -> TopicFile | None:
    """Returns the entries of a file; None where it is no text."""
    try:
        text = record.content.decode()
    except UnicodeDecodeError:
        return None
    return parse_file(text, fallback_time=datetime.fromtimestamp(record.modified / 1e9, UTC))


class Restoring:
    """Puts the lines of a file back where they were. What stands there already stays as it is."""

    def __init__(
        self,
        store: StoreWriter,
        *,
        now: datetime,
        only: Collection[str] | None = None,
        corrected: Deeds | None = None,
    ) -> None:
        """``corrected``: what was corrected since is left out; None puts it back, too."""
        self._latest = now
        self._store = store
        self._only = only
        self._corrected = corrected
        self._done = StoreRestored(cut_short=True)
        self._groups: dict[tuple[str, str], list[tuple[int, MemoryRecord]]] = {}
        self._size = 0

    def run(self, source: LineFile) -> StoreRestored:
        """All of a file. Cut off in the middle and run again, it ends the same.

        Raises TransferFailed: nothing was touched, but for a file that cannot be read to its end.
        """
        self._latest = read_header(source, known_format=VAULT_FORMAT).latest(self._latest)
        for line in source:
            self._take(line)
        self._flush()
        return self._done

    def _take(self, line: Line) -> None:
        try:
            record = line.record()
        except LineBroken as error:
            self._refuse(line.number, error.fault, error.detail)
            return
        match record:
            case MemoryRecord():
                self._memory(line.number, record, len(line.text))
            case FileRecord():
                self._flush()
                if self._wanted(record.scope):
                    self._file(line.number, self._without_corrected(record))
            case End():
                self._done = replace(self._done, cut_short=False)
            case SettingsRecord(values):
                if self._only is None:
                    self._done = replace(self._done, settings=values)
            case Header():
                pass  # of a file that was put behind another one

    def _wanted(self, scope: str) -> bool:
        return self._only is None or scope in self._only

    def _memory(self, number: int, record: MemoryRecord, size: int) -> None:
        for name in ("id", "created_at"):
            if name in record.missing:
                self._refuse(number, "wrong", name)
                return
        if not record.scope:
            self._refuse(number, "wrong", "scope")
            return
        if not self._wanted(record.scope):
            return
        if self._is_left_out(record.scope, record.memory, told=record.state in _TOLD):
            self._done = replace(self._done, corrected=self._done.corrected + 1)
            return
        self._groups.setdefault((record.scope, record.path), []).append((number, record))
        self._size += size
        if self._size > _GROUP_CHARS:
            self._flush()

    def _is_left_out(self, scope: str, memory: Memory, *, told: bool) -> bool:
        """``told``: it would live again. What was purged is not wanted in the archive, either."""
        corrected = self._corrected
        if corrected is None:
            return False
        if corrected.is_purged(scope, memory.memory_id):
            return True
        said_at = min(memory.created_at, self._latest)
        return told and corrected.texts.would_revive(scope, memory, said_at)

    def _without_corrected(self, record: FileRecord) -> FileRecord:
        """The entries that it leaves out are counted at their own lines."""
        if self._corrected is None or (file := parsed(record)) is None:
            return record
        told = is_recalled(record.path)
        gone = [
            entry
            for entry in file.entries
            if self._is_left_out(record.scope, entry.memory, told=told)
        ]
        return replace(record, content=file.without(*gone).encode()) if gone else record

    def _flush(self) -> None:
        """Write what is held, file by file; what names no file goes each where it belongs."""
        groups, self._groups, self._size = self._groups, {}, 0
        for (scope, path), group in groups.items():
            self._put(scope, path, group)

    def _put(self, scope: str, path: str, group: Sequence[tuple[int, MemoryRecord]]) -> None:
        try:
            new = self._store.put_memories(scope, path, [record for _, record in group])
        except TransferFailed as error:
            for number, _ in group:
                self._refuse(number, error.code, error.detail)
            return
        done = self._done
        ruling = _rules(f"{scope}/{path}", [one for _, one in group]) if new else ()
        self._done = replace(done, memories=done.memories + new, ruling=(*done.ruling, *ruling))

    def _file(self, number: int, record: FileRecord) -> None:
        try:
            put, memories = self._store.put_file(record)
        except TransferFailed as error:
            self._refuse(number, error.code, error.detail)
            return
        done, place = self._done, f"{record.scope}/{record.path}"
        match put:
            case Put.WRITTEN:
                entries = [MemoryRecord(record.scope, record.path, one) for one in memories]
                ruling = *done.ruling, *_rules(place, entries)
                if record.scope == SHARED.name or record.path.lower() in _RULING:
                    ruling = *ruling, (place, record.content.decode(errors="replace"))
                count = done.memories + len(entries)
                self._done = replace(done, files=done.files + 1, memories=count, ruling=ruling)
            case Put.DIFFERS:
                self._done = replace(done, differing=(*done.differing, place))

    def _refuse(self, number: int, fault: str, detail: str) -> None:
        self._done = self._done.without(RefusedLine(number, fault, detail))


def _rules(place: str, records: Iterable[MemoryRecord]) -> tuple[tuple[str, str], ...]:
    return tuple((place, one.memory.judgment) for one in records if _is_rule(one))


def _is_rule(record: MemoryRecord) -> bool:
    """True for what an opening tells as a rule, and for a decision of its scope."""
    path, memory = record.path or own_path(record), record.memory
    is_told = topic_of(path) is Topic.INSTRUCTIONS and memory.provenance.trusted
    return is_recalled(path) and (is_told or holds_here(memory))
