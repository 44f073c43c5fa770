"""What the owner said about scopes, and what has been seen of conversations so far."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..errors import StateUnavailable
from ..log import logger
from ..models.consent import is_private_chat
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import Reason, Refused
from ..models.resolution import ReadsNothing, Rebinding, Resolution, Usable, WhyCode
from ..models.scope import Place, Scope, may_be_given
from ..models.settings import (
    BY_ACCOUNT,
    DmScope,
    EngineSettings,
    IllegalName,
    MapPast,
    ScopeMap,
    ScopeSettings,
)
from ..models.status import MapSummary, Notice, NoticeCode, Severity
from ..runtime.notice_board import NoticeBoard
from ..storage.state_store import SqliteStateStore
from .rules.map_history import (
    KeyFault,
    MapHealth,
    OddKey,
    judge_map,
    nearest_ids,
)
from .rules.map_notices import OF_THE_MAP, map_notices, odd_notice
from .rules.scope_map import is_conversation_key, read_scope_map
from .rules.scope_resolution import ALL_PRIVATE_CHATS, derived_scopes, ids_of, resolve
from .told_once import ToldOnce

Accounts = Callable[[], frozenset[str] | None]
"""The bot accounts that exist now, None where the bot framework does not tell."""

_BY_A_KEY = frozenset(
    {WhyCode.MAPPED, WhyCode.MAPPED_PARENT, WhyCode.MAPPED_GROUP, WhyCode.MAPPED_PERSONA}
)
_MEANT_BY_A_KEY = frozenset({WhyCode.ACCOUNT_GONE, WhyCode.UNREADABLE_KEY})


@dataclass(frozen=True, slots=True)
class FirstContact:
    """A conversation's message: its resolution, and whether it is the first since the start."""

    resolution: Resolution
    first: bool


@dataclass(frozen=True, slots=True)
class _Looked:
    """A map that was read and compared; ``nearest`` as of ``nearest_ids``."""

    scope_map: ScopeMap
    folders: frozenset[str]
    present: frozenset[str] | None
    health: MapHealth
    nearest: dict[str, set[str]]


