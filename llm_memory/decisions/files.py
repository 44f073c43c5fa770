"""The records in ``shared/``, and the list of what is proposed and decided. Nothing else in the
engine opens these files for writing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..catalogue.rules.closing import closed_by, is_over
from ..catalogue.rules.proposals import accepted_as, holds_here, proposal_key, proposal_of
from ..models.data_models import Memory, StoredMemory
from ..models.decisions import DecisionItem, Recorded, RecordFile
from ..models.scope import SHARED_FOLDER
from ..storage.appending import AppendFault, NotAppended, append_and_verify, find_lines, newline_of
from ..storage.files import is_link
from ..vault.markdown.appended_block import open_fence
from ..vault.markdown.decision_record import numbers_in, records_of, settled_by, state_of
from ..vault.rules.templates import shared_templates

_OPEN = ("proposed", "accepted")


@dataclass(frozen=True, slots=True)
class SharedRecords:
    """All records by number, what each proposal became, by its key, and the highest number that any
    heading has."""

    items: tuple[DecisionItem, ...]
    became: Mapping[str, Recorded]
    highest: int

    def in_force(self, number: int) -> bool:
        """True if there is such a record and no later one has settled it."""
        return (number, "accepted") in {(one.number, one.state) for one in self.items}


@dataclass(frozen=True, slots=True)
class SharedFiles:
    """Every method blocks, and raises NotAppended for a folder or file that is a link, or cannot be
    read."""

    _root: Path
    english: bool

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

        start = shared_templates(english=self.english)[file.path].encode()
        return append_and_verify(self._path(file), lines, start=start)

    def records(self) -> SharedRecords:
        """Returns what all the files hold."""
        texts = {file: self._text(file) for file in RecordFile}
        found = [(file, one) for file, text in texts.items() for one in records_of(text)]
        settled = settled_by(one.record for _, one in found)
        items = [
            DecisionItem(
                state_of(one.record, settled),
                one.record.title,
                one.record.at,
                number=one.record.number,
                reference=one.record.reference,
                supersedes=one.record.supersedes,
                file=file.path,
                line=one.first,
            )
            for file, one in found
        ]
        items.sort(key=lambda item: (item.number, item.file, item.line))
        became = {
            one.record.proposal: Recorded(one.record.number, file, one.first, again=True)
            for file, one in reversed(found)
            if one.record.proposal
        }
        highest = max({0}.union(*map(numbers_in, texts.values())))
        return SharedRecords(tuple(items), became, highest)

    def _text(self, file: RecordFile) -> str:
        """Returns what stands in the file; nothing where there is none."""
        try:
            return self._path(file).read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise NotAppended(AppendFault.DISK, error.strerror or str(error)) from error

    def _path(self, file: RecordFile) -> Path:
        for name in (SHARED_FOLDER, file.path):
            if is_link(self._root / name):
                raise NotAppended(AppendFault.NOT_PLAIN, name)
        return self._root / file.path


def decision_items(
    entries: Iterable[StoredMemory], there: SharedRecords, *, everything: bool
) -> tuple[DecisionItem, ...]:
    """Returns the proposals, the newest first, then the records by number; unless ``everything``
    without what was rejected, superseded or withdrawn, became a record, or was settled by what was
    said later. An accepted one whose record was deleted is listed with its number and no file."""
    numbers = {item.number for item in there.items}
    proposals = [
        item
        for stored in entries
        if (item := _proposed(stored.memory)) is not None
        if item.number not in numbers and proposal_key(item.memory_id) not in there.became
    ]
    proposals.sort(key=lambda item: item.at.timestamp() if item.at else 0, reverse=True)
    listed = (*proposals, *there.items)
    return tuple(item for item in listed if everything or item.state in _OPEN)


def _proposed(memory: Memory) -> DecisionItem | None:
    proposal = proposal_of(memory) if memory.extra else None
    if proposal is None:
        return None
    settled = closed_by(memory) and proposal.state in _OPEN
    return DecisionItem(
        "superseded" if settled else proposal.state,
        memory.judgment,
        memory.created_at,
        memory_id=memory.memory_id,
        number=proposal.number,
        here=proposal.here or proposal.state == "withdrawn",
    )


def decided_here(entries: Iterable[StoredMemory], number: int) -> StoredMemory | None:
    """Returns the decision of one scope with this number, if it is in force."""
    named = (one for one in entries if number and accepted_as(one.memory) == number)
    return next((one for one in named if holds_here(one.memory) and not is_over(one.memory)), None)
