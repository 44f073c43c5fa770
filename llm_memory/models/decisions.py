"""Decisions: an entry proposes one, a record in ``shared/`` states one that was accepted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .shelf import SHARED_FOLDER


class DecisionState(StrEnum):
    """What became of a proposal, or of the record that it was accepted as."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class RecordFile(StrEnum):
    """A file of ``shared/`` that takes records. One sequence of numbers goes over all of them."""

    DECISIONS = "decisions"
    CONTRACTS = "contracts"
    RUNBOOK = "runbook"

    @property
    def path(self) -> str:
        """``shared/DECISIONS.md``, relative to the memory root."""
        return f"{SHARED_FOLDER}/{self.value.upper()}.md"


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a decision was discussed: ``#12``, ``owner/repository#12`` or an address, or empty."""

    issue: str = ""
    pr: str = ""


def record_name(number: int) -> str:
    """Returns a record's number as it is written: ``D-0007``."""
    return f"D-{number:04d}"
