"""What is proposed and what was decided, as a list. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..catalogue.rules.closing import closed_by, is_over
from ..catalogue.rules.proposals import accepted_as, holds_here, proposal_key, proposal_of
from ..models.data_models import StoredMemory
from ..models.decisions import DecisionItem
from ..vault.markdown.decision_record import settled_by, state_of
from .files import SharedRecords

_OPEN = ("proposed", "accepted")


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
