"""What admins decide about scopes: the map, what was left behind in former scopes, lost files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId
from ..models.data_models import NotAllowed, Rejected, RejectReason
from ..models.resolution import Brought, MustBeNamed, Usable
from ..models.scope import is_mapped_name
from ..models.settings import EngineSettings, IllegalName
from ..models.status import MapChange, MapSummary
from ..remember.edit import MemoryEditor, Requester
from ..runtime.lifecycle import Lifespan
from ..scopes.rules.move_target import target_scope
from ..scopes.rules.scope_map import read_scope_map
from ..scopes.scope_book import ScopeBook
from ..sync.reconciler import Reconciler
from .rebinds import Rebinds


@dataclass(eq=False)
class ScopeAdmin:
    """Each method waits until the vault is read. Raises EngineClosed, EngineOff."""

    _settings: EngineSettings
    _book: ScopeBook
    _former: FormerScopes
    _bringing: Bringing
    _editor: MemoryEditor
    _reconciler: Reconciler
    _life: Lifespan
    rebinds: Rebinds
    """Chats and bot accounts that go on under another name."""

    async def bring(
        self, names: Collection[str] = (), *, conversation_id: ConversationId, actor: Actor
    ) -> list[Brought] | MustBeNamed | NotAllowed | Rejected:
        """Bring what was left behind where it belongs now: this conversation's, or that of the
        former scopes in ``names``. Where others see the target, too, it has to be named as well.
        Admins; of a private chat that has a scope to itself its person, too.

        Raises StateUnavailable, VaultWriteFailed, EngineClosed; called again, it brings the rest.
        """
        await self._life.ready()
        own = bool(actor.person) and actor.person == conversation_id.person
        if not (actor.admin or (own and self._former.has_its_own(conversation_id))):
            return NotAllowed("")
        if not self._settings.scope_filter_enabled:
            return Rejected(RejectReason.LEARNING_PAUSED)
        requester = Requester(actor, conversation_id.umo)
        return await self._bringing.bring_named(names, conversation_id, requester)

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
    ) -> MapChange | NotAllowed:
        """Go by a map in which an admin has set or dropped this conversation's entry: from the next
        message on. ``raw`` is saved already; turns that go on end in the view they began with."""
        await self._life.ready()
        if not actor.admin:
            return NotAllowed("")
        before = self._book.resolve(conversation_id)
        await self._go_by(raw, {conversation_id.umo, conversation_id.map_key})
        after = self._book.resolve(conversation_id)
        sharing = self._book.sharing(after.scope) if isinstance(after, Usable) else 0
        return MapChange(before, after, sharing)

    async def _go_by(self, raw: Mapping[str, object], keys: Collection[str]) -> None:
        folders = await self._editor.folders()
        await self._life.finish(lambda: self._book.change_map(raw, keys, folders))
        self._former.look_again()

    async def plan_rename(self, old: str, new: str, moved: Collection[str]) -> bool | Rejected:
        """Whether there is a scope of the new name already. Refused where there is none of the old
        one, or neither a conversation that is to ``moved`` nor another one has the new one."""
        await self._life.ready()
        if not self._settings.scope_filter_enabled:
            return Rejected(RejectReason.LEARNING_PAUSED)
        known = self._book.mapped() | {*await self._editor.folders()}
        for name, there in ((old, known), (new, known if not moved else {new})):
            if not is_mapped_name(name) or name not in there:
                return Rejected(RejectReason.UNKNOWN_SCOPE, detail=name)
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
    ) -> Brought | NotAllowed | Rejected:
        """Go by a map in which the keys ``moved`` have the new name, and bring what stands under
        the old one. As ``bring`` does; it is undone as that is, where no keys moved. What
        ``plan_rename`` refuses is not for it."""
        await self._life.ready()
        if not actor.admin:
            return NotAllowed("")
        source, target = target_scope(old, {old}), target_scope(new, {new})
        if source is None or target is None:
            return Rejected(RejectReason.UNKNOWN_SCOPE, detail=old)
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
