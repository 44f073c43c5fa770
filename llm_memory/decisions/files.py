"""The records in ``shared/``, and the list of what is proposed and decided. Nothing else in the
engine opens these files for writing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..catalogue.rules.closing import closed_by, is_over
from ..catalogue.rules.proposals import accepted_as, holds_here, proposal_key, proposal_of
from ..models.data_models import StoredMemory
from ..models.decisions import DecisionItem, RecordFile
from ..models.scope import SHARED_FOLDER
from ..storage.appending import AppendFault, NotAppended, append_and_verify, find_lines, newline_of
from ..storage.files import is_link
from ..vault.markdown.appended_block import open_fence
from ..vault.markdown.decision_record import (
    FoundRecord,
    Record,
    numbers_in,
    records_of,
    settled_by,
    state_of,
)
from ..vault.rules.templates import shared_templates

_OPEN = ("proposed", "accepted")


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

    def append(self, file: RecordFile, number: int, text: str) -> int:
        """Append a record, unless it stands there already. Returns its first line. Raises
        NotAppended also where it would be hidden, and where another program has written one with
        its number."""

        def lines(content: bytes) -> bytes:
            own = text.encode().replace(b"\n", newline_of(content))
            if find_lines(content, own) is None:
                there = content.decode("utf-8", "replace")
                if (line := open_fence(there)) is not None:
                    raise NotAppended(AppendFault.HIDDEN, str(line))
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


def decision_items(
    entries: Iterable[StoredMemory], there: SharedRecords, *, everything: bool
) -> tuple[DecisionItem, ...]:
    """Returns the proposals, the newest first, then the records by number; unless ``everything``
    without what was rejected, superseded or withdrawn, became a record, or was settled by what was
    said later."""
    items = [*_proposals(entries, there), *_records(there)]
    return tuple(item for item in items if everything or item.state in _OPEN)


def decided_here(entries: Iterable[StoredMemory], number: int) -> StoredMemory | None:
    """Returns the decision of one scope with this number, if it is in force."""
    numbered = (one for one in entries if number and accepted_as(one.memory) == number)
    found = (one for one in numbered if holds_here(one.memory) and not is_over(one.memory))
    return next(found, None)


def _proposals(entries: Iterable[StoredMemory], there: SharedRecords) -> list[DecisionItem]:
    """An accepted one whose record was deleted is still listed, with its number and no file."""
    numbers = {record.number for record in there.records}
    keys = {record.proposal for record in there.records}
    items = []
    for stored in entries:
        memory = stored.memory
        proposal = proposal_of(memory) if memory.extra else None
        if proposal is None or proposal_key(memory.memory_id) in keys:
            continue
        if proposal.number not in numbers:
            settled = closed_by(memory) and proposal.state in _OPEN
            items.append(
                DecisionItem(
                    "superseded" if settled else proposal.state,
                    memory.judgment,
                    memory.created_at,
                    memory_id=memory.memory_id,
                    number=proposal.number,
                    here=proposal.here or proposal.state == "withdrawn",
                )
            )
    return sorted(items, key=lambda item: item.at.timestamp() if item.at else 0, reverse=True)


def _records(there: SharedRecords) -> list[DecisionItem]:
    settled = settled_by(there.records)
    items = [
        DecisionItem(
            state_of(found.record, settled),
            found.record.title,
            found.record.at,
            number=found.record.number,
            reference=found.record.reference,
            supersedes=found.record.supersedes,
            file=file.path,
            line=found.first,
        )
        for file, found in there.found
    ]
    return sorted(items, key=lambda item: (item.number, item.file, item.line))
