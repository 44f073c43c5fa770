"""The owner's map beside what the maps before it said, the scopes that have a folder, and the bot
accounts that exist: what it has lost, and which of its keys reach no conversation. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...models.conversation import ConversationId
from ...models.resolution import WhyCode
from ...models.scope import Scope
from ...models.settings import IllegalName, MapPast, ScopeMap
from .scope_map import (
    account_of,
    chat_of,
    is_conversation_key,
    is_unreadable,
    named_in,
    without_account,
    written,
)


def private_keys(scope_map: ScopeMap) -> frozenset[str]:
    """The keys that map to a private scope."""
    entries = scope_map.entries.items()
    return frozenset(key for key, one in entries if isinstance(one, Scope) and not one.is_public)


@dataclass(frozen=True, slots=True)
class MapHealth:
    """What is held until an admin says that the map is meant as it is.

    Attributes:
        past: For the next comparison.
        held: Keys that went all at once: their conversations read public only.
        unnamed: Scopes that have a folder and that no map of this installation has named.
        gone: Keys of bot accounts that do not exist.
        withheld: Why a conversation that would fall to public reads public only, None for no
            reason.
    """

    past: MapPast
    held: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    withheld: WhyCode | None = None

    @property
    def damaged(self) -> bool:
        """True while an admin has something to say."""
        return bool(self.held) or self.withheld is not None

    @property
    def lost_accounts(self) -> frozenset[str]:
        """The bot accounts that are gone."""
        return frozenset(map(account_of, self.gone))

    def confirmed(self, scope_map: ScopeMap) -> MapPast:
        """The past once an admin has said so."""
        past = self.past
        return MapPast(
            private_keys(scope_map),
            frozenset(),
            past.scopes | self.unnamed,
            past.released | self.lost_accounts,
        )


def judge_map(
    scope_map: ScopeMap,
    past: MapPast,
    folders: Collection[str],
    met: Collection[str],
    accounts: Collection[str] | None,
) -> MapHealth:
    """Whether the map lost by accident what it had.

    To lose single keys is a decision, to lose all of them looks like an accident (a wrong type
    resets a map to nothing): they are held until one of them is back. So is everything that would
    fall to public, where all private conversations are on accounts that are gone (one was renamed),
    or a scope has a folder that no map has named (it came without its map).

    Args:
        folders: The mappable ones.
        met: Keys that a conversation has had. Another one was a typo, and its loss is none, where
            the map names private conversations now: its owner has mended it.
        accounts: The bot accounts that exist now, None where they are unknown: then none is gone.
    """
    now = private_keys(scope_map)
    there = set(map(without_account, now))
    losable, lost = past.keys, past.lost
    if now:
        losable, lost = losable.intersection(met), lost.intersection(met)
    if _any_in(there, lost):
        lost = frozenset()
    elif not _any_in(there, past.keys):
        lost |= losable
    named = {scope_map.entries[key] for key in now}
    scopes = past.scopes | {scope.name for scope in named if isinstance(scope, Scope)}
    released = past.released.difference(accounts or ())
    held = lost.difference(scope_map.entries)
    unnamed = frozenset(folders) - scopes
    private = {key for key in now | held if is_conversation_key(key)}
    private = {key for key in private if account_of(key) not in released}
    illegal = {key for key, one in scope_map.entries.items() if isinstance(one, IllegalName)}
    gone = {
        key
        for key in private | illegal
        if is_gone(key, accounts) and account_of(key) not in released
    }
    withheld = WhyCode.MAP_UNKNOWN if unnamed else None
    if private and private <= gone:
        withheld = WhyCode.ACCOUNTS_GONE
    kept = MapPast(now or past.keys, lost, scopes, released)
    return MapHealth(kept, held, unnamed, frozenset(gone), withheld)


def _any_in(there: Collection[str], keys: Iterable[str]) -> bool:
    """True if one of the keys stands there, on whatever account."""
    return any(without_account(key) in there for key in keys)


def is_gone(key: str, accounts: Collection[str] | None) -> bool:
    """True for the key of a conversation on a bot account that is not one of ``accounts``. False
    where those are not known: None."""
    return accounts is not None and is_conversation_key(key) and account_of(key) not in accounts


class KeyFault(StrEnum):
    """What is odd about a key."""

    UNREADABLE = "unreadable"
    """It is no conversation id."""
    ACCOUNT = "account"
    """It names a bot account that does not exist now."""
    MEANT = "meant"
    """It matches no conversation, and seems to mean one that has spoken."""


@dataclass(frozen=True, slots=True)
class OddKey:
    """An entry that its owner should look at: its key matches no conversation. ``meant`` is the one
    that it seems to mean, empty for none."""

    key: str
    value: str
    fault: KeyFault
    meant: str = ""


def odd_keys(
    scope_map: ScopeMap, met: Collection[str], nearest: Mapping[str, Collection[str]]
) -> list[OddKey]:
    """Keys that can match no conversation: no id at all, or one of a bot account that is gone. One
    whose conversation has an entry of its own does no harm, and one that is merely unmet is a
    conversation that has not spoken yet.

    Args:
        nearest: See ``nearest_ids``.
    """
    found = []
    for key in (scope_map.unreadable | scope_map.gone).difference(met):
        meant = nearest.get(key, ())
        left = min((one for one in meant if one not in scope_map.entries), default="")
        if left or not meant:
            fault = KeyFault.UNREADABLE if key in scope_map.unreadable else KeyFault.ACCOUNT
            value = written(key, scope_map)
            found.append(OddKey(key, value, KeyFault.MEANT if left else fault, left))
    return found


def nearest_ids(
    keys: Collection[str], met: Iterable[str], accounts: Collection[str] | None
) -> dict[str, set[str]]:
    """The conversations that keys seem to mean which can match none themselves: those of the same
    name on another account, or whose number stands in what is no id. One pass over ``met``."""
    by_id, by_name = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for one in met if keys else ():
        if is_conversation_key(one) and not is_gone(one, accounts):
            by_name[without_account(one)].add(one)
            for own in _ids_in(one):
                by_id[own].add(one)
    return {
        key: set().union(*(by_id.get(part, ()) for part in _parts(named_in(key))))
        if is_unreadable(key)
        else by_name.get(without_account(key), set())
        for key in keys
    }


def _ids_in(key: str) -> set[str]:
    parsed = ConversationId.parse(key)
    ids = (parsed.session, chat_of(parsed.session), parsed.peer or "")
    return {one.lstrip("-") for one in ids} - {""}


def _parts(text: str) -> set[str]:
    """What may stand as an id in it."""
    return {text, text.lstrip("-"), *re.findall("[0-9]+", text), *re.findall("[0-9A-Za-z]+", text)}