class ScopeBook:
    """The one caller of ``resolve``. Call ``open`` (it blocks) before anything else."""

    def __init__(
        self,
        settings: EngineSettings,
        state: SqliteStateStore,
        notices: NoticeBoard,
        accounts: Accounts = lambda: None,
    ) -> None:
        self._settings = settings
        self._state = state
        self._notices = notices
        self.accounts = accounts
        self.told = ToldOnce(state, notices)
        self._scopes = ScopeSettings(
            dm_scope=settings.dm_scope,
            group_scope=settings.group_scope,
            agent_scope=settings.agent_scope,
            identity_links=settings.identity_links,
            dm_scope_by_account=settings.dm_scope_by_account,
        )
        self._raw = settings.scope_map
        self._folders: frozenset[str] = frozenset()
        self._past = MapPast()
        self._health = MapHealth(self._past)
        self._present: frozenset[str] | None = None
        self._nearest: dict[str, set[str]] = {}
        self._seen: set[str] = set()
        """Conversations that a message came from, and keys of the map that one of them had."""
        self._met: set[str] = set()
        self._strangers: set[str] = set()
        """Who writes privately, is no admin, and shares what is said there with everybody."""
        self.rebound: tuple[Rebinding, ...] = ()
        """The names that were replaced by others, in the order in which that was done."""
        self._told: tuple[Rebinding, ...] = ()
        """The same, as the platform has just said."""

    def open(self, folders: Collection[str]) -> None:
        """Read the map and compare it with what the state remembers, and with the scopes that have
        a folder. What may have been lost is published only once an admin confirms the map."""
        self._seen |= self._state.seen_conversations()
        self.rebound = self._state.rebindings()
        self._past = self._state.map_past()
        self._take(self._read(self._raw or {}, folders, self._past))
        for name in self._unknown_policies():
            self._notices.post(Notice(NoticeCode.POLICY_UNKNOWN, name, {"name": name}))
        if not self._settings.scope_filter_enabled:
            self._notices.post(Notice(NoticeCode.SCOPE_FILTER_OFF, severity=Severity.ERROR))
        self._strangers = self._who_shares_public()
        self._report_strangers()

    async def change_map(
        self, raw: Mapping[str, object], keys: Collection[str], folders: Collection[str]
    ) -> None:
        """An admin has set or dropped these keys in chat: from now on the map is this one. Raises
        StateUnavailable, and then it is the former one."""
        past = self._past
        past = replace(past, keys=past.keys.difference(keys), lost=past.lost.difference(keys))
        looked = await asyncio.to_thread(self._read, raw, folders, past)
        self._raw = raw
        self._take(looked)

    def _read(self, raw: Mapping[str, object], folders: Collection[str], past: MapPast) -> _Looked:
        """Read a map, compare it and note that. Blocks; changes nothing of the book's own."""
        scope_map = read_scope_map(raw, folders)
        standing = frozenset(filter(may_be_given, folders))
        seen, present = frozenset(self._seen), self.accounts()
        health = judge_map(scope_map, past, standing, seen, present)
        self._state.put_map_past(health.past)
        nearest = nearest_ids(scope_map.unreadable | health.gone, seen, present)
        return _Looked(scope_map, standing, present, health, nearest)

    def _take(self, looked: _Looked) -> None:
        self._folders, self._present = looked.folders, looked.present
        self._nearest = looked.nearest
        self._go_by(looked.scope_map, looked.health)

    def _go_by(self, scope_map: ScopeMap, health: MapHealth) -> None:
        self._past, self._health = health.past, health
        rebound = (*self.rebound, *self._told)
        scope_map = replace(
            scope_map,
            held=health.held,
            gone=health.gone,
            withheld=health.withheld,
            rebound=rebound,
        )
        self._scopes = replace(self._scopes, scope_map=scope_map)
        self._report()

    def _judge(self) -> None:
        """Compare the map anew: something else than the map has changed."""
        scope_map = self._scopes.scope_map
        health = judge_map(scope_map, self._past, self._folders, self._seen, self._present)
        self._go_by(scope_map, health)

    def _settings_now(self) -> ScopeSettings:
        """Bot accounts come and go while the bot runs."""
        present = self.accounts()
        if present != self._present:
            self._present = present
            self._judge()
        return self._scopes

    @property
    def _entries(self) -> Mapping[str, Scope | IllegalName]:
        return self._scopes.scope_map.entries

    @property
    def damaged(self) -> bool:
        """True while something is on hold that the map may have lost."""
        self._settings_now()
        return self._health.damaged

    async def confirm_map(self) -> int:
        """An admin says that the map is meant as it is: how many keys it was held back for."""
        scope_map, health = self._settings_now().scope_map, self._health
        past = health.confirmed(scope_map)
        await asyncio.to_thread(self._state.put_map_past, past)
        self._past = past
        self._judge()
        return len(health.held | health.gone)

    def _report(self) -> None:
        """Put up what is wrong with the map now, and take down what is not any more."""
        looked = self._scopes.scope_map, self._health, self._seen, self._nearest
        now = list(map_notices(*looked, self._present))
        if self._raw is None:
            now.append(Notice(NoticeCode.MAP_WRONG_TYPE))
        places = {(one.code, one.subject) for one in now}
        for one in self._notices.standing():
            if one.code in OF_THE_MAP and (one.code, one.subject) not in places:
                self._notices.clear(one.code, one.subject)
        for one in now:
            self._notices.post(one)

    def _tell_meant(self, key: str, value: str, conversation: str) -> None:
        """A conversation has spoken that a key seems to mean which matches none. Said once."""
        meant = self._nearest.setdefault(key, set())
        if conversation not in meant:
            meant.add(conversation)
            self._notices.clear(NoticeCode.MAP_ODD_KEY, key)
            self._notices.post(odd_notice(OddKey(key, value, KeyFault.MEANT, conversation)))

    async def rebind(self, rebindings: Sequence[Rebinding]) -> None:
        """Go by these names from now on. Raises StateUnavailable, and then by the former ones."""
        await asyncio.to_thread(self._state.put_rebindings, rebindings)
        self.rebound = tuple(rebindings)
        self._judge()

    def tell(self, old: str, new: str) -> None:
        """The platform says that a chat goes on under another id: that holds at once, and is lost
        with the next start unless ``rebind`` keeps it."""
        self._told = (*self._told, Rebinding(old, new))
        self._judge()

    def forget_told(self, old: str, new: str) -> None:
        """It is kept, or was no news."""
        self._told = tuple(one for one in self._told if (one.old, one.new) != (old, new))
        self._judge()

    def has_met(self, name: str) -> bool:
        """True if a message came from this conversation, or from one of this bot account."""
        parts = (f"{name}:", f"{name}#")
        return any(one == name or one.startswith(parts) for one in self._seen)

    def move_account_policy(self, old: str, new: str) -> None:
        """Have the policy that a bot account has of its own hold for another one."""
        policies = dict(self._scopes.dm_scope_by_account or {})
        if old in policies:
            policies[new] = policies.pop(old)
            self._scopes = replace(self._scopes, dm_scope_by_account=policies)

    def resolve(self, conversation_id: ConversationId) -> Resolution:
        """The scope of a conversation. A malformed id is refused and said in the log."""
        resolution = resolve(conversation_id, self._settings_now())
        if isinstance(resolution, ReadsNothing) and resolution.why.code is WhyCode.MALFORMED_ID:
            params = {"id": repr(conversation_id.umo)[:200]}
            self._notices.clear(NoticeCode.REFUSED_ID)  # the latest stands, and each is said
            self._notices.post(
                Notice(NoticeCode.REFUSED_ID, params=params, severity=Severity.ERROR)
            )
        return resolution

    def derived_scopes(self, conversation_id: ConversationId) -> frozenset[Scope]:
        """Every private scope that some policy derives for a conversation, whatever holds now."""
        return derived_scopes(conversation_id, self._settings_now())

    async def meet(
        self, conversation_id: ConversationId, actor: Actor, resolution: Resolution
    ) -> FirstContact:
        """Note that a message came from a conversation whose scope resolved to ``resolution``."""
        if isinstance(resolution, ReadsNothing):
            return FirstContact(resolution, first=False)
        umo, map_key, why = conversation_id.umo, conversation_id.map_key, resolution.why
        # Of a group that the platform splits by member, the group's: it is what an owner maps.
        first = map_key not in self._met
        self._met.add(map_key)
        if why.code in _MEANT_BY_A_KEY:
            self._tell_meant(why.key, why.value, map_key)
        decided = {why.key} if why.code in _BY_A_KEY else set()
        for key in {umo, map_key, *decided} - self._seen:
            self._seen.add(key)
            self._notices.clear(NoticeCode.MAP_ODD_KEY, key)
            await self._keep(self._state.mark_seen, key)
        private = conversation_id.kind is ConversationKind.PRIVATE
        public = isinstance(resolution, Usable) and resolution.scope.is_public
        shares = private and public and why.code is WhyCode.DM_POLICY
        if actor.admin and actor.person in self._strangers:
            self._strangers.discard(actor.person)
            self._report_strangers()
            await self._keep(self._state.drop_public_peer, actor.person)
        elif shares and not actor.admin and actor.person not in {"", *self._strangers}:
            self._strangers.add(actor.person)
            self._report_strangers()
            await self._keep(self._state.add_public_peer, actor.person)
        return FirstContact(resolution, first)

    @staticmethod
    async def _keep[T](write: Callable[[T], None], value: T) -> None:
        """What is not kept is met again after the next start: no reason to fail a turn."""
        try:
            await asyncio.to_thread(write, value)
        except StateUnavailable as error:
            logger.warning("state_not_written", error=error)

    @property
    def strangers_in_public(self) -> bool:
        """True once anybody but an admin wrote privately while the chat fell to public, and still
        would."""
        return bool(self._strangers)

    def _report_strangers(self) -> None:
        if self._strangers:
            self._notices.post(Notice(NoticeCode.STRANGERS_IN_PUBLIC))
        else:
            self._notices.clear(NoticeCode.STRANGERS_IN_PUBLIC)

    def _who_shares_public(self) -> set[str]:
        """Who wrote privately and fell to public, and would again by an account of now. Blocks."""
        accounts = dict[str, set[str]]()
        for one in self._seen:
            if is_private_chat(one) and is_conversation_key(one):
                seen = ConversationId.parse(one)
                accounts.setdefault(seen.peer or "", set()).add(seen.account)
        return {
            person
            for person in self._state.public_peers()
            if any(map(self._publishes, accounts.get(person.partition(":")[2], {""})))
        }

    def _publishes(self, account: str) -> bool:
        """True if unmapped private chats of a bot account fall to public. An empty account is one
        that cannot be told: then it may be any."""
        policies = [self._scopes.dm_policy(account)]
        if not account:
            policies += (self._scopes.dm_scope_by_account or {}).values()
        return DmScope.PUBLIC in policies

    async def bring(self, scope: Scope) -> None:
        """Note a scope that the owner has brought from elsewhere: for want of a key it is not
        taken for one that lost its map."""
        await self._keep(partial(self._state.know_scopes, brought=True), [scope.name])

    def sharing(self, scope: Scope) -> int:
        """How many keys of the map give this scope."""
        return len(self._keys_of(scope))

    def _keys_of(self, scope: Scope) -> list[str]:
        return [key for key, value in self._entries.items() if value == scope]

    def no_confidence(self, scope: Scope) -> Refused | None:
        """Why what is said in confidence is not stored in a scope: others read it. None where that
        is one private chat's alone."""
        if scope.is_public:
            return Refused(Reason.CONFIDENCE)
        keys = self._keys_of(scope)
        if len(keys) > 1:
            return Refused(Reason.CONFIDENCE_SHARED, detail=scope.name)
        private = is_private_chat(keys[0]) if keys else not scope.name.startswith("group-")
        alone = private and scope != ALL_PRIVATE_CHATS
        return None if alone else Refused(Reason.CONFIDENCE_HERE)

    def mapped(self) -> frozenset[str]:
        """The names of the scopes that the map gives to conversations."""
        values = self._entries.values()
        return frozenset(value.name for value in values if isinstance(value, Scope))

    def owns_alone(self, conversation_id: ConversationId, scope: Scope) -> bool:
        """True if a private chat is the only conversation with this scope."""
        shared = scope.is_public or scope == ALL_PRIVATE_CHATS
        if conversation_id.kind is not ConversationKind.PRIVATE or shared:
            return False
        return self._keys_of(scope) in ([], [conversation_id.umo])

    def same_person(self, one: str, other: str) -> bool:
        """True if two person ids are the same, or linked to the same person."""
        links = self._settings.identity_links
        return bool(one) and links.get(one, one) == links.get(other, other)

    def shelves_of(self, conversation: str, person: str) -> tuple[Place, ...]:
        """Where a private chat's person reads what the bot learned from them alone; none in a
        group, for any speaker."""
        if not is_private_chat(conversation):
            return ()
        owners = self.ids_of(person) | {conversation}
        return tuple(Place.of_person(owner) for owner in sorted(owners))

    def ids_of(self, person: str) -> frozenset[str]:
        """All ids of a person, given one of them; none for an empty one."""
        return ids_of(person, self._settings.identity_links)

    def _unknown_policies(self) -> Iterator[str]:
        """The settings whose value is no policy."""
        scopes = self._scopes
        if scopes.dm_scope is None:
            yield "dm_scope"
        if scopes.group_scope is None:
            yield "group_scope"
        if scopes.dm_scope_by_account is None:
            yield BY_ACCOUNT
        else:
            accounts = scopes.dm_scope_by_account.items()
            yield from (f"{BY_ACCOUNT} {name}" for name, policy in accounts if policy is None)

    def summary(self) -> MapSummary:
        """What the map says, for the log at start-up."""
        by_scope: dict[str, tuple[str, ...]] = {}
        for key, value in self._entries.items():
            if isinstance(value, Scope):
                by_scope[value.name] = (*by_scope.get(value.name, ()), key)
        ignored = len(self._entries) - sum(map(len, by_scope.values()))
        return MapSummary(by_scope, ignored, held=len(self._health.held))
