"""Decisions: an entry proposes one. Accepted it holds in its scope, or a record in ``shared/`` says
it to everybody."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from .data_models import Refused
from .scope import SHARED_FOLDER


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
        """Relative to the memory root."""
        return f"{SHARED_FOLDER}/{self.value.upper()}.md"

    @classmethod
    def at(cls, path: str) -> RecordFile:
        """Returns the file with this path. Raises ValueError for any other."""
        return cls(path.removeprefix(f"{SHARED_FOLDER}/").removesuffix(".md").lower())


RECORD_PATHS: Final = frozenset(file.path for file in RecordFile)


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a decision was discussed: ``#12``, ``owner/repository#12`` or an address, or empty."""

    issue: str = ""
    pr: str = ""


def record_name(number: int) -> str:
    """Returns a record's number as it is written: ``D-0007``."""
    return f"D-{number:04d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """How a record is written. ``by`` is who decides, as the record names them; empty for the one
    who asks. ``shown`` is the digest of a draft that was shown: just these words are written.
    Without it a draft is returned, and nothing is written, unless ``unseen``."""

    by: str = ""
    shown: str = ""
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Accept(Publication):
    """Make a proposal a decision of its scope, or publish it as a record.

    Attributes:
        proposal: Its id or pointer, or a beginning of the id that no other proposal's has.
        to: The file of the record, which everybody reads. None: a private scope keeps it to itself.
        supersedes: The number of a decision that no longer holds, 0 for none.
        anyway: Also where there are objections that a person may overrule.
        settles: Also an entry that nobody has proposed.
    """

    proposal: str
    reference: Reference = field(default_factory=Reference)
    to: RecordFile | None = None
    supersedes: int = 0
    anyway: bool = False
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Reject:
    """Turn a proposal down."""

    proposal: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Withdraw(Publication):
    """Take a decision back: one of the own scope, or by a record one that everybody reads."""

    number: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class ListDecisions:
    """What is proposed, and what holds; ``everything``: also what holds no longer."""

    everything: bool = False


DecisionChange = Accept | Reject | Withdraw | ListDecisions


@dataclass(frozen=True, slots=True)
class Draft:
    """What all would read, without ``file`` those of its scope; nothing was written. ``digest`` is
    for ``Accept.shown``. ``outdated``: another one was shown, and something has changed since."""

    text: str
    digest: str
    number: int
    file: RecordFile | None
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """It stands in the file, from this line on; without one in its entry alone. ``again``: it stood
    there before."""

    number: int
    file: RecordFile | None
    line: int
    again: bool = False


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """The proposal was rejected."""

    memory_id: str


@dataclass(frozen=True, slots=True)
class DecisionItem:
    """A proposal, which has a ``memory_id`` and no number, or a record, which has a number, a file
    and a line. ``here``: a decision of its scope alone, which has a ``memory_id`` and a number.
    ``twice``: another record has the same number."""

    state: DecisionState
    title: str
    at: datetime | None
    memory_id: str = ""
    number: int = 0
    reference: Reference = field(default_factory=Reference)
    supersedes: int = 0
    file: str = ""
    line: int = 0
    twice: bool = False
    here: bool = False


@dataclass(frozen=True, slots=True)
class Decisions:
    """Proposals first, then records by number."""

    items: tuple[DecisionItem, ...] = ()


DecisionOutcome = Draft | Recorded | TurnedDown | Decisions | Refused
