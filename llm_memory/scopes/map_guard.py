"""The owner's map over time: what is missing in it, and what is held until an admin says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..models.resolution import Rebinding, Why, WhyCode
from ..models.settings import EngineSettings, IllegalName, ScopeMap
from ..models.status import Notice, NoticeCode, Severity
from ..runtime.notice_board import NoticeBoard
from ..storage.state_store import SqliteStateStore
from .rules.scope_map import (
    ALL_FOLDERS,
    KeyFault,
    LostAccounts,
    OddKey,
    judge_map,
    lost_accounts,
    mappable,
    named_scopes,
    odd_keys,
    private_keys,
    read_scope_map,
)

Accounts = Callable[[], frozenset[str] | None]
"""The bot accounts that exist now, None where the bot framework does not tell."""
_IN_CHAT = "mapped_in_chat:"
"""Begins a mark in the state: this key was set in chat, and no panel has shown it since."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """A map that was read and compared with the state.

    ``written_over``: keys set in chat that a map saved in the panel lacks. Its page was opened
    before, or they are not wanted any more: which is unknown, so they are on hold.
    """

    scope_map: ScopeMap
    seen: frozenset[str]
    present: frozenset[str] | None
    released: frozenset[str]
    unnamed: frozenset[str]
    written_over: frozenset[str]


class MapGuard:
    """Reads the map and compares it with what the state remembers, with the scopes that have a
    folder, and with the bot accounts. Call ``open`` (it blocks) before anything else."""

    def __init__(
        self,
        settings: EngineSettings,
        state: SqliteStateStore,
        notices: NoticeBoard,
        accounts: Accounts,
    ) -> None:
        self._state = state
        self._notices = notices
        self._accounts = accounts
        self._present: frozenset[str] | None = None
        self._released: frozenset[str] = frozenset()
        self._unnamed: frozenset[str] = frozenset()
        self._odd: frozenset[str] = frozenset()
        self._meant: set[tuple[str, str]] = set()
        self._lost = LostAccounts()
        self._map = ScopeMap()
        self._written_over: frozenset[str] = frozenset()
        self._rebound: tuple[Rebinding, ...] = ()
        self._told: tuple[Rebinding, ...] = ()
        self._raw = settings.scope_map
        self.seen: frozenset[str] = frozenset()
        """Conversations that a message came from, and keys of the map that one of them had."""

    def open(self, folders: Collection[str]) -> None:
        """Read the map. ``folders`` are the scopes that stand on disk.

        Scopes that have a folder but no key may have lost their map, if this installation has
        never known a key of theirs: a copied folder. Where it has, the owner took the key out.
        """
        self._rebound = self._state.rebindings()
        self._take(self._look(self._raw or {}, folders))

    async def change(
        self, raw: Mapping[str, object], keys: Collection[str], folders: Collection[str]
    ) -> None:
        """Read a map in which an admin has set or dropped ``keys`` in chat: that they are there, or
        are not, is meant."""
        looked = await asyncio.to_thread(self._look, raw, folders, frozenset(keys))
        self._raw = raw
        self._take(looked)

    def _look(
        self,
        raw: Mapping[str, object],
        folders: Collection[str],
        in_chat: frozenset[str] = frozenset(),
    ) -> _Looked:
        """Compare and note. Blocks; changes nothing of the guard's own."""
        state = self._state
        seen = self.seen | state.seen_conversations()
        scope_map = read_scope_map(raw, folders)
        present = self._accounts()
        remembered, lost = state.remembered_map_keys(), state.lost_map_keys()
        written_over = self._compare_marks(scope_map, remembered | lost, in_chat)
        health = judge_map(
            remembered - in_chat - written_over,
            lost - in_chat - written_over,
            scope_map,
            met=seen,
            accounts=present,
        )
        state.remember_map_keys(health.remembered, lost=health.lost | written_over)
        standing, named = mappable(folders), named_scopes(scope_map)
        before = state.known_scopes()
        known = before | named | (standing if ALL_FOLDERS in before else frozenset())
        if known != before:
            state.know_scopes(known - before)
        noted = state.accounts_released()
        released = noted - (present or frozenset())
        if released != noted:  # one is back: to lose it again would be another loss
            state.release_accounts(released)
        scope_map = replace(scope_map, held=health.held | written_over)
        unnamed = standing - known
        return _Looked(scope_map, seen, present, released, unnamed, written_over)

    def _compare_marks(
        self, scope_map: ScopeMap, former: Collection[str], in_chat: frozenset[str]
    ) -> frozenset[str]:
        """Mark what was set in chat just now, and find what was before and is gone."""
        private = private_keys(scope_map)
        for key in in_chat:
            self._state.set_mark(f"{_IN_CHAT}{key}", there=key in private)
        marked = {key for key in former if self._state.has_mark(f"{_IN_CHAT}{key}")} - in_chat
        for key in marked.intersection(scope_map.entries):
            if not in_chat:  # the panel has shown it, or it would not be there
                self._state.set_mark(f"{_IN_CHAT}{key}", there=False)
        return frozenset(marked.difference(scope_map.entries))

    def _take(self, looked: _Looked) -> None:
        for code in (
            NoticeCode.MAP_WRONG_TYPE,
            NoticeCode.MAP_ILLEGAL_NAME,
            NoticeCode.MAP_DAMAGED,
            NoticeCode.MAP_WRITTEN_OVER,
        ):
            self._notices.clear(code)
        self.seen |= looked.seen
        self._present, self._released = looked.present, looked.released
        self._unnamed = looked.unnamed
        self._written_over = looked.written_over
        self._map = looked.scope_map
        self._report_entries()
        self._weigh()

    @property
    def accounts(self) -> frozenset[str] | None:
        """The bot accounts that exist now, None where they are unknown."""
        return self._accounts()

    @property
    def rebound(self) -> tuple[Rebinding, ...]:
        """The names that were replaced by others, in the order in which that was done."""
        return self._rebound

    async def rebind(self, rebindings: Sequence[Rebinding]) -> None:
        """Go by these names from now on. Raises StateUnavailable, and then by the former ones."""
        await asyncio.to_thread(self._state.put_rebindings, rebindings)
        self._rebound = tuple(rebindings)
        self._weigh()

    def tell(self, *told: Rebinding) -> None:
        """Beside them, go by these until the next start, in the place of those told before."""
        self._told = told
        self._weigh()

    @property
    def scope_map(self) -> ScopeMap:
        """The map as it is to be read now: bot accounts come and go while the bot runs."""
        present = self._accounts()
        if present != self._present:
            self._present = present
            self._weigh()
        return self._map

    @property
    def held(self) -> frozenset[str]:
        """The keys that a damaged map lost."""
        return self._map.held

    @property
    def damaged(self) -> bool:
        """True while anything is held back until an admin confirms the map."""
        return bool(self._map.held) or self._map.withheld is not None

    async def confirm(self) -> int:
        """An admin says that the map is meant as it is: how many keys it was held back for."""
        freed = self._map.held | self._lost.keys
        unnamed, released = self._unnamed, self._released | self._lost.names
        await asyncio.to_thread(self._keep_confirmed, unnamed, released)
        self._unnamed, self._released = frozenset(), released
        self._map = replace(self._map, held=frozenset())
        self._written_over = frozenset()
        self._notices.clear(NoticeCode.MAP_DAMAGED)
        self._notices.clear(NoticeCode.MAP_WRITTEN_OVER)
        self._weigh()
        return len(freed)

    def _keep_confirmed(self, known: frozenset[str], released: frozenset[str]) -> None:
        for key in self._written_over:
            self._state.set_mark(f"{_IN_CHAT}{key}", there=False)
        self._state.remember_map_keys(private_keys(self._map), lost=())
        self._state.know_scopes(known)
        self._state.release_accounts(released)

    def see(self, key: str) -> None:
        """A message came from this conversation, or from one that this key of the map decided."""
        self.seen |= {key}
        self._notices.clear(NoticeCode.MAP_ODD_KEY, key)

    def tell_meant(self, why: Why, conversation: str) -> None:
        """A conversation has spoken that a key seems to mean which matches none. Said once."""
        if (why.key, conversation) not in self._meant:
            self._meant.add((why.key, conversation))
            self._odd |= {why.key}
            self._notices.clear(NoticeCode.MAP_ODD_KEY, why.key)
            self._post_odd(OddKey(why.key, why.value, KeyFault.MEANT, conversation))

    def _weigh(self) -> None:
        """Compare the map with the bot accounts, and say what has changed."""
        self._released -= self._present or frozenset()
        lost = lost_accounts(self._map, self._present, self._released)
        withheld = None
        if lost.all_private:
            withheld = WhyCode.ACCOUNTS_GONE
        elif self._unnamed:
            withheld = WhyCode.MAP_UNKNOWN
        self._lost = lost
        self._map = replace(
            self._map,
            gone=lost.keys,
            withheld=withheld,
            rebound=(*self._rebound, *self._told),
        )
        self._report_accounts()
        self._report_unnamed()

    def _report_entries(self) -> None:
        post = self._notices.post
        if self._raw is None:
            post(Notice(NoticeCode.MAP_WRONG_TYPE))
        for key, value in self._map.entries.items():
            if isinstance(value, IllegalName):
                params = {"key": key, "value": value.value, "fault": str(value.fault)}
                post(Notice(NoticeCode.MAP_ILLEGAL_NAME, key, params))
        if over := self._written_over:
            params = {"keys": "、".join(sorted(over))}
            post(Notice(NoticeCode.MAP_WRITTEN_OVER, params=params, severity=Severity.ERROR))
        if held := self._map.held - self._written_over:
            params = {"count": str(len(held))}
            post(Notice(NoticeCode.MAP_DAMAGED, params=params, severity=Severity.ERROR))

    def _report_accounts(self) -> None:
        told_below = self._lost.keys if self._lost.all_private else frozenset()
        odd = {
            fault.key: fault
            for fault in odd_keys(self._map, self.seen, self._present)
            if fault.key not in told_below
        }
        for key in self._odd - odd.keys():
            self._notices.clear(NoticeCode.MAP_ODD_KEY, key)
        self._meant = {pair for pair in self._meant if pair[0] in odd}
        for fault in odd.values():
            self._post_odd(fault)
        self._odd = frozenset(odd)
        if not self._lost.all_private:
            self._notices.clear(NoticeCode.MAP_ACCOUNTS_GONE)
            return
        present = self._present or frozenset()
        params = {
            "accounts": "、".join(sorted(self._lost.names)),
            "present": "、".join(sorted(present)),
        }
        self._notices.post(
            Notice(NoticeCode.MAP_ACCOUNTS_GONE, params=params, severity=Severity.ERROR)
        )

    def _report_unnamed(self) -> None:
        if not self._unnamed:
            self._notices.clear(NoticeCode.MAP_UNKNOWN)
            return
        params = {"scopes": "、".join(sorted(self._unnamed))}
        self._notices.post(Notice(NoticeCode.MAP_UNKNOWN, params=params, severity=Severity.ERROR))

    def _post_odd(self, odd: OddKey) -> None:
        params = {"key": odd.key, "value": odd.value, "odd": str(odd.fault), "meant": odd.meant}
        self._notices.post(Notice(NoticeCode.MAP_ODD_KEY, odd.key, params))
