"""What admins decide about scopes: the map, what was left behind in former scopes, lost files; and
what a chat or a bot account takes along that goes on under another name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ..catalogue.catalogue import Catalogue
from ..catalogue.unread_turns import UnreadTurns
from ..migration.bringing import Bringing, batches_of
from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId
from ..models.data_models import Reason, Refused
from ..models.resolution import Brought, MustBeNamed, RebindFault, Rebinding, Rebound, Usable
from ..models.scope import PUBLIC, is_mapped_name
from ..models.settings import EngineSettings, IllegalName
from ..models.status import MapChange, MapSummary
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
from ..scopes.rules.scope_map import read_scope_map
from ..scopes.rules.scope_resolution import target_scope
from ..scopes.scope_book import ScopeBook
from ..sync.reconciler import Reconciler
from ..vault.models import UndoKind, UndoRecord


@dataclass(eq=False)
class ScopeAdmin:
    """Each method waits until the vault is read. Raises EngineClosed, EngineOff."""

    _settings: EngineSettings
    _book: ScopeBook
    _former: FormerScopes
    _bringing: Bringing
    _editor: MemoryEditor
    _catalogue: Catalogue
    _reconciler: Reconciler
    _life: Lifespan
    rebinds: Rebinds
    """Chats and bot accounts that go on under another name."""

    async def bring(
        self, names: Collection[str] = (), *, conversation_id: ConversationId, actor: Actor
    ) -> list[Brought] | MustBeNamed | Refused:
        """Bring what was left behind where it belongs now: this conversation's, or that of the
        former scopes in ``names``. Where others see the target, too, it has to be named as well.
        Admins; of a private chat that has a scope to itself its person, too.

        Raises StateUnavailable, VaultWriteFailed, EngineClosed; called again, it brings the rest.
        """
        await self._life.ready()
        own = bool(actor.person) and actor.person == conversation_id.person
        if not (actor.admin or (own and self._former.has_its_own(conversation_id))):
            return Refused(Reason.NOT_ALLOWED)
        if not self._settings.scope_filter_enabled:
            return Refused(Reason.LEARNING_PAUSED)
        requester = Requester(actor, conversation_id.umo)
        return await self._bringing.bring_named(names, conversation_id, requester)

    async def scopes(self) -> dict[str, int]:
        """How many memories each scope holds that the map names, and each other one that holds any
        and could be named. For admins alone."""
        await self._life.ready()
        counts = self._catalogue.counts()
        names = self._book.mapped() | {one for one in counts if is_mapped_name(one)}
        return {name: counts.get(name, 0) for name in sorted(names)}

    async def check_entry(
        self, raw: Mapping[str, object], conversation_id: ConversationId, actor: Actor
    ) -> str:
        """What is wrong with the conversation's scope in a map that is to be: a ``ScopeFault``, or
        empty. Which scopes there are tells on nobody but an admin."""
        await self._life.ready()
        folders = await self._editor.folders() if actor.admin else ()
        entries = read_scope_map(raw, folders).entries
        entry = entries.get(conversation_id.map_key)
        return str(entry.fault) if isinstance(entry, IllegalName) else ""

    async def change_map(
        self, raw: Mapping[str, object], *, conversation_id: ConversationId, actor: Actor
    ) -> MapChange | Refused:
        """Go by a map in which an admin has set or dropped this conversation's entry: from the next
        message on. ``raw`` is saved already; turns that go on end in the view they began with."""
        await self._life.ready()
        if not actor.admin:
            return Refused(Reason.NOT_ALLOWED)
        before = self._book.resolve(conversation_id)
        await self._go_by(raw, {conversation_id.umo, conversation_id.map_key})
        after = self._book.resolve(conversation_id)
        sharing = self._book.sharing(after.scope) if isinstance(after, Usable) else 0
        return MapChange(before, after, sharing)

    async def _go_by(self, raw: Mapping[str, object], keys: Collection[str]) -> None:
        folders = await self._editor.inhabited()
        await self._life.finish(lambda: self._book.change_map(raw, keys, folders))
        self._former.look_again()

    async def plan_rename(self, old: str, new: str, moved: Collection[str]) -> bool | Refused:
        """Whether there is a scope of the new name already. Refused where there is none of the old
        one, or neither a conversation that is to ``moved`` nor another one has the new one."""
        await self._life.ready()
        if not self._settings.scope_filter_enabled:
            return Refused(Reason.LEARNING_PAUSED)
        known = self._book.mapped() | {*await self._editor.folders()}
        for name, there in ((old, known), (new, known if not moved else {new})):
            if not is_mapped_name(name) or name not in there:
                return Refused(Reason.UNKNOWN_SCOPE, detail=name)
        return new in known

    async def rename(
        self,
        old: str,
        new: str,
        raw: Mapping[str, object],
        moved: Collection[str],
        *,
        conversation_id: ConversationId,
        actor: Actor,
    ) -> Brought | Refused:
        """Go by a map in which the keys ``moved`` have the new name, and bring what stands under
        the old one. As ``bring`` does; it is undone as that is, where no keys moved. What
        ``plan_rename`` refuses is not for it."""
        await self._life.ready()
        if not actor.admin:
            return Refused(Reason.NOT_ALLOWED)
        source, target = target_scope(old, {old}), target_scope(new, {new})
        if source is None or target is None:
            return Refused(Reason.UNKNOWN_SCOPE, detail=old)
        if moved:
            await self._go_by(raw, moved)
        requester = Requester(actor, conversation_id.umo)
        return await self._bringing.bring_all(source, target, requester, undoable=not moved)

    async def map_summary(self) -> MapSummary:
        """What the scope map says, for the log at start-up."""
        await self._life.ready()
        return self._book.summary()

    async def confirm_map(self, *, actor: Actor) -> int | None:
        """The map is meant as it is: how many keys it was held back for. None for anybody but an
        admin."""
        await self._life.ready()
        return await self._life.finish(self._book.confirm_map) if actor.admin else None

    async def confirm_deletions(self, *, actor: Actor) -> int | None:
        """Forget what is held because most of its scope is gone from the files. None for anybody
        but an admin.

        Raises VaultWriteFailed.
        """
        await self._life.ready()
        return await self._life.finish(self._reconciler.confirm) if actor.admin else None


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
        folders = await self._editor.inhabited()
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
        folders = await self._editor.inhabited()
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
