"""How a proposed decision is stored in its entry. Pure.

A proposal is an ordinary entry of ``decisions.md``. Its state is in metadata fields that a person
can write as well: ``状态：提议``, ``状态：已接受 D-0007 · 决定：2026-11-23``, ``状态：已否决 ·
否决：2026-11-24 · 理由：…``. An entry without such a state is no proposal. A decision of its own
scope alone has no record: ``状态：已接受 D-0007（只在这里）``, and ``状态：已撤回 D-0007`` later.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from ...models.data_models import Memory
from ...models.decisions import DecisionState, Reference, record_name
from .entry_fields import STATE, field, fields_of, others_of

_ACCEPTED_ON, _REJECTED_ON, _WITHDRAWN_ON, _WHY = "决定", "否决", "撤回", "理由"
_REFERENCE = ("Issue", "PR")
_NAMES = (STATE, _ACCEPTED_ON, _REJECTED_ON, _WITHDRAWN_ON, _WHY, *_REFERENCE)
_HERE = "（只在这里）"
_STATES: tuple[tuple[DecisionState, re.Pattern[str]], ...] = (
    ("proposed", re.compile("(?:已?提议|提案|proposed)", re.IGNORECASE)),
    ("rejected", re.compile("(?:已否决|否决|rejected)", re.IGNORECASE)),
    (
        "accepted",
        re.compile(rf"(?:已接受|accepted)\s*D-(\d{{4,9}})\s*({_HERE}|\(here\))?", re.IGNORECASE),
    ),
    ("withdrawn", re.compile(r"(?:已撤回|withdrawn)\s*D-(\d{4,9})", re.IGNORECASE)),
)
_KEY_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Proposal:
    """``state`` is proposed, accepted, rejected or withdrawn. ``number``: of the decision that it
    became; ``here``: of its own scope alone."""

    state: DecisionState
    number: int = 0
    here: bool = False


def proposal_of(memory: Memory) -> Proposal | None:
    """Returns the proposal in an entry, None for any other entry."""
    said = fields_of(memory, _NAMES)
    for state, words in _STATES:
        if (found := words.fullmatch(said.get(STATE, ""))) is None:
            continue
        number, here = (*found.groups(), None, None)[:2]
        return Proposal(state, int(number or 0), here=bool(here))
    return None


def is_proposed(memory: Memory) -> bool:
    """True for a proposal that nobody has decided on."""
    return _has(memory, "proposed")


def number_of(memory: Memory) -> int:
    """Returns the number of the decision that a proposal became, also one that was withdrawn, 0 for
    any other entry."""
    proposal = proposal_of(memory) if memory.extra else None
    return proposal.number if proposal is not None else 0


def accepted_as(memory: Memory) -> int:
    """Returns the number of the decision that a proposal became, 0 for any other entry."""
    return number_of(memory) if _has(memory, "accepted") else 0


def is_accepted(memory: Memory) -> bool:
    """True for an accepted proposal: a decision alone settles it."""
    return _has(memory, "accepted")


def holds_here(memory: Memory) -> bool:
    """True for a decision of its own scope alone."""
    proposal = proposal_of(memory) if memory.extra else None
    return proposal is not None and proposal.here


def is_published(memory: Memory) -> bool:
    """True for a decision that a record states, or did, to everybody."""
    return is_accepted(memory) and not holds_here(memory)


def is_rejected(memory: Memory) -> bool:
    """True for a rejected proposal, and for a decision of one scope that was withdrawn."""
    return _has(memory, "rejected", "withdrawn")


def is_decided(memory: Memory) -> bool:
    """True for a proposal that was accepted or rejected: the words that this was said of stay."""
    return is_accepted(memory) or is_rejected(memory)


def _has(memory: Memory, *states: DecisionState) -> bool:
    proposal = proposal_of(memory) if memory.extra else None
    return proposal is not None and proposal.state in states


def proposed(memory: Memory) -> Memory:
    """Returns the entry as an open proposal; an accepted one as it is."""
    return memory if is_accepted(memory) else _with(memory, field(STATE, "提议"))


def unproposed(memory: Memory) -> Memory:
    """Returns the entry as an ordinary one."""
    return _with(memory)


def accepted(memory: Memory, number: int, day: str) -> Memory:
    """Returns the entry as accepted on ``day`` by the record with this number."""
    state = field(STATE, f"已接受 {record_name(number)}")
    return _with(memory, state, field(_ACCEPTED_ON, day))


def accepted_here(memory: Memory, number: int, day: str, reference: Reference) -> Memory:
    """Returns the entry as a decision of its own scope alone, for which the admin vouches who has
    accepted it."""
    said = zip(_REFERENCE, (reference.issue, reference.pr), strict=True)
    fields = [field(name, text) for name, text in said if text]
    state = field(STATE, f"已接受 {record_name(number)}{_HERE}")
    vouched = replace(memory.provenance, trusted=True, denied=False)
    memory = replace(memory, provenance=vouched, quoted=False)
    return _with(memory, state, field(_ACCEPTED_ON, day), *fields)


def withdrawn(memory: Memory, day: str, why: str = "") -> Memory:
    """Returns a decision of its own scope as withdrawn on ``day``."""
    state = field(STATE, f"已撤回 {record_name(number_of(memory))}")
    return _with(memory, state, field(_WITHDRAWN_ON, day), *_reason(why))


def rejected(memory: Memory, day: str, why: str = "") -> Memory:
    """Returns the entry as rejected on ``day``."""
    return _with(memory, field(STATE, "已否决"), field(_REJECTED_ON, day), *_reason(why))


def _reason(why: str) -> list[str]:
    return [field(_WHY, why)] if why.strip() else []


def _with(memory: Memory, *fields: str) -> Memory:
    return replace(memory, extra=(*fields, *others_of(memory, _NAMES)))


def proposal_key(memory_id: str) -> str:
    """Returns what a record says of its proposal: ``sha256:`` and 20 digits. It is made of the id
    alone: neither scope nor words can be guessed from it, and an edit does not change it."""
    digest = hashlib.sha256(f"scoped-memory proposal\n{memory_id}".encode()).hexdigest()
    return f"sha256:{digest[:_KEY_DIGITS]}"
