"""A chat or a bot account goes on under another name, and all that stands under the former one
goes with it: entries of the map, pauses, and memories in scopes that a policy had derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..catalogue.unread_turns import UnreadTurns
from ..migration.bringing import Bringing, batches_of
from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor
from ..models.resolution import RebindFault, Rebinding, Rebound, Usable
from ..models.scope import PUBLIC
from ..remember.edit import MemoryEditor, Requester
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access
from ..scopes.paused_conversations import PausedConversations
from ..scopes.rules.rebinding import (
    fault_of,
    is_account,
    known_under,
    moved_entries,
    parsed,
    renamed,
)
from ..scopes.scope_book import ScopeBook
from ..vault.models import UndoKind, UndoRecord


@dataclass(eq=False)
class Rebinds:
    """For the plugin, which saves the owner's map between ``begin`` and ``finish``. The caller has
    made sure that an admin or the platform itself says so, and holds the map's lock."""

    _book: ScopeBook
    _access: Access
    _former: FormerScopes
    _bringing: Bringing
    _paused: PausedConversations
    _unread: UnreadTurns
    _editor: MemoryEditor
    _life: Lifespan
    _before: tuple[Rebinding, ...] = ()

    async def plan(
        self, raw: Mapping[str, object], old: str, new: str, policy: str = ""
    ) -> Rebinding | RebindFault:
        """What goes along in the owner's map, or why nothing may. One that was begun and not
        finished goes on.

        ``policy``: what the owner's settings say of the former account's private chats alone.
        """
        await self._life.ready()
        if fault := fault_of(old, new, self._book.accounts):
            return fault
        moved = moved_entries(raw, old, new)
        if isinstance(moved, RebindFault):
            return moved
        before = [one for one in self._book.rebound if (one.old, one.new) == (old, new)]
        if before and not before[-1].finished:
            all_moved = tuple(dict.fromkeys((*before[-1].moved, *moved)))
            return replace(before[-1], moved=all_moved, policy=policy or before[-1].policy)
        known = bool(known_under(old, self._paused.all()) or self._former.knows(old))
        if not (moved or policy or (known and not before)):
            return RebindFault.NOTHING
        return Rebinding(old, new, moved, policy=policy, finished=False)

    def hold(self, new: str, old: str) -> None:
        """Until it is done, ``new`` reads public only and learns nothing."""
        self._book.hold(new, old)

    async def keep_holds(self) -> None:
        """Have the holds outlast a restart."""
        await self._life.ready()
        await self._life.finish(lambda: self._book.settle(()))

    async def release(self, new: str) -> None:
        """There is nothing to be done for it."""
        await self._life.ready()
        await self._life.finish(lambda: self._book.settle([new]))

    async def begin(self, rebinding: Rebinding) -> None:
        """Note it durably, before the map is saved. Raises StateUnavailable."""
        self._before = self._book.rebound
        names = (rebinding.old, rebinding.new)
        others = [one for one in self._before if one.finished or (one.old, one.new) != names]
        await self._life.finish(lambda: self._book.rebind([*others, rebinding]))

    async def give_up(self) -> None:
        """The map could not be saved. Raises StateUnavailable."""
        await self._life.finish(lambda: self._book.rebind(self._before))

    async def finish(self, raw: Mapping[str, object], conversation: str, actor: Actor) -> Rebound:
        """The map is saved, and is ``raw`` now: everything else goes along.

        Raises StateUnavailable, VaultWriteFailed, EngineClosed.
        """
        folders = await self._editor.folders()
        return await self._life.finish(
            lambda: self._finish(raw, frozenset(folders), Requester(actor, conversation))
        )

    async def _finish(
        self, raw: Mapping[str, object], folders: frozenset[str], requester: Requester
    ) -> Rebound:
        rebinding = self._book.rebound[-1]
        keys = {key for one in rebinding.moved for key in (one.written, one.key)}
        await self._book.change_map(raw, keys, folders)
        if rebinding.policy:
            self._book.move_account_policy(rebinding.old, rebinding.new)
        rebinding = await self._pause(rebinding)
        self._former.look_again()
        named = [] if is_account(rebinding.new) else [rebinding.new]
        await self._book.settle([*named, *(one.key for one in rebinding.moved)])
        done = Rebound(rebinding)
        left = await self._former.count(self._former.of_renamed(rebinding))
        for one in (one for one in left if not one.shared):
            brought_so_far = dict.fromkeys((*rebinding.brought, (one.source, one.target)))
            rebinding = replace(rebinding, brought=tuple(brought_so_far))
            await self._keep(rebinding)
            brought = await self._bringing.bring(one.remainder, requester)
            done = Rebound(
                rebinding,
                done.memories + brought.memories,
                done.turns + brought.turns,
                done.left + brought.left,
            )
        await self._keep(replace(rebinding, finished=True))
        return done

    async def _keep(self, rebinding: Rebinding) -> None:
        """Note how far the last one has come."""
        await self._book.rebind([*self._book.rebound[:-1], rebinding])

    async def _pause(self, rebinding: Rebinding) -> Rebinding:
        """What was off the record stays so under its new name."""
        paused = []
        for key, pause in self._paused.all().items():
            to = renamed(key, rebinding)
            named = parsed(to) if to else None
            if named is None or named.map_key in rebinding.paused:
                continue
            found = self._access.view(named).resolution
            scope = found.scope.name if isinstance(found, Usable) else PUBLIC.name
            _, was = await self._paused.pause(named, replace(pause, scope=scope))
            paused += [] if was else [named.map_key]
        if not paused:
            return rebinding
        rebinding = replace(rebinding, paused=(*rebinding.paused, *paused))
        await self._keep(rebinding)
        await self._unread.review()
        return rebinding

    async def last(self) -> Rebinding | None:
        """The last one that was not undone."""
        await self._life.ready()
        return self._book.rebound[-1] if self._book.rebound else None

    async def undo(
        self, raw: Mapping[str, object], conversation: str, actor: Actor
    ) -> Rebound | None:
        """The map is saved, and is ``raw`` now: everything else goes back. None where the last one
        is undone already. Raises StateUnavailable, VaultWriteFailed, EngineClosed."""
        folders = await self._editor.folders()
        return await self._life.finish(
            lambda: self._undo(raw, frozenset(folders), Requester(actor, conversation))
        )

    async def _undo(
        self, raw: Mapping[str, object], folders: frozenset[str], requester: Requester
    ) -> Rebound | None:
        if not self._book.rebound:
            return None
        *others, rebinding = self._book.rebound
        keys = {key for one in rebinding.moved for key in (one.written, one.key)}
        await self._book.change_map(raw, keys, folders)
        if rebinding.policy:
            self._book.move_account_policy(rebinding.new, rebinding.old)
        for key in rebinding.paused:
            if (named := parsed(key)) is not None:
                await self._paused.resume(named)
        memories = left = 0
        person, conversation = requester.actor.person, requester.conversation
        for source, target in rebinding.brought:
            for batch in batches_of(source, target):
                names = (batch, source, target)
                back = await self._bringing.take_back(
                    UndoRecord(0, UndoKind.BRING, *names, person, conversation)
                )
                memories, left = memories + back.memories, left + back.left
        await self._book.rebind(others)
        self._former.look_again()
        await self._unread.review()
        return Rebound(rebinding, memories, left=left)
