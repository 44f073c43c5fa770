"""What an admin decides on proposals of a conversation's own scope."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.proposals import (
    is_accepted,
    is_proposed,
    is_published,
    is_rejected,
    proposal_key,
    proposed,
    rejected,
)
from ..decisions.files import decided_here, decision_items
from ..decisions.rules.not_written import account_in, objections, read_reference
from ..models.conversation import Actor, ConversationId
from ..models.data_models import Refused, StoredMemory
from ..models.decisions import (
    DecisionChange,
    DecisionOutcome,
    Decisions,
    Recorded,
    RecordFile,
    Reference,
    record_name,
)
from ..remember.rules.private import find
from ..runtime.cooperative import cooperative
from ..scopes.access import View
from ..storage.appending import AppendFault, NotAppended
from ..vault.markdown.decision_record import Record, title_and_body
from .door import Door, deed


class DecisionDesk(Door):
    """An admin decides in the proposal's scope, and sees the words first. A private scope keeps its
    decision to itself, unless it is to be published to all conversations."""

    @deed
    async def decide(
        self, change: DecisionChange, *, conversation_id: ConversationId, actor: Actor
    ) -> DecisionOutcome:
        """List, accept, reject or withdraw decisions, or say why not. Admins only."""
        view = await self.parts.gate.open(conversation_id, actor)
        if not actor.admin or not view.seen.scopes:
            return Refused("not_allowed")
        try:
            return await self._decided(change, view)
        except NotAppended as error:
            code = "open_fence" if error.code is AppendFault.HIDDEN else "not_written"
            return Refused(code, detail=error.detail or error.code.value)

    async def _decided(self, change: DecisionChange, view: View) -> DecisionOutcome:
        """Raises NotAppended."""
        if change.action == "list":
            there = await self.parts.recorder.records()
            items = partial(decision_items, there=there, everything=change.everything)
            return Decisions(await self._asked(view, items))
        if change.action == "withdraw":
            return await self._withdraw(change, view)
        stored = await self._named(change, view)
        if isinstance(stored, Refused):
            return stored
        if change.action == "reject":
            return await self._reject(change, stored)
        return await self._accept(change, stored, change.by or _name_of(view.who))

    async def _asked[T](self, view: View, ask: Callable[[Iterator[StoredMemory]], T]) -> T:
        """What ``ask`` finds, in a thread, among all that the conversation sees."""
        entries = list(self.parts.catalogue.visible(view.seen))
        return await asyncio.to_thread(lambda: ask(cooperative(entries)))

    async def _accept(
        self, change: DecisionChange, stored: StoredMemory, by: str
    ) -> DecisionOutcome:
        if not _is_open(stored) and (change.shown or change.unseen):
            marked = await self.parts.handlers.annotate(stored, proposed)
            stored = marked if isinstance(marked, StoredMemory) else stored
        memory, to = stored.memory, change.to
        if self.parts.at_home or stored.scope.is_public or is_published(memory):
            to = to or RecordFile.DECISIONS
        reference = read_reference(change.reference)
        if reference is None or (self.parts.at_home and reference == Reference()):
            return Refused("reference")
        title, body = title_and_body(memory.judgment, memory.reasoning)
        key = proposal_key(memory.memory_id)
        record = Record(0, title, None, by, reference, change.number, proposal=key, body=body)
        refused = await self._unfit(stored, record, here=to is None, anyway=change.anyway)
        return refused or await self.parts.recorder.publish(record, to, stored, change)

    async def _named(self, change: DecisionChange, view: View) -> StoredMemory | Refused:
        """Returns the entry of the conversation's own scope that is decided on. An accepted one has
        a record to be told of."""
        stored, beginning = view.governed(change.proposal), pointed_id(change.proposal)
        if not isinstance(stored, StoredMemory) and beginning:
            ids = await self._asked(view, partial(_open_ids, beginning=beginning))
            if len(ids) > 1:
                return Refused("ambiguous", detail=", ".join(ids))
            stored = view.governed(ids[0]) if ids else stored
        if isinstance(stored, StoredMemory):
            accepts = change.action == "accept"
            if not is_rejected(stored.memory) if accepts else is_proposed(stored.memory):
                return stored
        return Refused("no_proposal")

    async def _unfit(
        self, stored: StoredMemory, record: Record, *, here: bool, anyway: bool
    ) -> Refused | None:
        """Returns why these words are not published. ``here``: they stay where they are, so they
        may be private, and name who said them."""
        if is_published(stored.memory) or (here and is_accepted(stored.memory)):
            return None  # they were
        if not here:
            found = account_in(stored.memory) or await asyncio.to_thread(_private, record)
            if found:
                return Refused("not_public", detail=found)
        found_against = () if anyway else objections(stored.memory, stored.scope)
        against = tuple(one for one in found_against if not (here and one[0] == "names_speaker"))
        return Refused("objection", objections=against) if against else None

    async def _reject(self, change: DecisionChange, stored: StoredMemory) -> DecisionOutcome:
        made = partial(rejected, day=f"{self.parts.clock():%Y-%m-%d}", why=change.why)
        marked = await self.parts.handlers.annotate(stored, made)
        return Recorded(0) if isinstance(marked, StoredMemory) else Refused("no_proposal")

    async def _withdraw(self, change: DecisionChange, view: View) -> DecisionOutcome:
        own = await self._asked(view, partial(decided_here, number=change.number))
        if own is not None and not view.governs(own.scope):
            return Refused("no_such_record")
        verb = "Withdraws" if self.parts.settings.loop.english else "撤回"
        title, by = f"{verb} {record_name(change.number)}", change.by or _name_of(view.who)
        record = Record(0, title, None, by, withdraws=change.number, body=change.why)
        if own is None and (found := await asyncio.to_thread(_private, record)):
            return Refused("not_public", detail=found)
        to = RecordFile.DECISIONS if own is None else None
        return await self.parts.recorder.publish(record, to, own, change)


def _private(record: Record) -> str:
    """Returns the kind of private data in what would be published, empty for none."""
    text = f"{record.title}\n{record.body}\n{record.by}"
    return next((kind for kind, _, _ in find(text)), "")


def _is_open(stored: StoredMemory) -> bool:
    """True for a proposal that was not turned down."""
    return is_proposed(stored.memory) or is_accepted(stored.memory)


def _open_ids(entries: Iterable[StoredMemory], *, beginning: str) -> list[str]:
    named = (one for one in entries if one.memory.memory_id.startswith(beginning))
    return sorted(one.memory.memory_id for one in named if _is_open(one))


def _name_of(actor: Actor) -> str:
    """Returns a name; none where the platform knows none and the account stands for it."""
    return "" if actor.person.endswith(f":{actor.name}") else actor.name
