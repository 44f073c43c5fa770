"""What people do to entries that stand: forget, edit, move, and take it back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import chain
from typing import Unpack

from ..catalogue.catalogue import entry_key, key_of
from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.timeline import local_day
from ..models.conversation import By
from ..models.data_models import (
    Changed,
    ChangeOutcome,
    Refused,
    StoredMemory,
    UndoOutcome,
    absent,
    is_absent,
    is_denied,
)
from ..models.deeds import Deed, DeedKind
from ..models.passages import Key
from ..models.scope import PUBLIC
from ..models.vault_layout import ARCHIVE
from ..remember.deeds import lost
from ..remember.rules.corrected import unread_id
from ..remember.rules.gate import told_in_confidence
from ..runtime.cooperative import unhurried
from ..scopes.access import View
from ..scopes.rules.scope_resolution import target_scope
from ..text.dates.spans import TimeSpan
from .door import Door, deed

type Change = Callable[[StoredMemory, View], Awaitable[ChangeOutcome]]


class Corrections(Door):
    """Who asks, and from where, is told by the view."""

    async def forget(
        self, memory_id: str, *, for_good: bool = False, **by: Unpack[By]
    ) -> ChangeOutcome:
        """Move an entry to the archive: its speaker wherever it is seen, an admin where he may edit
        it. ``for_good``: out of the archive, too, also if it was forgotten before. No undo."""
        (outcome,) = await self.forget_many([memory_id], for_good=for_good, **by)
        return outcome

    @deed
    async def forget_many(
        self, ids: Sequence[str], *, for_good: bool = False, **by: Unpack[By]
    ) -> list[ChangeOutcome]:
        """The same of several as one deed, with one undo: an outcome for each id."""
        view = await self.parts.gate.open(by["conversation_id"], by["actor"])
        named = [
            await self._forgettable(one, view, for_good=for_good) async for one in unhurried(ids)
        ]
        found = (one for one in named if isinstance(one, StoredMemory))
        done = await self._forget(found, view, for_good=for_good)
        return [one if isinstance(one, Refused) else done[entry_key(one)] for one in named]

    async def learned_here(self, days: TimeSpan | None = None, **by: Unpack[By]) -> int:
        """How much of what was said in this conversation, or on these days of it, this person may
        forget; with turns that wait to be read."""
        view = await self.parts.gate.open(by["conversation_id"], by["actor"])
        return len(await self._learned_here(days, view, await self._sessions(view)))

    @deed
    async def forget_here(
        self, days: TimeSpan | None = None, *, for_good: bool = False, **by: Unpack[By]
    ) -> list[ChangeOutcome]:
        """Forget all of that as one deed, with one undo. Waiting turns that tell nothing by
        themselves are dropped with it: nothing of that talk is learned any more."""
        view = await self.parts.gate.open(by["conversation_id"], by["actor"])
        sessions = await self._sessions(view)
        found = await self._learned_here(days, view, sessions)
        done = await self._forget(found, view, for_good=for_good)
        untold = await asyncio.to_thread(self._untold, days, view, sessions)
        await asyncio.to_thread(self.parts.turns.drop, untold)
        return list(done.values())

    async def _learned_here(
        self, days: TimeSpan | None, view: View, sessions: frozenset[str]
    ) -> list[StoredMemory]:
        zone = self.parts.clock().tzinfo
        turns = list(self.parts.unread.visible(view.seen))
        entries = self.parts.catalogue.visible_with_text(view.seen)

        def found() -> list[StoredMemory]:
            known = chain((one for one, _ in entries), turns)
            here = (one for one in known if one.memory.provenance.conversation in sessions)
            return [one for one in here if view.may_forget(one) and _in(days, local_day(one, zone))]

        return await asyncio.to_thread(found)

    def _untold(self, days: TimeSpan | None, view: View, sessions: frozenset[str]) -> list[str]:
        """The tickets of turns that wait and are not recalled. Blocks."""
        found, store, zone = list[str](), self.parts.turns, self.parts.clock().tzinfo
        for scope in view.changeable:
            for turn in store.turns(store.tickets(scope.name, sessions)):
                own = self.parts.book.same_person(view.who.person, turn.person)
                known = self.parts.unread.waiting(Key(scope.name, unread_id(turn.ticket_id)))
                said_then = _in(days, turn.observed_at.astimezone(zone).date())
                if known is None and said_then and (own or view.governs(scope)):
                    found.append(turn.ticket_id)
        return found

    async def _sessions(self, view: View) -> frozenset[str]:
        """The origins of a conversation: a group that the platform splits by member has several."""
        where = view.where
        known = await self.parts.book.senders() if where.group else []
        same = (one.umo for one in known if one.group == where.group)
        return frozenset({where.umo, *(umo for umo in same if umo.startswith(f"{where.account}:"))})

    async def _forgettable(
        self, memory_id: str, view: View, *, for_good: bool
    ) -> StoredMemory | Refused:
        named = pointed_id(memory_id) or ""
        stored = view.find(memory_id) or self.parts.unread.find(named, view.seen)
        if stored is None:
            archived = await self._forgotten([named], view)
            if not archived or not for_good:
                return Refused("forgotten" if archived else "not_visible", detail=memory_id)
            stored = archived[0]
        return stored if view.may_forget(stored) else view.refusal(stored)

    async def _forget(
        self, named: Iterable[StoredMemory], view: View, *, for_good: bool = False
    ) -> dict[Key, ChangeOutcome]:
        """The corrections are noted first: a kill between must not lose them. A turn that is not
        read yet has no entry: so it is neither recalled nor learned, and for good its words leave
        the queue at night."""
        found = {entry_key(one): one for one in named}
        standing = {key: one for key, one in found.items() if one.path != ARCHIVE}
        turns = {key for key, one in standing.items() if self.parts.unread.waiting(key_of(one))}
        # What a night has put into the archive stands in backups as well, and no deed tells of it.
        untold = {
            key: one
            for key, one in found.items()
            if one.path != ARCHIVE or not self.parts.corrected.was_taken_out(*key)
        }
        deeds = (
            replace(lost(DeedKind.FORGOTTEN, one.scope.name, one.memory), undoable=not for_good)
            for one in untold.values()
        )
        numbers = await self.parts.corrected.note(deeds, view.requester)
        living = [one for key, one in standing.items() if key not in turns]
        gone, refused = await self.parts.handlers.archive(living, view.who)
        done = turns.union(map(entry_key, gone), found.keys() - standing.keys())
        pairs = zip(numbers, untold, strict=True)
        await self.parts.corrected.drop([number for number, key in pairs if key not in done])
        await self.parts.corrections.follow()
        if for_good and refused is None:
            unfinished = await self.parts.handlers.purge(found.values())
            purged = partial(Changed, DeedKind.PURGED, unfinished=unfinished)
            return {key: purged(one) for key, one in found.items()}
        forgotten = partial(Changed, DeedKind.FORGOTTEN)
        return {
            key: forgotten(one) if key in done else refused or absent(key.memory_id)
            for key, one in found.items()
        }

    async def _forgotten(self, ids: Collection[str], view: View) -> list[StoredMemory]:
        """What was forgotten where the conversation sees it: entries of the archive, and turns that
        are not read yet."""
        found, was_taken_out = list[StoredMemory](), self.parts.corrected.was_taken_out
        for scope in view.changeable if any(ids) else ():
            archived = await asyncio.to_thread(self.parts.vault.archived, scope, ids)
            found += (StoredMemory(scope, ARCHIVE, memory) for memory in archived)
            turns = (self.parts.unread.waiting(Key(scope.name, one)) for one in ids)
            found += (one for one in turns if one and was_taken_out(*entry_key(one)))
        return [one for one in found if view.sees(one)]

    @deed
    async def edit(self, memory_id: str, text: str, **by: Unpack[By]) -> ChangeOutcome:
        """Give an entry other words. Admins only: of the conversation's own scope, and in their own
        private chat whatever they see there."""
        edit = self.parts.handlers.edit
        return await self._govern(
            memory_id, by, lambda one, view: edit(one, text, view.requester, own=view.said(one))
        )

    @deed
    async def move(self, memory_id: str, scope_name: str, **by: Unpack[By]) -> ChangeOutcome:
        """Move an entry to another scope, by whom it may be edited."""

        async def change(stored: StoredMemory, view: View) -> ChangeOutcome:
            known = {*self.parts.book.mapped(), *await self.parts.handlers.folders()}
            target = target_scope(scope_name, known)
            if target is None:
                return Refused("unknown_scope", detail=scope_name)
            if target == stored.scope:
                return Changed(DeedKind.MOVED, stored, before=target.name)
            refused = self.parts.book.no_confidence(target)
            if refused and told_in_confidence(stored.memory, *stored.memory.extra):
                return refused
            return await self.parts.handlers.move(stored, target, view.requester)

        return await self._govern(memory_id, by, change)

    @deed
    async def vouch(
        self, memory_id: str, *, withdrawn: bool = False, **by: Unpack[By]
    ) -> ChangeOutcome:
        """Vouch for an entry, or take that back, by whom it may be edited."""
        vouch = partial(self.parts.handlers.vouch, trusted=not withdrawn)
        return await self._govern(memory_id, by, lambda stored, _: vouch(stored))

    async def _govern(self, memory_id: str, by: By, change: Change) -> ChangeOutcome:
        """Do what an admin may do to an entry from there."""
        view = await self.parts.gate.open(by["conversation_id"], by["actor"])
        stored = view.governed(memory_id)
        if isinstance(stored, Refused):
            ids = [pointed_id(memory_id) or ""]
            gone = is_absent(stored) and await self._forgotten(ids, view)
            return Refused("forgotten", detail=memory_id) if gone else stored
        outcome = await change(stored, view)
        await self.parts.corrections.follow()
        return outcome

    @deed
    async def restore(self, memory_id: str = "", **by: Unpack[By]) -> UndoOutcome:
        """Take back what was done last to an entry that the conversation sees or saw; without an
        id, the last that this person did in this conversation and that can still be undone, as a
        whole. Raises StateUnavailable, EngineClosed."""
        view = await self.parts.gate.open(by["conversation_id"], by["actor"])
        named, names = pointed_id(memory_id), {scope.name for scope in view.changeable}

        def is_meant(one: Deed) -> bool:
            if memory_id:
                return named in one.names and one.scope in names
            mine = one.actor, one.door
            return bool(one.actor) and mine == (view.who.person, view.where.umo)

        found = self.parts.corrected.undoable(is_meant)
        for deeds in found[:1] if memory_id else found:
            # Of what one deed had forgotten together an id brings back one alone.
            if not memory_id or deeds[0].kind is not DeedKind.FORGOTTEN:
                outcome = await self._undo(deeds, view)
                if not (is_absent(outcome) or (is_denied(outcome) and not memory_id)):
                    return outcome
        archived = await self._forgotten([named or ""], view)
        return await self._bring_back(archived[:1], view) if archived else absent(memory_id)

    async def _undo(self, deeds: Sequence[Deed], view: View) -> UndoOutcome:
        """Undo what was done together."""
        done, changeable = deeds[0], {scope.name: scope for scope in view.changeable}
        if done.kind is DeedKind.BROUGHT:
            may = view.trusts(changeable.get(done.stands_in, PUBLIC))
            return await self.parts.bringing.take_back(done) if may else Refused("not_allowed")
        if done.kind is DeedKind.FORGOTTEN:
            return await self._recover(deeds, view)
        scope = changeable.get(done.scope)
        standing = self.parts.catalogue.get(Key(done.stands_in, done.memory_id))
        if scope is None or standing is None:
            return absent()
        if done.kind is DeedKind.REPLACED:
            return await self._swap_back(done, standing, view)
        sees = view.sees(standing)
        if not view.governs(scope) or not (sees or done.kind is DeedKind.MOVED):
            # Whether it still lives elsewhere is not for everybody.
            return view.refusal(standing) if sees else absent()
        undone = await self.parts.handlers.take_back(standing, done)
        await self.parts.corrections.follow()
        return undone

    async def _swap_back(self, done: Deed, new: StoredMemory, view: View) -> UndoOutcome:
        """The new one is forgotten, and stays so whatever turn that is not read yet says it."""
        forgotten = await self._forgotten([done.before], view)
        former = [one for one in forgotten if one.scope == new.scope]
        if not former:
            return absent(done.memory_id)
        outcome = (
            await self._bring_back(former, view) if view.may_forget(new) else view.refusal(new)
        )
        if isinstance(outcome, Changed):
            await self._forget([new], view)
            await self.parts.corrected.no_undo(new.scope.name, [done.memory_id])
            outcome = replace(outcome, kind=DeedKind.REPLACED)
        return outcome

    async def _recover(self, deeds: Sequence[Deed], view: View) -> UndoOutcome:
        """As far as the archive has them. What stood again since is no part of it any more."""
        keys = {Key(one.scope, one.memory_id) for one in deeds}
        keys = {key for key in keys if self.parts.catalogue.get(key) is None}
        archived = await self._forgotten({key.memory_id for key in keys}, view)
        found = [one async for one in unhurried(archived) if entry_key(one) in keys]
        outcome = await self._bring_back(found, view) if found else absent()
        if isinstance(outcome, Changed):
            await self.parts.corrected.undone(deeds)
        return outcome

    async def _bring_back(self, forgotten: Sequence[StoredMemory], view: View) -> UndoOutcome:
        """What this person may take back here; if that is nothing, why not the first one."""
        mine = [one async for one in unhurried(forgotten) if view.may_forget(one)]
        if not mine:
            return view.refusal(forgotten[0])
        back, refused = await self.parts.handlers.restore(mine)
        await self.parts.corrections.follow()
        if not back:
            return refused or absent(forgotten[0].memory.memory_id)
        return Changed(DeedKind.FORGOTTEN, back[0], undone=True, more=len(back) - 1)


def _in(days: TimeSpan | None, day: date) -> bool:
    return days is None or days.start <= day <= days.end
