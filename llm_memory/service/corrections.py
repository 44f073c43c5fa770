"""What people do to entries that stand: forget, edit, move, and take it back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..catalogue.catalogue import entry_key, key_of
from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.proposals import proposal_key
from ..errors import StateUnavailable
from ..models.conversation import Actor, ConversationId
from ..models.data_models import (
    Changed,
    ChangeOutcome,
    Reason,
    Refused,
    StoredMemory,
    UndoOutcome,
    absent,
    is_absent,
    is_denied,
)
from ..models.deeds import Deed, DeedKind
from ..models.passages import Key
from ..models.scope import PUBLIC, Scope
from ..models.vault_layout import ARCHIVE
from ..remember.deeds import lost
from ..remember.rules.gate import told_in_confidence
from ..runtime.cooperative import unhurried
from ..scopes.access import View
from ..scopes.rules.scope_resolution import target_scope
from .door import Door, deed


class Corrections(Door):
    """Who asks, and from where, is told by the view."""

    async def forget(
        self,
        memory_id: str,
        *,
        conversation_id: ConversationId,
        actor: Actor,
        for_good: bool = False,
    ) -> ChangeOutcome:
        """Move an entry to the archive: its speaker wherever it is seen, an admin where he
        may edit it.

        ``for_good``: out of the archive, too, also if it was forgotten before. No undo.
        """
        (outcome,) = await self.forget_many(
            [memory_id], conversation_id=conversation_id, actor=actor, for_good=for_good
        )
        return outcome

    @deed
    async def forget_many(
        self,
        ids: Sequence[str],
        *,
        conversation_id: ConversationId,
        actor: Actor,
        for_good: bool = False,
    ) -> list[ChangeOutcome]:
        """The same of several as one deed, with one undo: an outcome for each id."""
        view = await self.parts.gate.open(conversation_id, actor)
        found, outcomes = dict[str, StoredMemory](), dict[str, ChangeOutcome]()
        async for memory_id in unhurried(ids):
            stored = await self._forgettable(memory_id, view, for_good=for_good)
            if isinstance(stored, Refused):
                outcomes[memory_id] = stored
            else:
                found[memory_id] = stored
        if found:
            outcomes |= await self._forget(found, view, for_good=for_good)
        return [outcomes[memory_id] for memory_id in ids]

    async def _forgettable(
        self, memory_id: str, view: View, *, for_good: bool
    ) -> StoredMemory | Refused:
        named = pointed_id(memory_id) or ""
        stored = view.find(memory_id) or self.parts.unread.find(named, view.seen)
        if stored is None:
            archived = await self._forgotten([named], view)
            if not archived or not for_good:
                return _gone(memory_id, archived)
            stored = archived[0]
        return stored if view.may_forget(stored) else view.refusal(stored)

    async def _forget(
        self, found: Mapping[str, StoredMemory], view: View, *, for_good: bool = False
    ) -> dict[str, ChangeOutcome]:
        """The corrections are noted first: a kill between must not lose them. What is not read yet
        has no entry: noted as forgotten it is neither recalled nor learned, and for good its words
        leave the queue at night."""
        at = self.parts.clock().replace(microsecond=0)
        standing = [one for one in found.values() if one.path != ARCHIVE]
        turns = {entry_key(one) for one in standing if self.parts.unread.waiting(key_of(one))}
        living = [one for one in standing if entry_key(one) not in turns]
        noted = partial(lost, DeedKind.FORGOTTEN, undoable=not for_good)
        deeds = (noted(one.scope.name, one.memory) for one in standing)
        numbers = await self.parts.corrected.note(deeds, view.requester)
        gone, refused = await self.parts.handlers.archive(living, view.who, at)
        done = turns.union(map(entry_key, gone))
        pairs = zip(numbers, standing, strict=True)
        await self.parts.corrected.drop([n for n, one in pairs if entry_key(one) not in done])
        await self.parts.corrections.follow()
        purged = for_good and refused is None
        unfinished = await self._purge(found.values()) if purged else {}
        outcomes = dict[str, ChangeOutcome]()
        for memory_id, one in found.items():
            if purged:
                why = unfinished[one.scope]
                outcomes[memory_id] = Changed(DeedKind.PURGED, one, unfinished=why)
            elif entry_key(one) in done:
                outcomes[memory_id] = Changed(DeedKind.FORGOTTEN, one)
            else:
                outcomes[memory_id] = refused or absent(memory_id)
        return outcomes

    async def _purge(self, found: Iterable[StoredMemory]) -> dict[Scope, str]:
        """Returns, by scope, what could not be deleted, and why."""
        left = dict[Scope, str]()
        for scope, ids in _by_scope(found).items():
            left[scope] = await self.parts.handlers.purge(scope, ids)
            try:
                for memory_id in ids:
                    await asyncio.to_thread(self.parts.intents.forget, proposal_key(memory_id))
            except StateUnavailable as error:
                left[scope] = left[scope] or str(error)
        return left

    async def _forgotten(self, ids: Collection[str], view: View) -> list[StoredMemory]:
        """Those of these that were forgotten where the conversation sees them: entries of the
        archive, and turns that are not read yet."""
        found, was_taken_out = list[StoredMemory](), self.parts.corrected.was_taken_out
        for scope in view.changeable if any(ids) else ():
            found += await self.parts.handlers.archived(scope, ids)
            turns = (self.parts.unread.waiting(Key(scope.name, one)) for one in ids)
            found += (one for one in turns if one and was_taken_out(scope.name, _id(one)))
        return [one for one in found if view.sees(one)]

    @deed
    async def edit(
        self, memory_id: str, text: str, *, conversation_id: ConversationId, actor: Actor
    ) -> ChangeOutcome:
        """Give an entry other words. Admins only: of the conversation's own scope, and in their
        own private chat whatever they see there."""

        async def change(stored: StoredMemory, view: View) -> ChangeOutcome:
            own = view.said(stored)
            return await self.parts.handlers.edit(stored, text, view.requester, own=own)

        return await self._govern(memory_id, conversation_id, actor, change)

    @deed
    async def move(
        self, memory_id: str, scope_name: str, *, conversation_id: ConversationId, actor: Actor
    ) -> ChangeOutcome:
        """Move an entry to another scope, by whom it may be edited."""

        async def change(stored: StoredMemory, view: View) -> ChangeOutcome:
            known = {*self.parts.book.mapped(), *await self.parts.handlers.folders()}
            target = target_scope(scope_name, known)
            if target is None:
                return Refused(Reason.UNKNOWN_SCOPE, detail=scope_name)
            if target == stored.scope:
                return Changed(DeedKind.MOVED, stored, before=target.name)
            refused = self.parts.book.no_confidence(target)
            if refused and told_in_confidence(stored.memory, *stored.memory.extra):
                return refused
            return await self.parts.handlers.move(stored, target, view.requester)

        return await self._govern(memory_id, conversation_id, actor, change)

    @deed
    async def vouch(
        self,
        memory_id: str,
        *,
        withdrawn: bool = False,
        conversation_id: ConversationId,
        actor: Actor,
    ) -> ChangeOutcome:
        """Vouch for an entry, or take that back, by whom it may be edited."""

        async def change(stored: StoredMemory, _: View) -> ChangeOutcome:
            return await self.parts.handlers.vouch(stored, trusted=not withdrawn)

        return await self._govern(memory_id, conversation_id, actor, change)

    async def _govern(
        self,
        memory_id: str,
        where: ConversationId,
        who: Actor,
        change: Callable[[StoredMemory, View], Awaitable[ChangeOutcome]],
    ) -> ChangeOutcome:
        """Do what an admin may do to an entry from there."""
        view = await self.parts.gate.open(where, who)
        stored = view.governed(memory_id)
        if is_absent(stored):
            return _gone(memory_id, await self._forgotten([pointed_id(memory_id) or ""], view))
        if isinstance(stored, Refused):
            return stored
        outcome = await change(stored, view)
        await self.parts.corrections.follow()
        return outcome

    @deed
    async def restore(
        self, memory_id: str = "", *, conversation_id: ConversationId, actor: Actor
    ) -> UndoOutcome:
        """Take back what was done last to an entry that the conversation sees or saw: forgotten,
        it comes back; edited, it has its former words; moved, it is here again.

        Without an id: the last that this person did in this conversation and that can still be
        undone; if that was to bring what was left behind, all of it goes back. Raises
        StateUnavailable, EngineClosed.
        """
        view = await self.parts.gate.open(conversation_id, actor)
        if not memory_id:
            return await self._undo_last(view)
        if (named := pointed_id(memory_id)) is None:
            return absent(memory_id)
        names = {scope.name for scope in view.changeable}
        deeds = self.parts.corrected.undoable(memory_id=named)
        last = next((one for one in deeds if one.scope in names), None)
        if last is not None and last.kind is not DeedKind.FORGOTTEN and self._standing(last):
            if last.kind is DeedKind.MOVED and not actor.admin:
                return absent(memory_id)  # whether it still lives there is not for everybody
            return await self._undo(last, view)
        archived = await self._forgotten([named], view)
        return await self._bring_back(archived[:1], view) if archived else absent(memory_id)

    async def _undo_last(self, view: View) -> UndoOutcome:
        person, door = view.who.person, view.where.umo
        for done in self.parts.corrected.undoable(person=person, door=door) if person else ():
            outcome = await self._undo(done, view)
            if not (is_absent(outcome) or is_denied(outcome)):
                return outcome
        return absent()

    def _standing(self, done: Deed) -> StoredMemory | None:
        """The entry where the deed has left it."""
        return self.parts.catalogue.get(Key(done.stands_in, done.memory_id))

    async def _undo(self, done: Deed, view: View) -> UndoOutcome:
        changeable = {scope.name: scope for scope in view.changeable}
        if done.kind is DeedKind.BROUGHT:
            may = view.trusts(changeable.get(done.stands_in, PUBLIC))
            return await self.parts.bringing.take_back(done) if may else Refused(Reason.NOT_ALLOWED)
        if done.kind is DeedKind.FORGOTTEN:
            return await self._recover(done, view)
        standing, scope = self._standing(done), changeable.get(done.scope)
        if scope is None or standing is None:
            return absent()
        if done.kind is DeedKind.REPLACED:
            return await self._swap_back(done, standing, view)
        if done.kind is not DeedKind.MOVED and not view.sees(standing):
            return absent(done.memory_id)
        if not view.governs(scope):
            return view.refusal(standing)
        undone = await self.parts.handlers.take_back(standing, done)
        await self.parts.corrections.follow()
        return undone

    async def _swap_back(self, done: Deed, new: StoredMemory, view: View) -> UndoOutcome:
        """Take back that an entry replaced another one: the new one is forgotten, and stays so
        whatever turn that is not read yet says it."""
        former = next(iter(await self.parts.handlers.archived(new.scope, [done.before])), None)
        if former is None:
            return absent(done.memory_id)
        if not (view.may_forget(new) and view.may_forget(former)):
            return view.refusal(new)
        outcome = await self._bring_back([former], view)
        if isinstance(outcome, Changed):
            (forgotten,) = (await self._forget({done.memory_id: new}, view)).values()
            await self.parts.corrected.no_undo(new.scope.name, [done.memory_id])
            if isinstance(forgotten, Changed):
                outcome = replace(outcome, kind=DeedKind.REPLACED)
        return outcome

    async def _recover(self, done: Deed, view: View) -> UndoOutcome:
        """Take back that entries were forgotten, as far as the archive has them. What stood again
        since is no part of the deed any more."""
        found, deeds = list[StoredMemory](), self.parts.corrected.together(done)
        keys = {Key(one.scope, one.memory_id) for one in deeds}
        async for one in unhurried(await self._forgotten({key.memory_id for key in keys}, view)):
            key = entry_key(one)
            if key in keys and self.parts.catalogue.get(key) is None:
                found.append(one)
        outcome = await self._bring_back(found, view) if found else absent()
        if isinstance(outcome, Changed):
            await self.parts.corrected.undone(deeds)
        return outcome

    async def _bring_back(self, forgotten: Sequence[StoredMemory], view: View) -> UndoOutcome:
        """What this person may take back here; what comes of it for the first one, if that is
        nothing."""
        first = forgotten[0]
        mine = [one async for one in unhurried(forgotten) if view.may_forget(one)]
        if not mine:
            return view.refusal(first)
        back, turns, refused = list[StoredMemory](), list[StoredMemory](), None
        for scope, found in _by_scope(mine).items():
            unread = [one for one in found.values() if one.path != ARCHIVE]
            restored, refused = await self.parts.handlers.restore(scope, found.keys())
            standing = (one.memory for one in (*restored, *unread))
            await self.parts.corrected.stands(scope.name, standing)
            back, turns = back + restored, turns + unread
            if refused is not None:
                break
        await self.parts.corrections.follow()
        if not (told := back or turns):
            return refused or absent(_id(first))
        return Changed(DeedKind.FORGOTTEN, told[0], undone=True, more=len(told) - 1)


def _gone(memory_id: str, forgotten: Collection[StoredMemory]) -> Refused:
    """No such memory lives here: it may have been forgotten."""
    return Refused(Reason.FORGOTTEN if forgotten else Reason.NOT_VISIBLE, detail=memory_id)


def _by_scope(found: Iterable[StoredMemory]) -> dict[Scope, dict[str, StoredMemory]]:
    by_scope: dict[Scope, dict[str, StoredMemory]] = {}
    for one in found:
        by_scope.setdefault(one.scope, {})[_id(one)] = one
    return by_scope


def _id(stored: StoredMemory) -> str:
    return stored.memory.memory_id
