"""Which scopes a policy derived for a conversation before its settings were changed, and what
still stands there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterator
from dataclasses import replace

from ..catalogue.catalogue import Catalogue
from ..errors import EngineClosed, InvalidConversationId, StateUnavailable
from ..log import logger
from ..models.conversation import ConversationId, ConversationKind
from ..models.data_models import StoredMemory
from ..models.passages import is_private_chat
from ..models.resolution import DerivedScope, Remainder, Resolution
from ..models.scope import PUBLIC, Scope, ScopeFilter
from ..reflection.turn_store import SqliteTurnStore
from ..scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ..scopes.scope_book import ScopeBook
from ..storage.state_store import SqliteStateStore

_AT_ONCE = 50
"""Conversations that are looked at before the bot has its turn."""
_BY_POLICY = ("dm_policy", "group_policy", "unknown_kind")


class FormerScopes:
    """A conversation is told of what was derived for it, and a private chat of what was said there
    while it was public: never of a scope that the map names, and of one that others have or had
    only of its own words there."""

    def __init__(
        self, state: SqliteStateStore, book: ScopeBook, catalogue: Catalogue, turns: SqliteTurnStore
    ) -> None:
        self._state = state
        self.book = book
        self._catalogue = catalogue
        self._turns = turns
        self._noted: set[DerivedScope] = set()
        self._owners: dict[str, dict[str, ConversationId]] = {}
        self._names: dict[str, set[str]] = {}

    def open(self) -> None:
        """Read what the state knows. Blocks; the scope book is open. A state that cannot be read
        tells of nothing."""
        with contextlib.suppress(StateUnavailable):
            for record in self._state.derived_scopes():
                self._take(record)

    def _take(self, record: DerivedScope) -> None:
        try:
            owner = record.conversation_id
        except InvalidConversationId:
            return
        self._noted.add(record)
        self._owners.setdefault(record.scope, {})[record.conversation] = owner
        self._names.setdefault(record.conversation, set()).add(record.scope)

    async def note(self, conversation_id: ConversationId, resolution: Resolution) -> None:
        """A message came: keep which scope was derived for its conversation, and which earlier ones
        still hold memories."""
        held = self._catalogue.counts()
        scopes = {s for s in self.book.derived_scopes(conversation_id) if s.name in held}
        if own := _derived(resolution):
            scopes.add(own)
        records = {DerivedScope.of(conversation_id, scope) for scope in scopes} - self._noted
        if not records:
            return
        for record in records:
            self._take(record)
        try:
            await asyncio.to_thread(self._state.note_derived_scopes, records)
        except StateUnavailable as error:
            logger.warning("state_not_written", error=error)

    def of(self, conversation_id: ConversationId) -> list[Remainder]:
        """What belongs to a conversation and may stand in a former scope of its own; in the public
        one, if it is a private chat that has a scope to itself now."""
        noted = map(as_derived, self._names.get(conversation_id.map_key, ()))
        scopes = {scope for scope in noted if scope is not None}
        if self.has_its_own(conversation_id):
            scopes.add(PUBLIC)
        return self._among(scopes | self.book.derived_scopes(conversation_id), conversation_id)

    def has_its_own(self, conversation_id: ConversationId) -> bool:
        """True for a private chat that is the only conversation with its scope."""
        now = self.book.resolve(conversation_id)
        return now.scope is not None and self.book.owns_alone(conversation_id, now.scope)

    async def everywhere(self) -> list[Remainder]:
        """The same of all conversations that are noted, for admins: looked at a few at once."""
        held = self._catalogue.counts().keys() | await self._queued()
        noted = [(one, as_derived(one), self._owners[one]) for one in self._owners.keys() & held]
        asked = [(scope, owner) for _, scope, owners in noted if scope for owner in owners.values()]
        found: dict[Remainder, None] = {}
        for number, (scope, owner) in enumerate(asked):
            found |= dict.fromkeys(self._among({scope}, owner))
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        return list(found)

    def mapped(self) -> frozenset[str]:
        """The names of the scopes that the map gives to conversations."""
        return self.book.mapped()

    def private_scope(self, conversation_id: ConversationId) -> Scope | None:
        """The scope that a conversation has, unless everybody sees it."""
        now = self.book.resolve(conversation_id)
        return None if now.scope == PUBLIC else now.scope

    async def _queued(self) -> frozenset[str]:
        """The scopes of queued turns. A queue that cannot be read holds nothing."""
        try:
            return await asyncio.to_thread(self._turns.scopes)
        except (StateUnavailable, EngineClosed):
            return frozenset()

    def _among(
        self, scopes: set[Scope] | frozenset[Scope], owner: ConversationId
    ) -> list[Remainder]:
        now = self.book.resolve(owner)
        if now.scope is None:
            return []
        own = _derived(now) not in (None, ALL_PRIVATE_CHATS)
        former = sorted(scopes - {now.scope}, key=str)
        return [self._remainder(scope, now.scope, owner, own=own) for scope in former]

    def _remainder(
        self, source: Scope, target: Scope, conversation_id: ConversationId, *, own: bool
    ) -> Remainder:
        """``own``: the target was derived for it, and for no other."""
        here = frozenset({conversation_id.umo, conversation_id.map_key})
        shared = not (own or self.book.owns_alone(conversation_id, target))
        others = self._others(source, target, here)
        whole = others is not None and (
            conversation_id.kind is not ConversationKind.PRIVATE
            or not self._told_privately(source, here | others)
        )
        theirs = others if whole and others is not None else frozenset[str]()
        return Remainder(source, target, here | theirs, whole, shared)

    def _others(self, source: Scope, target: Scope, here: frozenset[str]) -> frozenset[str] | None:
        """The other conversations that had the scope, where all of them have the same target now;
        None where some do not: then each takes along its own words only."""
        if source in (ALL_PRIVATE_CHATS, PUBLIC):
            return None
        owners = self._owners.get(source.name, {})
        others = {key: owner for key, owner in owners.items() if key not in here}
        for owner in others.values():
            if self.book.resolve(owner).scope != target:
                return None
        return frozenset(others)

    def _told_privately(self, source: Scope, ours: frozenset[str]) -> bool:
        """True if the scope holds words of a private chat that is not one of ours."""
        said = {one.memory.provenance.conversation for one in self._all_in(source)} - ours
        return any(map(is_private_chat, said))

    def _all_in(self, scope: Scope) -> Iterator[StoredMemory]:
        return self._catalogue.visible(ScopeFilter((scope,)))

    def memories(self, remainder: Remainder) -> list[StoredMemory]:
        """Returns the memories that belong to it now."""
        return [
            stored
            for stored in self._all_in(remainder.source)
            if remainder.whole or stored.memory.provenance.conversation in remainder.conversations
        ]

    async def count(self, remainders: Collection[Remainder]) -> list[Remainder]:
        """Returns the number of memories and turns of each remainder that holds some."""
        queued = await self._queued() if remainders else frozenset[str]()
        found = []
        for number, one in enumerate(remainders):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
            source, memories, turns = one.source.name, len(self.memories(one)), 0
            if source in queued:
                with contextlib.suppress(StateUnavailable, EngineClosed):
                    ask = self._turns.tickets
                    turns = len(await asyncio.to_thread(ask, source, one.conversations))
            if memories or turns:
                found.append(replace(one, memories=memories, turns=turns))
        return found


def _derived(resolution: Resolution) -> Scope | None:
    """The private scope that a policy derived for the conversation."""
    by_policy = resolution.code in _BY_POLICY and resolution.scope != PUBLIC
    return resolution.scope if by_policy else None
