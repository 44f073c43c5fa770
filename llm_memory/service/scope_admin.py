"""Where conversations belong: who was met in them, their pauses, the map, what was left behind in
former scopes, and what goes on under another name."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence, Set
from datetime import datetime
from functools import partial
from typing import Final, Unpack

from ..models.conversation import Actor, By, ConversationId, ConversationKind, SeenSender
from ..models.data_models import Refused
from ..models.resolution import Brought, Pause, Rebinding, Resolution
from ..models.scope import PUBLIC, is_mapped_name
from ..models.status import Notice, ScopeReport
from ..scopes.rules.origins import complete, on_behalf_of, place_of
from ..scopes.rules.rebinding import fault_of, renamed, with_moved
from ..scopes.rules.scope_map import read_scope_map
from ..scopes.rules.scope_resolution import target_scope
from ..vault.markdown.exclusion_list import Exclusion
from .door import Door, deed

_TO_ADMINS: Final = frozenset({"strangers_in_public", "soul_waits", "soul_applied"})


class ScopeAdmin(Door):
    """Raises EngineClosed, EngineOff; what writes a state file StateUnavailable, too."""

    async def meet(self, conversation_id: ConversationId, actor: Actor) -> None:
        """Note that a person's message came, once the vault is read."""
        if not actor.spoke:
            return
        view = await self.parts.gate.open(conversation_id, actor)
        found, kept = view.resolution, view.pause is None
        self.parts.bylines.meet(actor, found.name if kept else "", conversation_id)
        await self.parts.book.meet(conversation_id, actor, found, kept=kept)
        await self.parts.former.note(conversation_id, found)

    async def never_learned(self, **by: Unpack[By]) -> tuple[Exclusion, ...] | Refused:
        """What is never learned where this conversation's words go."""
        view = await self.parts.gate.open(by["conversation_id"], by["actor"])
        if isinstance(view.writes, Refused):
            return view.writes
        return self.parts.exclusions.of(view.writes.name)

    @deed
    async def never_learn(
        self, words: Sequence[str], *, again: bool = False, **by: Unpack[By]
    ) -> tuple[Exclusion, ...] | Refused:
        """Put words on that list, ``again`` takes them off: an admin for all who speak there,
        anybody else for what he says himself. Returns the whole list."""
        view = await self.parts.gate.open(by["conversation_id"], by["actor"])
        if isinstance(view.writes, Refused):
            return view.writes
        governs = view.governs(view.writes)
        if not (governs or view.who.person):
            return Refused("not_allowed")
        change = self.parts.exclusions.remove if again else self.parts.exclusions.add
        changed = await change(view.writes, words, None if governs else view.who)
        await self.parts.corrections.follow()
        return changed

    async def met(self) -> list[SeenSender]:
        """Who has spoken where, and what groups are called. For admins alone."""
        await self.parts.life.begun()
        return await self.parts.book.senders()

    async def completed(self, parsed: ConversationId, adapter: str | None) -> ConversationId:
        """``parsed`` with what its string hides, ``hidden`` if no person's message has told it."""
        await self.parts.life.begun()
        return complete(parsed, adapter, await self.parts.book.senders(parsed.umo))

    async def on_behalf_of(self, conversation_id: ConversationId, sender: str) -> SeenSender | None:
        """For whom an agent acts in a completed conversation; None where it cannot be told. The
        name is empty where it was told in another scope than the conversation has now. ``sender``:
        who set the timer, as the job says."""
        await self.parts.life.begun()
        book, umo = self.parts.book, conversation_id.umo
        found = on_behalf_of(conversation_id, await book.senders(umo), sender)
        here = PUBLIC.name, book.resolve(conversation_id).name
        return found if found is None or found.scope in here else found._replace(name="")

    async def claim_news(self, actor: Actor) -> list[Notice]:
        """What an admin is told once in chat and was not told yet; none for anybody else. Whoever
        claims it settles it."""
        await self.parts.life.ready()
        standing = self.parts.notices.standing() if actor.admin else ()
        news = {_mark_of(one): one for one in standing if one.code in _TO_ADMINS}
        return [news[mark] for mark in await self.parts.book.claim(list(news))]

    async def settle_news(self, news: Sequence[Notice], *, said: bool) -> None:
        """The admin who claimed it was told, or could not be reached: then it is another time."""
        await self.parts.life.ready()
        await self.parts.book.settle([*map(_mark_of, news)], said=said)

    async def describe(self, *, conversation_id: ConversationId) -> ScopeReport:
        """What the conversation reads and writes, and why."""
        view = await self.parts.gate.open(conversation_id)
        return ScopeReport(
            resolution=view.resolution,
            visible=sum(1 for _ in self.parts.catalogue.visible(view.seen)),
            damaged=self.parts.book.damaged,
            paused=view.pause,
            mixed_history=self.parts.histories.current_is_mixed(conversation_id.umo),
            left=tuple(await self.parts.former.count(self.parts.former.of(conversation_id))),
        )

    # Pauses

    def pause_of(self, conversation_id: ConversationId) -> Pause | None:
        """Its pause; None where it is on the record, or that is not known yet."""
        return self.parts.paused_conversations.of(conversation_id.map_key)

    @deed
    async def pause(
        self, *, conversation_id: ConversationId, actor: Actor, until: datetime | None = None
    ) -> Pause | Refused:
        """Off the record from now on: nothing of the conversation is queued or stored, and nothing
        recalled in it. Its person may, in a private chat; elsewhere admins. ``until``: it ends by
        itself then. Raises StateUnavailable, and then it is not paused."""
        found = (await self.parts.gate.open(conversation_id)).resolution
        if not _may_pause(conversation_id, actor):
            return Refused("not_allowed")
        if found.refused:
            return Refused("refused", found)
        asked = Pause(found.name or PUBLIC.name, self.parts.clock(), until)
        paused = await self.parts.paused_conversations.pause(conversation_id, asked)
        await self.parts.unread.review()
        return paused

    @deed
    async def resume(self, *, conversation_id: ConversationId, actor: Actor) -> bool | Refused:
        """On the record again, by a person who may pause it; False where it was not paused. Raises
        StateUnavailable."""
        await self.parts.life.ready()
        if not _may_pause(conversation_id, actor):
            return Refused("not_allowed")
        was = await self.parts.paused_conversations.resume(conversation_id)
        await self.parts.unread.review()
        return was

    # The map

    async def scopes(self) -> dict[str, int]:
        """How many memories each scope holds that the map names or could name. For admins alone."""
        await self.parts.life.ready()
        counts = self.parts.catalogue.counts()
        names = sorted(self.parts.book.mapped() | set(filter(is_mapped_name, counts)))
        return {name: counts.get(name, 0) for name in names}

    async def is_legal(
        self, raw: Mapping[str, object], conversation_id: ConversationId, actor: Actor
    ) -> bool:
        """Whether a map that is to be gives the conversation a scope, or none. Which scopes there
        are is told to admins alone."""
        await self.parts.life.ready()
        folders = await self.parts.handlers.folders() if actor.admin else ()
        entry = read_scope_map(raw, folders).entries.get(conversation_id.map_key)
        return not isinstance(entry, str)

    async def change_map(
        self, raw: Mapping[str, object], *, conversation_id: ConversationId, actor: Actor
    ) -> tuple[Resolution, Resolution] | Refused:
        """Go by a map in which an admin has set or dropped this conversation's entry, and which is
        saved already: its scope before, and from the next message on."""
        await self.parts.life.ready()
        if not actor.admin:
            return Refused("not_allowed")
        before = self.parts.book.resolve(conversation_id)
        await self.go_by(raw, {conversation_id.map_key, conversation_id.umo})
        return before, self.parts.book.resolve(conversation_id)

    async def go_by(self, raw: Mapping[str, object], meant: Collection[str] = ()) -> None:
        """From now on the owner's map is ``raw``, in which an admin has changed these keys."""
        folders = await asyncio.to_thread(self.parts.vault.inhabited)
        await self.parts.life.finish(partial(self.parts.book.change_map, raw, folders, meant))

    async def confirm_map(self, *, actor: Actor) -> None:
        """The map is meant as it is, if an admin says so."""
        await self.parts.life.ready()
        if actor.admin:
            await self.parts.life.finish(self.parts.book.confirm_map)

    async def confirm_deletions(self, *, actor: Actor) -> int | None:
        """Forget what is held because most of its scope is gone from the files, if an admin says
        so. Raises VaultWriteFailed."""
        await self.parts.life.ready()
        return await self.parts.life.finish(self.parts.reconciler.confirm) if actor.admin else None

    # Former scopes

    async def bring(
        self, names: Collection[str] = (), *, conversation_id: ConversationId, actor: Actor
    ) -> list[Brought] | Refused:
        """Bring what was left behind where it belongs now: this conversation's, or that of the
        former scopes in ``names``. Where others see the target, too, it has to be named as well.
        Admins; of a private chat that has a scope to itself its person, too. Raises
        VaultWriteFailed; called again, it brings the rest."""
        view = await self.parts.gate.open(conversation_id, actor)
        own = bool(actor.person) and actor.person == conversation_id.person
        if not (actor.admin or (own and self.parts.former.has_its_own(conversation_id))):
            return Refused("not_allowed")
        if not self.parts.settings.scope_filter_enabled:
            return Refused("learning_paused")
        return await self.parts.bringing.bring_named(names, conversation_id, view.requester)

    async def plan_rename(self, old: str, new: str, moved: Collection[str]) -> bool | Refused:
        """Whether there is a scope of the new name already. Refused where there is none of the old
        one, or neither a conversation that is to ``moved`` nor another one has the new one."""
        await self.parts.life.ready()
        if not self.parts.settings.scope_filter_enabled:
            return Refused("learning_paused")
        known = self.parts.book.mapped() | {*await self.parts.handlers.folders()}
        for name, there in ((old, known), (new, known if not moved else {new})):
            if not is_mapped_name(name) or name not in there:
                return Refused("unknown_scope", detail=name)
        return new in known

    async def rename(
        self, old: str, new: str, raw: Mapping[str, object], moved: Set[str], **by: Unpack[By]
    ) -> Brought | Refused:
        """Go by a map in which the keys ``moved`` have the new name, and bring what stands under
        the old one; it is undone where no keys moved. Not for what ``plan_rename`` refuses."""
        view = await self.parts.gate.open(by["conversation_id"], by["actor"])
        if not view.who.admin:
            return Refused("not_allowed")
        source, target = target_scope(old, {old}), target_scope(new, {new})
        if source is None or target is None:
            return Refused("unknown_scope", detail=old)
        if moved:
            await self.go_by(raw, moved)
        bring, alone = self.parts.bringing.bring_all, not moved
        return await bring(source, target, view.requester, undoable=alone)

    # Other names

    def chat_moved(self, old: str, new: str) -> None:
        """The platform says so: from now on both are one, until the next start unless ``rebind``
        keeps it."""
        self.parts.book.tell(old, new)

    async def rebind(
        self, old: str, new: str, raw: Mapping[str, object], *, told: bool = False
    ) -> dict[str, object] | Refused:
        """Keep durably that what is known under one name is known under the other, unless it was so
        the other way round; or why not. The caller saves the owner's map that is returned and has
        it gone by, or says that they are ``apart``. ``told``: the platform says so itself."""
        await self.parts.life.ready()
        one, known = Rebinding(old, new), self.parts.book.rebound
        back = self.is_rebound(new, old)
        policies = self.parts.settings.dm_scope_by_account or {}
        fault = None if back else fault_of(old, new, self.parts.book.accounts())
        if back and old in policies and new not in policies:  # it would fall to the common one
            fault = Refused("no_policy", detail=new)
        moved = fault or with_moved(raw, old, new)
        if isinstance(moved, Refused) or back:
            return moved
        if moved == raw and not told and (one in known or not await self._has_met(old)):
            return Refused("never_met", detail=old)
        names = known if one in known else (*known, one)
        await self.parts.life.finish(partial(self._rebind, names))
        return moved

    def is_rebound(self, old: str, new: str) -> bool:
        """What was called by the one name goes on under the other."""
        return Rebinding(old, new) in self.parts.book.rebound

    async def apart(self, old: str, new: str) -> None:
        """It was not so, or is no more."""
        others = [one for one in self.parts.book.rebound if one != Rebinding(old, new)]
        await self.parts.life.finish(partial(self._rebind, others))

    async def _rebind(self, names: Sequence[Rebinding]) -> None:
        await self.parts.paused_conversations.keep_through(names)
        await self.parts.book.rebind(names)
        # What is off the record under one name is so under the other.
        await self.parts.unread.review()

    async def _has_met(self, name: str) -> bool:
        """True if somebody has spoken in this conversation, or to this bot account."""
        met = await self.met()
        there = (renamed(place_of(one).umo, name, name) for one in met)
        return await asyncio.to_thread(any, there)


def _mark_of(notice: Notice) -> str:
    return f"{notice.code}:{notice.subject}:{notice.params.get('number', '')}"


def _may_pause(conversation_id: ConversationId, actor: Actor) -> bool:
    """The person of a private chat speaks for it; in a group one would pause all others."""
    return actor.admin or conversation_id.kind is ConversationKind.PRIVATE
