"""How a proposed decision is stored in its entry. Pure.

A proposal is an ordinary entry of ``decisions.md``. Its state is in metadata fields that a person
can write as well: ``状态：提议``, ``状态：已接受 D-0007 · 决定：2026-11-23``, ``状态：已否决 ·
否决：2026-11-24 · 理由：…``. An entry without such a state is no proposal.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from ...models.data_models import Memory
from ...models.decisions import DecisionState, record_name
from .entry_fields import STATE, field, fields_of, others_of

_ACCEPTED_ON, _REJECTED_ON, _WHY = "决定", "否决", "理由"
_NAMES = (STATE, _ACCEPTED_ON, _REJECTED_ON, _WHY)
_STATES = (
    (DecisionState.PROPOSED, re.compile("(?:已?提议|提案|proposed)", re.IGNORECASE)),
    (DecisionState.REJECTED, re.compile("(?:已否决|否决|rejected)", re.IGNORECASE)),
    (DecisionState.ACCEPTED, re.compile(r"(?:已接受|accepted)\s*D-(\d{4,9})", re.IGNORECASE)),
)
_KEY_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Proposal:
    """``state`` is proposed, accepted or rejected. ``number``: of the record, if it is accepted;
    ``on``: the day on which that was decided; ``why``: the reason of a rejection."""

    state: DecisionState
    number: int = 0
    on: str = ""
    why: str = ""


def proposal_of(memory: Memory) -> Proposal | None:
    """Returns the proposal in an entry, None for any other entry."""
    said = fields_of(memory, _NAMES)
    for state, words in _STATES:
        if (found := words.fullmatch(said.get(STATE, ""))) is None:
            continue
        if state is DecisionState.ACCEPTED:
            return Proposal(state, int(found[1]), on=said.get(_ACCEPTED_ON, ""))
        if state is DecisionState.REJECTED:
            return Proposal(state, on=said.get(_REJECTED_ON, ""), why=said.get(_WHY, ""))
        return Proposal(state)
    return None


def is_proposed(memory: Memory) -> bool:
    """True for a proposal that nobody has decided on."""
    return _has(memory, DecisionState.PROPOSED)


def accepted_as(memory: Memory) -> int:
    """Returns the number of the record that a proposal became, 0 for any other entry."""
    proposal = proposal_of(memory) if memory.extra else None
    return proposal.number if proposal is not None else 0


def is_accepted(memory: Memory) -> bool:
    """True for an accepted proposal: its record alone settles it."""
    return accepted_as(memory) > 0


def is_rejected(memory: Memory) -> bool:
    """True for a rejected proposal."""
    return _has(memory, DecisionState.REJECTED)


def is_decided(memory: Memory) -> bool:
    """True for a proposal that was accepted or rejected: the words that this was said of stay."""
    return is_accepted(memory) or is_rejected(memory)


def _has(memory: Memory, state: DecisionState) -> bool:
    proposal = proposal_of(memory) if memory.extra else None
    return proposal is not None and proposal.state is state


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


def rejected(memory: Memory, day: str, why: str = "") -> Memory:
    """Returns the entry as rejected on ``day``."""
    reason = [field(_WHY, why)] if why.strip() else []
    return _with(memory, field(STATE, "已否决"), field(_REJECTED_ON, day), *reason)


def _with(memory: Memory, *fields: str) -> Memory:
    return replace(memory, extra=(*fields, *others_of(memory, _NAMES)))


def proposal_key(memory_id: str) -> str:
    """Returns what a record says of its proposal: ``sha256:`` and 20 digits. It is made of the id
    alone: neither scope nor words can be guessed from it, and an edit does not change it."""
    digest = hashlib.sha256(f"scoped-memory proposal\n{memory_id}".encode()).hexdigest()
    return f"sha256:{digest[:_KEY_DIGITS]}"
