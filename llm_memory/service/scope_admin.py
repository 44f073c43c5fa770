"""What admins decide about scopes: the map, what was left behind in former scopes, lost files; and
what a chat or a bot account takes along that goes on under another name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..catalogue.catalogue import Catalogue
from ..catalogue.unread_turns import UnreadTurns
from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId
from ..models.data_models import Reason, Refused
from ..models.deeds import Requester
from ..models.resolution import Brought, MustBeNamed, Rebinding, Rebound, Usable
from ..models.scope import is_mapped_name
from ..models.settings import EngineSettings, IllegalName
from ..models.status import MapChange, MapSummary
from ..remember.edit import MemoryEditor
from ..runtime.lifecycle import Lifespan
from ..scopes.paused_conversations import PausedConversations
from ..scopes.rules.rebinding import fault_of, renamed, with_moved
from ..scopes.rules.scope_map import read_scope_map
from ..scopes.rules.scope_resolution import target_scope
from ..scopes.scope_book import ScopeBook
from ..sync.reconciler import Reconciler


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
    _paused: PausedConversations
    _unread: UnreadTurns
    _life: Lifespan

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
        await self.go_by(raw, {conversation_id.umo, conversation_id.map_key})
        after = self._book.resolve(conversation_id)
        sharing = self._book.sharing(after.scope) if isinstance(after, Usable) else 0
        return MapChange(before, after, sharing)

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
            await self.go_by(raw, moved)
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

    def chat_moved(self, old: str, new: str) -> None:
        """The platform says so: from now on both are one, until the next start unless ``rebind``
        keeps it."""
        self._book.tell(old, new)
        self._paused.follow(lambda key: renamed(key, old, new))

    async def rebind(
        self, old: str, new: str, raw: Mapping[str, object], policy: str = "", *, told: bool = False
    ) -> Rebound | Refused:
        """Keep durably that what is known under one name is known under the other, or why not. The
        caller saves the map, has it gone by, or undoes this; and holds the map's lock.

        Args:
            raw: The owner's map.
            policy: What the owner's settings say of the former account's private chats alone.
            told: The platform says so itself; else an admin does.

        Raises StateUnavailable.
        """
        await self._life.ready()
        moved = fault_of(old, new, self._book.accounts()) or with_moved(raw, old, new)
        if isinstance(moved, Refused):
            self._book.forget_told(old, new)
            return moved
        changed, keys = moved
        before = [one for one in self._book.rebound if (one.old, one.new) == (old, new)]
        news = bool(keys or policy) or (self._book.has_met(old) and not before)
        if not news and not told:
            return Refused(Reason.NEVER_MET, detail=old)
        for one in before:
            keys, policy = tuple(dict.fromkeys((*one.moved, *keys))), policy or one.policy
        rebinding = Rebinding(old, new, keys, policy)
        others = [one for one in self._book.rebound if one not in before]
        paused = await self._life.finish(lambda: self._rebind(rebinding, others))
        return Rebound(rebinding, changed, paused)

    async def _rebind(self, rebinding: Rebinding, others: list[Rebinding]) -> int:
        def to(key: str) -> str | None:
            return renamed(key, rebinding.old, rebinding.new)

        # First, and beside the memories: what is off the record stays so whatever fails then.
        paused = self._paused.follow(to)
        if paused:
            await self._paused.keep()
            await self._unread.review()
        await self._book.rebind([*others, rebinding])
        self._book.forget_told(rebinding.old, rebinding.new)
        return paused

    async def last_rebinding(self) -> Rebinding | None:
        """The last one that was not undone."""
        await self._life.ready()
        return self._book.rebound[-1] if self._book.rebound else None

    async def undo_rebind(self, rebinding: Rebinding) -> None:
        """The two are separate again; what is paused stays paused. Raises StateUnavailable."""
        others = [one for one in self._book.rebound if one != rebinding]
        await self._life.finish(lambda: self._book.rebind(others))
        if rebinding.policy:
            self._book.move_account_policy(rebinding.new, rebinding.old)

    async def go_by(self, raw: Mapping[str, object], keys: Collection[str]) -> None:
        """From now on the owner's map is ``raw``; that ``keys`` are gone, or there, is meant."""
        folders = await self._editor.inhabited()
        await self._life.finish(lambda: self._book.change_map(raw, keys, folders))
