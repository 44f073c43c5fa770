"""The records in ``shared/``. Nothing else in the engine opens these files for writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..models.decisions import RecordFile
from ..models.scope import SHARED_FOLDER
from ..storage.appending import Appended, AppendFault, NotAppended, append_and_verify
from ..storage.files import is_link
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

    def read(self, file: RecordFile) -> bytes:
        """Returns what stands in the file; nothing where there is none."""
        path = self._path(file)
        try:
            if is_link(path):
                raise NotAppended(AppendFault.NOT_PLAIN, file.path)
            return path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise NotAppended(AppendFault.DISK, error.strerror or str(error)) from error

    def text(self, file: RecordFile) -> str:
        """Returns the same as text."""
        return self.read(file).decode("utf-8", "replace")

    def append(self, file: RecordFile, make: Callable[[bytes], bytes]) -> Appended:
        """Append what ``make`` gives for the file as it is, unless it stands there already."""
        start = self._templates[file.path].encode()
        return append_and_verify(self._path(file), make, start=start)

    def records(self) -> SharedRecords:
        """Returns what all the files hold."""
        found: list[tuple[RecordFile, FoundRecord]] = []
        most = 0
        for file in RecordFile:
            text = self.text(file)
            found += [(file, one) for one in records_of(text)]
            most = max(most, *numbers_in(text), 0)
        return SharedRecords(tuple(found), most)

    def _path(self, file: RecordFile) -> Path:
        if is_link(self._root / SHARED_FOLDER):
            raise NotAppended(AppendFault.NOT_PLAIN, SHARED_FOLDER)
        return self._root / file.path
