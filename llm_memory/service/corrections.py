"""What people do to entries that stand: forget, edit, move, and take it back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
from ..remember.edit import forgotten_words, left_words
from ..remember.rules.gate import told_in_confidence
from ..runtime.cooperative import unhurried
from ..scopes.access import View
from ..scopes.rules.scope_resolution import target_scope
from .door import Door, deed


@dataclass(eq=False)
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
        view = await self._gate.open(conversation_id, actor)
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
        stored = view.find(memory_id) or self._unread.find(named, view.seen)
        if stored is None:
            archived = await self._archived(memory_id, view)
            stored = archived if for_good else None
            if stored is None:
                return _gone(memory_id, archived)
        return stored if view.may_forget(stored) else view.refusal(stored)

    async def _forget(
        self, found: Mapping[str, StoredMemory], view: View, *, for_good: bool = False
    ) -> dict[str, ChangeOutcome]:
        """The corrections are noted first: a kill between must not lose them. What is not read yet
        has no entry: noted as forgotten it is neither recalled nor learned, and for good its words
        leave the queue at night."""
        at = self._clock().replace(microsecond=0)
        turns = [one for one in found.values() if self._unread.waiting(key_of(one))]
        done = set(map(entry_key, turns))
        entries = [one for one in found.values() if entry_key(one) not in done]
        living = [one for one in entries if one.path != ARCHIVE]
        after = "" if for_good else forgotten_words(view.requester, at)
        noted = await self._corrected.note(
            DeedKind.FORGOTTEN, [*living, *turns], view.requester, after=after
        )
        gone, refused = await self._handlers.archive(living, view.who, at)
        done.update(map(entry_key, gone))
        left = [n for n, one in zip(noted, living, strict=False) if entry_key(one) not in done]
        await self._corrected.drop(left)
        for turn in turns if for_good else ():
            await self._corrected.purged(turn.scope.name, [_id(turn)])
        await self._follower.follow()
        unfinished = await self._purge(entries) if for_good and refused is None else {}
        outcomes = dict[str, ChangeOutcome]()
        for memory_id, one in found.items():
            if for_good and (refused is None or one in turns):
                why = unfinished.get(one.scope, "")
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
            left[scope] = await self._handlers.purge(scope, ids)
            try:
                for memory_id in ids:
                    await asyncio.to_thread(self._intents.forget, proposal_key(memory_id))
            except StateUnavailable as error:
                left[scope] = left[scope] or str(error)
        return left

    async def _archived(self, memory_id: str, view: View) -> StoredMemory | None:
        """A forgotten entry or turn that the conversation sees."""
        named = pointed_id(memory_id)
        for scope in view.changeable if named else ():
            for archived in filter(view.sees, await self._forgotten(scope, [named or ""])):
                return archived
        return None

    async def _forgotten(self, scope: Scope, memory_ids: Sequence[str]) -> list[StoredMemory]:
        """Those of these that were forgotten in the scope: entries of the archive, and turns that
        are not read yet."""
        taken_out = (one for one in memory_ids if self._corrected.was_taken_out(scope.name, one))
        turns = (self._unread.waiting(Key(scope.name, one)) for one in taken_out)
        return [*await self._handlers.archived(scope, memory_ids), *filter(None, turns)]

    @deed
    async def edit(
        self, memory_id: str, text: str, *, conversation_id: ConversationId, actor: Actor
    ) -> ChangeOutcome:
        """Give an entry other words. Admins only: of the conversation's own scope, and in their
        own private chat whatever they see there."""
        view = await self._gate.open(conversation_id, actor)
        stored = await self._governed(memory_id, view)
        if isinstance(stored, Refused):
            return stored
        edited = await self._handlers.edit(stored, text, view.requester, own=view.said(stored))
        await self._follower.follow()
        return edited

    @deed
    async def move(
        self, memory_id: str, scope_name: str, *, conversation_id: ConversationId, actor: Actor
    ) -> ChangeOutcome:
        """Move an entry to another scope, by whom it may be edited."""
        view = await self._gate.open(conversation_id, actor)
        stored = await self._governed(memory_id, view)
        if isinstance(stored, Refused):
            return stored
        known = {*self._book.mapped(), *await self._handlers.folders()}
        target = target_scope(scope_name, known)
        if target is None:
            return Refused(Reason.UNKNOWN_SCOPE, detail=scope_name)
        if target == stored.scope:
            return Changed(DeedKind.MOVED, stored, before=target.name)
        refused = self._book.no_confidence(target)
        if refused and told_in_confidence(stored.memory):
            return refused
        moved = await self._handlers.move(stored, target, view.requester)
        await self._follower.follow()
        return moved

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
        view = await self._gate.open(conversation_id, actor)
        stored = await self._governed(memory_id, view)
        if isinstance(stored, Refused):
            return stored
        vouched = await self._handlers.vouch(stored, trusted=not withdrawn)
        if isinstance(vouched, Refused):
            return vouched
        return Changed(DeedKind.AMENDED, self._catalogue.get(entry_key(vouched)) or vouched)

    async def _governed(self, memory_id: str, view: View) -> StoredMemory | Refused:
        found = view.governed(memory_id)
        if not is_absent(found):
            return found
        return _gone(memory_id, await self._archived(memory_id, view))

    @deed
    async def restore(
        self, memory_id: str = "", *, conversation_id: ConversationId, actor: Actor
    ) -> UndoOutcome:
        """Take back what was done last to an entry that the conversation sees or saw: forgotten,
        it comes back; edited, it has its former words; moved, it is here again.

        Without an id: the last that this person did in this conversation and that can still be
        undone; if that was to bring what was left behind, all of it goes back. NOT_VISIBLE names
        what was changed since, if that is why nothing can. Raises StateUnavailable, EngineClosed.
        """
        view = await self._gate.open(conversation_id, actor)
        if not memory_id:
            return await self._undo_last(view)
        done = self._last_deed(pointed_id(memory_id) or "", view)
        if done is not None and done.kind is not DeedKind.FORGOTTEN:
            if done.kind is DeedKind.MOVED and not actor.admin:
                return absent(memory_id)  # whether it still lives there is not for everybody
            if self._catalogue.get(Key(done.stands_in, done.memory_id)) is not None:
                return await self._undo(done, view)
            done = None
        archived = await self._archived(memory_id, view)
        if archived is None:
            return absent(memory_id)
        return await self._bring_back([archived], [done] if done else [], view)

    def _last_deed(self, memory_id: str, view: View) -> Deed | None:
        """What was done last to a memory of these scopes: not that it was to be forgotten, where a
        kill came before it was."""
        names = {scope.name for scope in view.changeable}
        for done in self._corrected.undoable(memory_id=memory_id) if memory_id else ():
            living = self._catalogue.get(Key(done.scope, memory_id))
            if done.scope in names and not (living and done.kind is DeedKind.FORGOTTEN):
                return done
        return None

    async def _undo_last(self, view: View) -> UndoOutcome:
        changed = ""
        person, door = view.who.person, view.where.umo
        for done in self._corrected.undoable(person=person, door=door) if person else ():
            outcome = await self._undo(done, view)
            if not (is_absent(outcome) or is_denied(outcome)):
                return outcome
            if is_absent(outcome):
                changed = changed or outcome.detail
        return absent(changed)

    async def _undo(self, done: Deed, view: View) -> UndoOutcome:
        changeable = {scope.name: scope for scope in view.changeable}
        if done.kind is DeedKind.BROUGHT:
            may = view.trusts(changeable.get(done.stands_in, PUBLIC))
            return await self._bringing.take_back(done) if may else Refused(Reason.NOT_ALLOWED)
        if done.kind is DeedKind.FORGOTTEN:
            return await self._recover(done, view)
        standing = self._catalogue.get(Key(done.stands_in, done.memory_id))
        scope = changeable.get(done.scope)
        if scope is None or standing is None:
            return absent(done.memory_id if scope and view.who.admin else "")
        if done.kind is DeedKind.REPLACED:
            return await self._swap_back(done, standing, view)
        if done.kind is not DeedKind.MOVED and not view.sees(standing):
            return absent(done.memory_id)
        if not view.governs(scope):
            return view.refusal(standing)
        undone = await self._handlers.take_back(standing, done)
        await self._follower.follow()
        return undone

    async def _swap_back(self, done: Deed, new: StoredMemory, view: View) -> UndoOutcome:
        """Take back that an entry replaced another one."""
        former = next(iter(await self._handlers.archived(new.scope, [done.before])), None)
        if former is None:
            return absent(done.memory_id)
        if not (view.may_forget(new) and view.may_forget(former)):
            return view.refusal(new)
        # It stays taken back, whatever turn that is not read yet says it.
        numbers = await self._corrected.note(DeedKind.FORGOTTEN, [new], view.requester)
        back, refused = await self._restored([former])
        swapped = bool(back) and await self._handlers.supersede(new, back[0])
        if not swapped:
            await self._corrected.drop(numbers)
        if back:
            await self._corrected.undone([done])
        await self._follower.follow()
        if not back:
            return refused or absent(done.memory_id)
        kind = DeedKind.REPLACED if swapped else DeedKind.FORGOTTEN
        return Changed(kind, back[0], undone=True)

    async def _recover(self, done: Deed, view: View) -> UndoOutcome:
        """Take back that entries were forgotten: as far as the archive has them as it
        left them."""
        found, changed, deeds = list[StoredMemory](), "", self._corrected.together(done)
        for scope in view.changeable:
            ids = [one.memory_id for one in deeds if one.scope == scope.name]
            archived = {_id(one): one for one in await self._forgotten(scope, ids)}
            async for memory_id in unhurried(ids):
                one = archived.get(memory_id)
                stands = self._catalogue.get(Key(scope.name, memory_id)) is not None
                if stands or one is None or not _is_left(one, done):
                    changed = memory_id
                else:
                    found.append(one)
        return await self._bring_back(found, deeds, view) if found else absent(changed)

    async def _bring_back(
        self, archived: Sequence[StoredMemory], done: Sequence[Deed], view: View
    ) -> UndoOutcome:
        """Out of the archive, what this person may take back here; what comes of it for the first
        one, if that is nothing."""
        first = archived[0]
        mine = [one async for one in unhurried(archived) if view.may_forget(one)]
        if not mine:
            return view.refusal(first) if view.sees(first) else absent(_id(first))
        back, refused = await self._restored(mine)
        await self._follower.follow()
        if not back:
            return refused or absent(_id(first))
        await self._corrected.undone(done)
        told = [one for one in back if self._unread.waiting(key_of(one)) is None] or back
        return Changed(DeedKind.FORGOTTEN, told[0], undone=True, more=len(told) - 1)

    async def _restored(
        self, archived: Iterable[StoredMemory]
    ) -> tuple[list[StoredMemory], Refused | None]:
        back = list[StoredMemory]()
        for scope, found in _by_scope(archived).items():
            restored, refused = await self._handlers.restore(scope, found.keys())
            restored += [one for one in found.values() if one.path != ARCHIVE]
            back += restored
            await self._corrected.restored(scope.name, map(_id, restored))
            if refused is not None:
                return back, refused
        return back, None


def _gone(memory_id: str, archived: StoredMemory | None) -> Refused:
    """No such memory lives here: it may have been forgotten."""
    return Refused(Reason.FORGOTTEN if archived else Reason.NOT_VISIBLE, detail=memory_id)


def _by_scope(found: Iterable[StoredMemory]) -> dict[Scope, dict[str, StoredMemory]]:
    by_scope: dict[Scope, dict[str, StoredMemory]] = {}
    for one in found:
        by_scope.setdefault(one.scope, {})[_id(one)] = one
    return by_scope


def _id(stored: StoredMemory) -> str:
    return stored.memory.memory_id


def _is_left(archived: StoredMemory, done: Deed) -> bool:
    """True if it was this deed that forgot the entry."""
    return archived.path != ARCHIVE or done.after in ("", left_words(archived))
