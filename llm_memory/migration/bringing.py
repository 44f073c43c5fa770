"""Memories and queued turns that are brought from a former scope of a conversation to the one that
it has now, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from ..catalogue.unread_turns import UnreadTurns
from ..models.conversation import ConversationId
from ..models.data_models import Refused
from ..models.deeds import Deed, DeedKind, Requester
from ..models.migration import Added
from ..models.passages import Key
from ..models.resolution import Brought, BroughtBack, Remainder
from ..models.scope import Scope, is_mapped_name
from ..reflection.turn_store import SqliteTurnStore
from ..remember.corrected_texts import CorrectionFollower
from ..remember.deeds import Deeds
from .batch_walks import TURN, Carry, CarryBack
from .former_scopes import FormerScopes
from .holdings import Holdings
from .ports import Walk

_ARCHIVED = "archived "
"""Begins what stands for a ticket where an archived entry was brought."""


class Bringing:
    """One batch for each pair of scopes: what was interrupted goes on when it is asked for again,
    and is undone as a whole."""

    def __init__(
        self,
        former: FormerScopes,
        turns: SqliteTurnStore,
        holdings: Holdings,
        corrected: Deeds,
        unread: UnreadTurns,
        follower: CorrectionFollower,
        run: Callable[[Walk], Awaitable[None]],
    ) -> None:
        """``run``: a walk that a person asked for, while nothing else goes over memories."""
        self._former = former
        self._turns = turns
        self._holdings = holdings
        self._corrected = corrected
        self._unread = unread
        self._follower = follower
        self._run = run

    async def bring_named(
        self, names: Collection[str], conversation_id: ConversationId, requester: Requester
    ) -> list[Brought] | Refused:
        """What ``ScopeAdmin.bring`` does, for whoever may."""
        here = self._former.of(conversation_id)
        everywhere = await self._former.everywhere() if requester.actor.admin else []
        known = dict.fromkeys([*here, *everywhere])
        chosen = [one for one in known if {one.source.name, *one.conversations} & {*names}] or here
        left = await self._former.count(chosen)
        strange = set(names) - {place.name for one in left for place in (one.source, one.target)}
        strange -= {key for one in chosen for key in one.conversations}
        if strange:
            target = self._former.private_scope(conversation_id)
            deserted = await self._deserted(strange, target, requester)
            if isinstance(deserted, Refused):
                return deserted
            return [await self.bring_all(one, target, requester) for one in deserted if target]
        unnamed = tuple(one for one in left if one.shared and one.target.name not in names)
        if unnamed:
            return Refused("not_left", left=unnamed)
        return [await self.bring(one, requester) for one in left]

    async def _deserted(
        self, names: set[str], target: Scope | None, requester: Requester
    ) -> list[Scope] | Refused:
        """The scopes that an admin names beside the target, if the map gives them to nobody."""
        standing = {one.name: one for one in await asyncio.to_thread(self._holdings.vault.scopes)}
        named = sorted(names - {target.name if target else ""})
        for name in named:
            in_use = name in self._former.mapped()
            if not (in_use or name in standing) or not requester.actor.admin:
                return Refused("unknown_scope", detail=name)
            if in_use or target is None or not is_mapped_name(name):
                return Refused("not_left", detail=name)
        return [standing[name] for name in named]

    async def bring_all(
        self, source: Scope, target: Scope, requester: Requester, *, undoable: bool = True
    ) -> Brought:
        """Bring what stands in a whole scope. As ``bring`` does."""
        turns = await asyncio.to_thread(self._turns.of_scope, source.name)
        said_in = frozenset(turn.map_key for turn in turns)
        remainder = Remainder(source, target, said_in, whole=True, shared=True)
        # Of an empty one there is nothing to undo: the person's last deed is another one.
        undoable = undoable and bool(turns or self._former.memories(remainder))
        return await self.bring(remainder, requester, undoable=undoable)

    async def bring(
        self, remainder: Remainder, requester: Requester, *, undoable: bool = True
    ) -> Brought:
        """Bring all of it. Raises StateUnavailable, VaultWriteFailed; a repetition brings the
        rest."""
        source, target = remainder.source, remainder.target
        batch = f"bring-{source.name}:{target.name}"  # no scope's name holds a colon
        await asyncio.to_thread(self._holdings.vault.ensure, target)
        if undoable:
            deed = Deed(DeedKind.BROUGHT, source.name, batch, target=target.name, undoable=True)
            await self._corrected.note([deed], requester)
        else:  # it does not go back with what is brought the same way later
            batch = f"kept-{batch}"
        # What was corrected there must not come back here with turns that were said before.
        persons = None if remainder.whole else await asyncio.to_thread(self._persons, remainder)
        await self._corrected.carry(source.name, target.name, persons)
        # The queue first: what is learned from now on is learned where it belongs.
        turns = await asyncio.to_thread(self._bring_turns, remainder, batch)
        self._unread.drop_scope(source.name)
        await self._follower.follow()
        carry = Carry(batch, self._holdings, remainder, self._former)
        await self._run(carry)
        if remainder.whole:
            await asyncio.to_thread(self._bring_archive, remainder, batch)
        return Brought(source.name, target.name, carry.done, turns, carry.left)

    def _persons(self, remainder: Remainder) -> set[str]:
        """Returns the speakers of what is brought. Blocks."""
        ours = remainder.conversations
        turns = self._turns.of_scope(remainder.source.name)
        return {turn.person for turn in turns if {turn.conversation, turn.map_key} & ours}

    def _bring_turns(self, remainder: Remainder, batch: str) -> int:
        source, target = remainder.source.name, remainder.target.name
        tickets = self._turns.tickets(source, remainder.conversations)
        self._holdings.note(batch, [Added(target, ticket, TURN) for ticket in tickets])
        return len(self._turns.rescope(tickets, source, target))

    def _bring_archive(self, remainder: Remainder, batch: str) -> None:
        source, target = remainder.source, remainder.target
        archived = self._holdings.vault.move_archived(source, target)
        ids = {f"{_ARCHIVED}{one}" for one in archived}
        self._holdings.note(batch, [Added(target.name, one, TURN) for one in sorted(ids)])

    async def take_back(self, done: Deed) -> BroughtBack:
        """Move back what is still as it was brought. Raises StateUnavailable."""
        source = await asyncio.to_thread(self._holdings.vault.named, done.scope)
        back = CarryBack(done.memory_id, self._holdings, source, done.stands_in)
        await self._run(back)
        await asyncio.to_thread(self._take_turns_back, done)
        self._unread.drop_scope(done.stands_in)
        await self._corrected.no_undo(done.stands_in, [done.memory_id])
        return BroughtBack(done.scope, done.stands_in, back.done, left=back.left)

    def _take_turns_back(self, done: Deed) -> None:
        added = self._holdings.store.added(done.memory_id)
        tickets = {one.memory_id for one in added if one.digest == TURN}
        archived = {one for one in tickets if one.startswith(_ARCHIVED)}
        vault, tickets = self._holdings.vault, tickets - archived
        target, source = vault.named(done.stands_in), vault.named(done.scope)
        if target is not None and source is not None:
            ids = {one.removeprefix(_ARCHIVED) for one in archived}
            vault.move_archived(target, source, ids)
        back = self._turns.rescope(tickets, done.stands_in, done.scope)
        keys = [Key(done.stands_in, ticket) for ticket in back]
        self._holdings.store.mark_taken_back(done.memory_id, keys)
