"""What the owner said about scopes, and what has been seen of conversations so far."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..errors import StateUnavailable
from ..log import logger
from ..models.conversation import Actor, ConversationId, ConversationKind, SeenSender
from ..models.data_models import Refused
from ..models.passages import is_private_chat
from ..models.resolution import Rebinding, Resolution
from ..models.scope import Place, Scope, may_be_given
from ..models.settings import DmScope, EngineSettings, MapPast, ScopeMap
from ..models.status import Notice
from ..runtime.notice_board import NoticeBoard
from ..storage.state_store import SqliteStateStore
from .rules.rebinding import chat_key
from .rules.scope_map import account_of, judge_map, map_notices, read_scope_map
from .rules.scope_resolution import ALL_PRIVATE_CHATS, derived_scopes, ids_of, resolve

_TOLD: Final = "told:"
"""Begins a mark in the state."""
_WRITTEN: Final = 4096
Accounts = Callable[[], frozenset[str] | None]
"""The bot accounts that exist now, None where the bot framework does not tell."""


@dataclass(eq=False)
class ScopeBook:
    """The one caller of ``resolve``. Call ``open`` (it blocks) before anything else."""

    _settings: EngineSettings
    _state: SqliteStateStore
    _notices: NoticeBoard
    accounts: Accounts = lambda: None
    rebound: tuple[Rebinding, ...] = field(default=(), init=False)
    """The names that were replaced by others, in the order in which that was done."""
    _past: MapPast = field(default=MapPast(), init=False)
    _map: ScopeMap = field(default=ScopeMap(), init=False)
    _folders: frozenset[str] = field(default=frozenset(), init=False)
    _present: frozenset[str] | None = field(default=None, init=False)
    _written: set[SeenSender] = field(default_factory=set, init=False)
    _told: set[str] = field(default_factory=set, init=False)
    _meant: dict[str, str] = field(default_factory=dict, init=False)
    strangers: set[str] = field(default_factory=set, init=False)
    """Who writes privately, is no admin, and shares what is said there with everybody: a bot
    account and a person."""
    _claimed: set[str] = field(default_factory=set, init=False)
    """What was told since the start, or is being told."""

    def open(self, folders: Collection[str]) -> None:
        """Read the map and compare it with what the state remembers, and with the scopes that have
        a folder. What may have been lost is published only once an admin confirms the map."""
        settings = self._settings
        self.rebound = self._state.rebindings()
        self._present = self.accounts()
        scope_map = read_scope_map(settings.scope_map, folders)
        self._go_by(*self._judge(scope_map, folders, self._state.map_past()))
        if not settings.scope_filter_enabled:
            self._notices.post(Notice("scope_filter_off", error=True))
        peers, policy = self._state.public_peers(), settings.dm_policy
        self.strangers = {one for one in peers if policy(account_of(one)) is DmScope.PUBLIC}
        self._report_strangers()

    async def change_map(
        self, raw: Mapping[str, object], folders: Collection[str], meant: Collection[str]
    ) -> None:
        """An admin has changed these keys of the map in chat: what they lost is meant, unless it
        was lost before. Raises StateUnavailable, and then the map is the former one."""
        past = self._past
        if not self._map.withheld:
            keys, scopes = past.keys.difference(meant), past.scopes | self._folders
            past = replace(past, keys=keys, scopes=scopes, named=past.named if keys else keys)
        scope_map = await asyncio.to_thread(read_scope_map, raw, folders)
        self._go_by(*await asyncio.to_thread(self._judge, scope_map, folders, past))

    async def confirm_map(self) -> None:
        """An admin says that the map is meant as it is. Raises StateUnavailable."""
        scope_map, past, folders = self._map_now(), self._past, self._folders
        released = past.released.union(map(account_of, scope_map.gone))
        meant = MapPast(scopes=past.scopes | folders, released=released)
        self._go_by(*await asyncio.to_thread(self._judge, scope_map, folders, meant))

    def _judge(
        self, scope_map: ScopeMap, folders: Collection[str], past: MapPast
    ) -> tuple[ScopeMap, MapPast, frozenset[str]]:
        """Blocks; changes nothing of the book's own."""
        mappable = frozenset(filter(may_be_given, folders))
        scope_map, past = judge_map(scope_map, past, mappable, self._present)
        self._state.put_map_past(past)
        return scope_map, past, mappable

    def _go_by(self, scope_map: ScopeMap, past: MapPast, folders: frozenset[str]) -> None:
        self._map, self._past, self._folders = scope_map, past, folders
        now = {(one.code, one.subject): one for one in map_notices(scope_map, folders, self._meant)}
        for one in self._notices.standing():
            if one.code.startswith("map_") and (one.code, one.subject) not in now:
                self._notices.clear(one.code, one.subject)
        for one in now.values():
            self._notices.post(one)

    def _map_now(self) -> ScopeMap:
        # Bot accounts come and go while the bot runs.
        present = self.accounts()
        if present != self._present:
            self._present = present
            self._go_by(*judge_map(self._map, self._past, self._folders, present), self._folders)
        return self._map

    @property
    def damaged(self) -> bool:
        """True while something is on hold that the map may have lost."""
        return self._map_now().withheld

    async def rebind(self, rebindings: Sequence[Rebinding]) -> None:
        """Go by these names from now on. Raises StateUnavailable, and then by the former ones."""
        await asyncio.to_thread(self._state.put_rebindings, rebindings)
        self.rebound = tuple(rebindings)

    def tell(self, old: str, new: str) -> None:
        """The platform says so: it holds until the next start, unless ``rebind`` keeps it."""
        if (old, new) not in self.rebound:
            self.rebound = (*self.rebound, Rebinding(old, new))

    def resolve(self, conversation_id: ConversationId) -> Resolution:
        return resolve(conversation_id, self._map_now(), self._settings, self.rebound)

    def derived_scopes(self, conversation_id: ConversationId) -> frozenset[Scope]:
        """Every private scope that some policy derives for a conversation, whatever holds now."""
        return derived_scopes(conversation_id, self._settings.identity_links, self.rebound)

    async def meet(
        self, conversation_id: ConversationId, actor: Actor, resolution: Resolution, *, kept: bool
    ) -> None:
        """A person has spoken in a conversation of this scope: keep that, and what a group is
        called, as the name of nobody in it. Not ``kept``: nothing of its words is."""
        key = conversation_id.map_key  # of a group that is split by member, the group
        if key not in self._told:
            self._told.add(key)
            logger.info("first_message", id=conversation_id, key=key, scope=resolution.name or "-")
        if resolution.code == "doubtful_key" and resolution.key not in self._meant:
            self._meant[resolution.key] = key
            self._notices.clear("map_odd_key", resolution.key)
            self._go_by(self._map, self._past, self._folders)
        adapter, group = conversation_id.adapter, conversation_id.group or ""
        if adapter:
            scope, peer = resolution.name if kept else "", actor.person.removeprefix(f"{adapter}:")
            seen = SeenSender(conversation_id.umo, scope, adapter, group, peer, actor.name)
            title, whole = conversation_id.title, chat_key(conversation_id)
            titles = [seen._replace(umo=whole, peer="", name=title)] if title and group else []
            for one in {seen, *titles} - self._written:
                if await self._keep(self._state.note_sender, one):
                    self._written.add(one)
        if len(self._written) >= _WRITTEN:
            self._written.clear()
        who = f"{conversation_id.account}:{actor.person}"
        by_policy = (resolution.code, resolution.key) == ("dm_policy", DmScope.PUBLIC)
        # A stranger, or one who is an admin by now.
        if by_policy and actor.person and actor.admin is (who in self.strangers):
            self.strangers ^= {who}
            self._report_strangers()
            known = self._state.drop_public_peer if actor.admin else self._state.add_public_peer
            await self._keep(known, who)

    async def senders(self, umo: str = "") -> list[SeenSender]:
        """Who has spoken under this origin, or under any, and what groups are called."""
        return await self._asked(self._state.senders, umo) or []

    @staticmethod
    async def _asked[Found](ask: Callable[[str], Found], name: str) -> Found | None:
        """What the state says; None where it cannot be read: no reason to fail a turn."""
        try:
            return await asyncio.to_thread(ask, name)
        except StateUnavailable as error:
            logger.warning("state_not_read", error=error)
            return None

    @staticmethod
    async def _keep[T](write: Callable[[T], None], value: T) -> bool:
        """False where it is not kept: then it is met again."""
        try:
            await asyncio.to_thread(write, value)
        except StateUnavailable as error:
            logger.warning("state_not_written", error=error)
            return False
        return True

    def _report_strangers(self) -> None:
        if self.strangers:
            self._notices.post(Notice("strangers_in_public"))
        else:
            self._notices.clear("strangers_in_public")

    async def bring(self, scope: Scope) -> None:
        """A scope that the owner has brought from elsewhere is not one that lost its map."""
        await self._keep(self._state.know_scopes, [scope.name])

    def sharing(self, scope: Scope) -> list[str]:
        """The keys of the map that give this scope."""
        return [key for key, value in self._map.entries.items() if value == scope]

    def no_confidence(self, scope: Scope) -> Refused | None:
        """Why what is said in confidence is not stored in a scope: it is not one private chat's."""
        if scope.is_public:
            return Refused("confidence")
        keys = self.sharing(scope)
        private = is_private_chat(keys[0]) if keys else not scope.name.startswith("group-")
        alone = private and len(keys) < 2 and scope != ALL_PRIVATE_CHATS
        return None if alone else Refused("confidence_here")

    def owns_alone(self, conversation_id: ConversationId, scope: Scope) -> bool:
        """True if a private chat is the only conversation with this scope."""
        private = conversation_id.kind is ConversationKind.PRIVATE
        mine = private and self.sharing(scope) in ([], [conversation_id.umo])
        return mine and not self.no_confidence(scope)

    def mapped(self) -> frozenset[str]:
        values = self._map.entries.values()
        return frozenset(value.name for value in values if isinstance(value, Scope))

    def same_person(self, one: str, other: str) -> bool:
        links = self._settings.identity_links
        return bool(one) and links.get(one, one) == links.get(other, other)

    def shelves_of(self, conversation: str, person: str) -> tuple[Place, ...]:
        """Where a private chat's person reads what the bot learned from them alone."""
        owners = self.ids_of(person) | {conversation} if is_private_chat(conversation) else ()
        return tuple(map(Place.of_person, sorted(owners)))

    def ids_of(self, person: str) -> frozenset[str]:
        return ids_of(person, self._settings.identity_links)

    async def claim(self, names: Sequence[str], most: int | None = None) -> list[str]:
        """Of these, what was not told yet and nobody is telling now; of many, the first ``most``.
        Who claims something tells it, and then settles it: no sooner is it marked durably, so what
        a close cuts off is told after the next start."""
        told = await self._asked(self._state.marks, _TOLD)
        if told is None:
            return []
        free = [name for name in names if name not in told | self._claimed][:most]
        self._claimed.update(free)
        return free

    async def settle(self, names: Collection[str], *, said: bool) -> None:
        """What was claimed was said, or could not be: then it is another time."""
        if not said:
            self._claimed.difference_update(names)
        for name in names if said else ():
            await self._keep(self._state.set_mark, _TOLD + name)
