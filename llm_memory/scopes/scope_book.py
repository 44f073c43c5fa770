"""What the owner said about scopes, and what has been seen of conversations so far."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..errors import InvalidConversationId, StateUnavailable
from ..log import logger
from ..models.consent import is_private_chat
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import Reason, Refused
from ..models.resolution import ReadsNothing, Rebinding, Resolution, Usable, WhyCode
from ..models.scope import Place, Scope
from ..models.settings import BY_ACCOUNT, DmScope, EngineSettings, ScopeSettings
from ..models.status import MapSummary, Notice, NoticeCode, Severity
from ..runtime.notice_board import NoticeBoard
from ..storage.state_store import SqliteStateStore
from .map_guard import Accounts, MapGuard
from .rules.scope_resolution import ALL_PRIVATE_CHATS, derived_scopes, ids_of, resolve
from .told_once import ToldOnce


@dataclass(frozen=True, slots=True)
class FirstContact:
    """A conversation's message: its resolution, and whether it is the first since the start."""

    resolution: Resolution
    first: bool


_BY_A_KEY = frozenset(
    {
        WhyCode.MAPPED,
        WhyCode.MAPPED_PARENT,
        WhyCode.MAPPED_GROUP,
        WhyCode.MAPPED_PERSONA,
    }
)
_MEANT_BY_A_KEY = frozenset({WhyCode.ACCOUNT_GONE, WhyCode.UNREADABLE_KEY})


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
        self._guard = MapGuard(settings, state, notices, accounts)
        self._scopes = ScopeSettings(
            dm_scope=settings.dm_scope,
            group_scope=settings.group_scope,
            agent_scope=settings.agent_scope,
            identity_links=settings.identity_links,
            dm_scope_by_account=settings.dm_scope_by_account,
        )
        self._met: set[str] = set()
        self._public_peers: frozenset[str] = frozenset()
        self.told = ToldOnce(state, notices)
        self._told: tuple[Rebinding, ...] = ()

    def open(self, folders: Collection[str]) -> None:
        """Read the map and compare it with what the state remembers, and with the scopes that have
        a folder. What may have been lost is published only once an admin confirms the map."""
        self._guard.open(folders)
        self._public_peers = self._state.public_peers()
        self._report()
        self._look_at_strangers()

    async def change_map(
        self, raw: Mapping[str, object], keys: Collection[str], folders: Collection[str]
    ) -> None:
        """An admin has set or dropped these keys in chat: from now on the map is this one."""
        await self._guard.change(raw, keys, folders)

    @property
    def accounts(self) -> frozenset[str] | None:
        """The bot accounts that exist now, None where they are unknown."""
        return self._guard.accounts

    @property
    def rebound(self) -> tuple[Rebinding, ...]:
        """The names that were replaced by others, in the order in which that was done."""
        return self._guard.rebound

    async def rebind(self, rebindings: Sequence[Rebinding]) -> None:
        """Go by these names from now on. Raises StateUnavailable, and then by the former ones."""
        await self._guard.rebind(rebindings)

    def move_account_policy(self, old: str, new: str) -> None:
        """Have the policy that a bot account has of its own hold for another one."""
        policies = dict(self._scopes.dm_scope_by_account or {})
        if old in policies:
            policies[new] = policies.pop(old)
            self._scopes = replace(self._scopes, dm_scope_by_account=policies)

    def tell(self, old: str, new: str) -> None:
        """The platform says that a chat goes on under another id: that holds at once, and is lost
        with the next start unless ``rebind`` keeps it."""
        self._told = (*self._told, Rebinding(old, new))
        self._guard.tell(*self._told)

    def forget_told(self, old: str, new: str) -> None:
        """It is kept, or was no news."""
        self._told = tuple(one for one in self._told if (one.old, one.new) != (old, new))
        self._guard.tell(*self._told)

    def has_met(self, name: str) -> bool:
        """True if a message came from this conversation, or from one of this bot account."""
        return any(
            one == name or one.startswith((f"{name}:", f"{name}#")) for one in self._guard.seen
        )

    def sharing(self, scope: Scope) -> int:
        """How many keys of the map give this scope."""
        return len(self._keys_of(scope))

    def _keys_of(self, scope: Scope) -> list[str]:
        return [key for key, value in self._guard.scope_map.entries.items() if value == scope]

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
        values = self._guard.scope_map.entries.values()
        return frozenset(value.name for value in values if isinstance(value, Scope))

    def _report(self) -> None:
        post = self._notices.post
        for name in self._unknown_policies():
            post(Notice(NoticeCode.POLICY_UNKNOWN, name, {"name": name}))
        if not self._settings.scope_filter_enabled:
            post(Notice(NoticeCode.SCOPE_FILTER_OFF, severity=Severity.ERROR))

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

    async def bring(self, scope: Scope) -> None:
        """Note a scope that the owner has brought from elsewhere: for want of a key it is not
        taken for one that lost its map."""
        await self._keep(partial(self._state.know_scopes, brought=True), [scope.name])

    def _settings_now(self) -> ScopeSettings:
        scope_map = self._guard.scope_map
        if scope_map is not self._scopes.scope_map:
            self._scopes = replace(self._scopes, scope_map=scope_map)
        return self._scopes

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
        umo, map_key = conversation_id.umo, conversation_id.map_key
        # Of a group that the platform splits by member, the group's: it is what an owner maps.
        first = map_key not in self._met
        self._met.add(map_key)
        why = resolution.why
        if why.code in _MEANT_BY_A_KEY:
            self._guard.tell_meant(why, map_key)
        decided = {why.key} if why.code in _BY_A_KEY else set()
        for key in {umo, map_key, *decided} - self._guard.seen:
            self._guard.see(key)
            await self._keep(self._state.mark_seen, key)
        if actor.admin and actor.person in self._public_peers:
            self._public_peers -= {actor.person}
            if not self.strangers_in_public:
                self._notices.clear(NoticeCode.STRANGERS_IN_PUBLIC)
            await self._keep(self._state.drop_public_peer, actor.person)
        if (
            not actor.admin
            and conversation_id.kind is ConversationKind.PRIVATE
            and isinstance(resolution, Usable)
            and resolution.scope.is_public
            and resolution.why.code is WhyCode.DM_POLICY
            and actor.person
            and actor.person not in self._public_peers
        ):
            self._public_peers |= {actor.person}
            await self._keep(self._state.add_public_peer, actor.person)
            self._look_at_strangers()
        return FirstContact(resolution, first)

    @staticmethod
    async def _keep[T](write: Callable[[T], None], value: T) -> None:
        """What is not kept is met again after the next start: no reason to fail a turn."""
        try:
            await asyncio.to_thread(write, value)
        except StateUnavailable as error:
            logger.warning("state_not_written", error=error)

    def _look_at_strangers(self) -> None:
        if self.strangers_in_public:
            params = {"count": str(len(self._persons()))}
            self._notices.post(Notice(NoticeCode.STRANGERS_IN_PUBLIC, params=params))

    @property
    def strangers_in_public(self) -> bool:
        """True once anybody but an admin wrote privately while the chat fell to public, and still
        would."""
        return bool(self._public_peers) and bool(self._persons())

    def _persons(self) -> frozenset[str]:
        """Who wrote privately and fell to public, and would again by an account of now."""
        links, accounts = self._settings.identity_links, self._accounts_by_peer()
        return frozenset(
            links.get(person, person)
            for person in self._public_peers
            if any(map(self._publishes, accounts.get(person.partition(":")[2], {""})))
        )

    def _accounts_by_peer(self) -> dict[str, set[str]]:
        """The bot accounts that a person has written to privately, by that person's id."""
        found: dict[str, set[str]] = {}
        for umo in self._guard.seen:
            with contextlib.suppress(InvalidConversationId):
                seen = ConversationId.parse(umo)
                if seen.peer:
                    found.setdefault(seen.peer, set()).add(seen.account)
        return found

    def _publishes(self, account: str) -> bool:
        """True if unmapped private chats of a bot account fall to public. An empty account is one
        that cannot be told: then it may be any."""
        policies = [self._scopes.dm_policy(account)]
        if not account:
            policies += (self._scopes.dm_scope_by_account or {}).values()
        return DmScope.PUBLIC in policies

    @property
    def damaged(self) -> bool:
        """True while something is on hold that the map may have lost."""
        return self._guard.damaged

    async def confirm_map(self) -> int:
        """An admin says that the map is meant as it is: how many keys it was held back for."""
        return await self._guard.confirm()

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

    def summary(self) -> MapSummary:
        """What the map says, for the log at start-up."""
        by_scope: dict[str, list[str]] = {}
        ignored = 0
        for key, value in self._guard.scope_map.entries.items():
            if isinstance(value, Scope):
                by_scope.setdefault(value.name, []).append(key)
            else:
                ignored += 1
        kept = {name: tuple(keys) for name, keys in by_scope.items()}
        return MapSummary(kept, ignored, held=len(self._guard.held))
