"""What an admin decides on proposals of a conversation's own scope."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.proposals import (
    is_accepted,
    is_proposed,
    is_published,
    proposal_key,
    proposed,
    rejected,
)
from ..decisions.decision_list import decided_here, decision_items
from ..decisions.recorder import Recorder
from ..decisions.rules.not_written import account_in, objections, read_reference
from ..models.conversation import Actor, ConversationId
from ..models.data_models import StoredMemory
from ..models.decisions import (
    Accept,
    DecisionChange,
    DecisionFault,
    DecisionOutcome,
    Decisions,
    ListDecisions,
    NotRecorded,
    RecordFile,
    Reference,
    Reject,
    TurnedDown,
    Withdraw,
    record_name,
)
from ..remember.edit import MemoryEditor
from ..remember.rules.private import Finder
from ..runtime.identifiers import Clock
from ..scopes.access import ConversationView
from ..storage.appending import NotAppended
from ..vault.markdown.decision_record import Record, title_and_body
from .recalls import Door


@dataclass(eq=False)
class DecisionDesk(Door):
    """An admin decides in the proposal's scope, and sees the words first. A private scope keeps its
    decision to itself, unless it is to be published to all conversations."""

    _catalogue: Catalogue
    _recorder: Recorder
    _editor: MemoryEditor
    _private_data: Finder
    _clock: Clock
    _at_home: bool
    """The store is no bot's: a decision names where it was discussed, and everybody reads it."""
    _english: bool

    async def decide(
        self, change: DecisionChange, *, conversation_id: ConversationId, actor: Actor
    ) -> DecisionOutcome:
        """List, accept, reject or withdraw decisions, or say why not. Admins only."""
        view = await self._view(conversation_id)
        if not actor.admin or view.readable is None:
            return NotRecorded(DecisionFault.NOT_ALLOWED)
        match change:
            case ListDecisions(everything):
                return await self._listed(view, everything=everything)
            case Accept():
                return await self._life.finish(lambda: self._accept(change, view, actor))
            case Reject():
                return await self._life.finish(lambda: self._reject(change, view, actor))
            case Withdraw():
                return await self._life.finish(lambda: self._withdraw(change, view, actor))

    async def _listed(self, view: ConversationView, *, everything: bool) -> DecisionOutcome:
        try:
            there = await self._recorder.records()
        except NotAppended as error:
            return NotRecorded(DecisionFault.FILE, error.detail or error.code.value)
        entries = self._catalogue.visible(view.readable) if view.readable else ()
        return Decisions(decision_items(entries, there, everything=everything))

    async def _accept(
        self, change: Accept, view: ConversationView, actor: Actor
    ) -> DecisionOutcome:
        if change.settles:
            entry = self._access.for_admin(change.proposal, view, actor)
            if isinstance(entry, StoredMemory):
                await self._editor.annotate(entry, proposed)
        stored = self._proposal(change.proposal, view, actor)
        if isinstance(stored, NotRecorded):
            return stored
        memory = stored.memory
        to = change.to
        if self._at_home or stored.scope.is_public or is_published(memory):
            to = to or RecordFile.DECISIONS
        reference = read_reference(change.reference)
        if reference is None or (self._at_home and reference == Reference()):
            return NotRecorded(DecisionFault.REFERENCE)
        title, body = title_and_body(memory.judgment, memory.reasoning)
        record = Record(
            number=0,
            title=title,
            at=None,
            by=change.by or _name_of(actor),
            reference=reference,
            supersedes=change.supersedes,
            proposal=proposal_key(memory.memory_id),
            body=body,
        )
        refused = await self._unfit(stored, record, here=to is None, anyway=change.anyway)
        return refused or await self._recorder.publish(record, to, stored, change)

    def _proposal(
        self, named: str, view: ConversationView, actor: Actor
    ) -> StoredMemory | NotRecorded:
        """Returns the proposal of the conversation's own scope with this id, or whose id alone
        begins so. An accepted one has a record to be told of."""
        stored = self._access.for_admin(named, view, actor)
        beginning = pointed_id(named)
        if not isinstance(stored, StoredMemory) and beginning and view.readable:
            seen = ((one, one.memory.memory_id) for one in self._catalogue.visible(view.readable))
            ids = [name for one, name in seen if name.startswith(beginning) and _is_open(one)]
            if len(ids) > 1:
                return NotRecorded(DecisionFault.AMBIGUOUS, ", ".join(sorted(ids)))
            stored = self._access.for_admin(ids[0], view, actor) if ids else stored
        if isinstance(stored, StoredMemory) and _is_open(stored):
            return stored
        return NotRecorded(DecisionFault.NO_PROPOSAL)

    async def _unfit(
        self, stored: StoredMemory, record: Record, *, here: bool, anyway: bool
    ) -> NotRecorded | None:
        """Returns why these words are not published. ``here``: they stay where they are, so they
        may be private, and name who said them."""
        if is_published(stored.memory) or (here and is_accepted(stored.memory)):
            return None  # they were
        if not here:
            if named := account_in(stored.memory):
                return NotRecorded(DecisionFault.PRIVATE, named)
            if found := await asyncio.to_thread(self._private, record):
                return NotRecorded(DecisionFault.PRIVATE, found)
        found_against = () if anyway else objections(stored.memory, stored.scope)
        against = tuple(one for one in found_against if not (here and one.code == "names_speaker"))
        return NotRecorded(DecisionFault.OBJECTION, objections=against) if against else None

    def _private(self, record: Record) -> str:
        """Returns the kind of private data in what would be published, empty for none."""
        text = f"{record.title}\n{record.body}\n{record.by}"
        return next((kind.value for kind, _, _ in self._private_data(text)), "")

    async def _reject(
        self, change: Reject, view: ConversationView, actor: Actor
    ) -> DecisionOutcome:
        stored = self._proposal(change.proposal, view, actor)
        if isinstance(stored, NotRecorded):
            return stored
        if is_accepted(stored.memory):
            return NotRecorded(DecisionFault.NO_PROPOSAL)
        made = partial(rejected, day=f"{self._clock():%Y-%m-%d}", why=change.why)
        marked = await self._editor.annotate(stored, made)
        if not isinstance(marked, StoredMemory):
            return NotRecorded(DecisionFault.NO_PROPOSAL)
        return TurnedDown(stored.memory.memory_id)

    async def _withdraw(
        self, change: Withdraw, view: ConversationView, actor: Actor
    ) -> DecisionOutcome:
        seen = list(self._catalogue.visible(view.readable)) if view.readable else []
        own = await asyncio.to_thread(decided_here, seen, change.number)
        if own is not None and not self._access.governs(own.scope, view, actor):
            return NotRecorded(DecisionFault.NO_SUCH_RECORD)
        named = record_name(change.number)
        record = Record(
            number=0,
            title=f"Withdraws {named}" if self._english else f"撤回 {named}",
            at=None,
            by=change.by or _name_of(actor),
            withdraws=change.number,
            body=change.why,
        )
        if own is not None:
            return await self._recorder.publish(record, None, own, change)
        if found := await asyncio.to_thread(self._private, record):
            return NotRecorded(DecisionFault.PRIVATE, found)
        return await self._recorder.publish(record, RecordFile.DECISIONS, None, change)


def _is_open(stored: StoredMemory) -> bool:
    """True for a proposal that was not turned down."""
    return is_proposed(stored.memory) or is_accepted(stored.memory)


def _name_of(actor: Actor) -> str:
    """Returns a name; none where the platform knows none and the account stands for it."""
    return "" if actor.person.endswith(f":{actor.name}") else actor.name
