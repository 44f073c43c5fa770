"""The records in ``shared/``. Nothing else in the engine opens these files for writing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..models.decisions import RecordFile
from ..models.scope import SHARED_FOLDER
from ..storage.appending import AppendFault, NotAppended, append_and_verify, find_lines, newline_of
from ..storage.files import is_link
from ..vault.markdown.appended_block import open_fence
from ..vault.markdown.decision_record import FoundRecord, Record, numbers_in, records_of, settled_by
from ..vault.rules.templates import shared_templates


@dataclass(frozen=True, slots=True)
class SharedRecords:
    """All records, and the highest number that any heading has."""

    found: tuple[tuple[RecordFile, FoundRecord], ...] = ()
    highest: int = 0

    @property
    def records(self) -> tuple[Record, ...]:
        """Returns them without their places."""
        return tuple(one.record for _, one in self.found)

    def of_proposal(self, key: str) -> tuple[RecordFile, FoundRecord] | None:
        """Returns the record of the proposal with this key, if any."""
        return next((one for one in self.found if key and one[1].record.proposal == key), None)

    def in_force(self, number: int) -> bool:
        """True if there is such a record and no later one has settled it."""
        records = self.records
        return number in {one.number for one in records} and number not in settled_by(records)


class SharedFiles:
    """Every method blocks, and raises NotAppended for a folder or file that is a link, or cannot be
    read."""

    def __init__(self, root: Path, *, english: bool) -> None:
        self._root = root
        self._templates = shared_templates(english=english)

    def refuse_hidden(self, file: RecordFile) -> None:
        """Raises NotAppended also where what is appended would be hidden."""
        _refuse_hidden(self._text(file))

    def append(self, file: RecordFile, number: int, text: str) -> int:
        """Append a record, unless it stands there already. Returns its first line. Raises
        NotAppended also where another program has written one with its number."""

        def lines(content: bytes) -> bytes:
            own = text.encode().replace(b"\n", newline_of(content))
            if find_lines(content, own) is None:
                there = content.decode("utf-8", "replace")
                _refuse_hidden(there)
                if number in numbers_in(there):
                    raise NotAppended(AppendFault.BUSY)
            return own

        start = self._templates[file.path].encode()
        return append_and_verify(self._path(file), lines, start=start).line

    def records(self) -> SharedRecords:
        """Returns what all the files hold."""
        texts = {file: self._text(file) for file in RecordFile}
        found = [(file, one) for file, text in texts.items() for one in records_of(text)]
        return SharedRecords(tuple(found), max({0}.union(*map(numbers_in, texts.values()))))

    def _text(self, file: RecordFile) -> str:
        """Returns what stands in the file; nothing where there is none."""
        path = self._path(file)
        try:
            if is_link(path):
                raise NotAppended(AppendFault.NOT_PLAIN, file.path)
            return path.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise NotAppended(AppendFault.DISK, error.strerror or str(error)) from error

    def _path(self, file: RecordFile) -> Path:
        if is_link(self._root / SHARED_FOLDER):
            raise NotAppended(AppendFault.NOT_PLAIN, SHARED_FOLDER)
        return self._root / file.path


def _refuse_hidden(text: str) -> None:
    if (line := open_fence(text)) is not None:
        raise NotAppended(AppendFault.HIDDEN, str(line))
