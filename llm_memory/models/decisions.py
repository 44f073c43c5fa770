"""Decisions: an entry proposes one. Accepted it holds in its scope, or a record in ``shared/`` says
it to everybody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from .data_models import Refused
from .scope import SHARED_FOLDER

DecisionState = Literal["proposed", "accepted", "rejected", "superseded", "withdrawn"]
"""Of a proposal, or of the record that it was accepted as."""


class RecordFile(StrEnum):
    """A file of ``shared/`` that takes records. One sequence of numbers goes over all of them."""

    DECISIONS = "decisions"
    CONTRACTS = "contracts"
    RUNBOOK = "runbook"

    @property
    def path(self) -> str:
        """Relative to the memory root."""
        return f"{SHARED_FOLDER}/{self.value.upper()}.md"


RECORD_PATHS: Final = frozenset(file.path for file in RecordFile)


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a decision was discussed: ``#12``, ``owner/repository#12`` or an address, or empty."""

    issue: str = ""
    pr: str = ""


def record_name(number: int) -> str:
    """Returns a record's number as it is written: ``D-0007``."""
    return f"D-{number:04d}"


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """What an admin asks, and how a record of it is written.

    Attributes:
        proposal: Its id or pointer, or a beginning of the id that no other proposal's has. What
            nobody has proposed is accepted by its whole id.
        number: Of the decision that is taken back, or that an accepted one supersedes; 0 for none.
        to: The file of the record, which everybody reads. None: a private scope keeps it to itself.
        anyway: Also where there are objections that a person may overrule.
        everything: List also what holds no longer.
        by: Who decides, as the record names them; empty for the one who asks.
        shown: The digest of a draft that was shown: just these words are written. Without it a
            draft is returned, and nothing is written, unless ``unseen``.
    """

    action: Literal["list", "accept", "reject", "withdraw"]
    proposal: str = ""
    number: int = 0
    why: str = ""
    reference: Reference = Reference()
    to: RecordFile | None = None
    anyway: bool = False
    everything: bool = False
    by: str = ""
    shown: str = ""
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """What all would read, without ``file`` those of its scope; nothing was written. ``digest`` is
    for ``DecisionChange.shown``. ``outdated``: another one was shown, and something has changed."""

    text: str
    digest: str
    file: RecordFile | None
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """It stands in the file, from this line on; without one in its entry alone, and without a
    number the proposal was turned down there. ``again``: it stood there before."""

    number: int
    file: RecordFile | None = None
    line: int = 0
    again: bool = False


@dataclass(frozen=True, slots=True)
class DecisionItem:
    """A proposal, which has a ``memory_id`` and no number, or a record, which has a number, a file
    and a line. ``here``: a decision of its scope alone, which has a ``memory_id`` and a number."""

    state: DecisionState
    title: str
    at: datetime | None
    memory_id: str = ""
    number: int = 0
    reference: Reference = Reference()
    supersedes: int = 0
    file: str = ""
    line: int = 0
    here: bool = False


@dataclass(frozen=True, slots=True)
class Decisions:
    """Proposals first, then records by number."""

    items: tuple[DecisionItem, ...] = ()


DecisionOutcome = Draft | Recorded | Decisions | Refused
