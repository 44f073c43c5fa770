"""The owner's map beside what the maps before it said, the scopes that have a folder, and the bot
accounts that exist: what it has lost, and what its owner is told of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Final

from ...models.scope import Scope
from ...models.settings import IllegalName, MapPast, ScopeMap
from ...models.status import Notice, NoticeCode
from .scope_map import account_of, is_conversation_key, without_account

OF_THE_MAP: Final = frozenset(
    {
        NoticeCode.MAP_WRONG_TYPE,
        NoticeCode.MAP_ILLEGAL_NAME,
        NoticeCode.MAP_ODD_KEY,
        NoticeCode.MAP_DAMAGED,
        NoticeCode.MAP_UNKNOWN,
        NoticeCode.MAP_ACCOUNTS_GONE,
    }
)


def judge_map(
    scope_map: ScopeMap,
    past: MapPast,
    folders: Set[str],
    met: Set[str],
    accounts: Set[str] | None,
) -> tuple[ScopeMap, MapPast]:
    """The map with what is held of it, and the past for the next comparison.

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
    now = private_scopes(scope_map)
    there = set(map(without_account, now))
    losable, lost = past.keys, past.lost
    if now:
        losable, lost = losable & met, lost & met
    if _any_in(there, lost):
        lost = frozenset()
    elif not _any_in(there, past.keys):
        lost |= losable
    held = lost.difference(scope_map.entries)
    scopes, released = past.scopes | {*now.values()}, past.released.difference(accounts or ())
    private = {key for key in now.keys() | held if is_conversation_key(key)}
    private = {key for key in private if account_of(key) not in released}
    illegal = {key for key, one in scope_map.entries.items() if isinstance(one, IllegalName)}
    gone = frozenset(
        key
        for key in private | illegal
        if is_conversation_key(key)
        and accounts is not None
        and account_of(key) not in accounts | released
    )
    judged = replace(
        scope_map,
        held=held,
        gone=gone,
        all_gone=bool(private) and private <= gone,
        unnamed=frozenset(folders - scopes),
    )
    return judged, MapPast(frozenset(now) or past.keys, lost, scopes, released)


def confirmed(scope_map: ScopeMap, past: MapPast) -> MapPast:
    """The past once an admin has said that the map is meant as it is."""
    return MapPast(
        frozenset(private_scopes(scope_map)),
        frozenset(),
        past.scopes | scope_map.unnamed,
        past.released.union(map(account_of, scope_map.gone)),
    )


def private_scopes(scope_map: ScopeMap) -> dict[str, str]:
    """The keys that map to a private scope, with its name."""
    entries = scope_map.entries.items()
    return {key: one.name for key, one in entries if isinstance(one, Scope) and not one.is_public}


def _any_in(there: Collection[str], keys: Iterable[str]) -> bool:
    """True if one of the keys stands there, on whatever account."""
    return any(without_account(key) in there for key in keys)


def map_notices(
    scope_map: ScopeMap,
    met: Set[str],
    meant: Mapping[str, str],
    accounts: Collection[str] | None,
) -> Iterator[Notice]:
    """All that is wrong with the map now.

    Args:
        met: Keys that a conversation has had: such a key is none to look at.
        meant: For keys that match no conversation one that has spoken and that they seem to mean.
    """
    for key, value in scope_map.entries.items():
        if isinstance(value, IllegalName):
            params = {"key": key, "value": value.value, "fault": str(value.fault)}
            yield Notice(NoticeCode.MAP_ILLEGAL_NAME, key, params)
    here = set(map(without_account, scope_map.entries.keys() - scope_map.gone))
    gone = set() if scope_map.all_gone else scope_map.gone
    elsewhere = {key for key in gone if without_account(key) not in here}
    for key in (scope_map.unreadable - met) | elsewhere:
        fault, near = "unreadable" if key in scope_map.unreadable else "account", meant.get(key, "")
        if near not in scope_map.entries:  # else the conversation has a key of its own by now
            odd = "meant" if near else fault
            params = {"key": key, "value": scope_map.written(key), "odd": odd, "meant": near}
            yield Notice(NoticeCode.MAP_ODD_KEY, key, params)
    if scope_map.held:
        yield _error(NoticeCode.MAP_DAMAGED, count=str(len(scope_map.held)))
    if scope_map.all_gone:
        lost, present = _list(map(account_of, scope_map.gone)), _list(accounts or ())
        yield _error(NoticeCode.MAP_ACCOUNTS_GONE, accounts=lost, present=present)
    if scope_map.unnamed:
        yield _error(NoticeCode.MAP_UNKNOWN, scopes=_list(scope_map.unnamed))


def _error(code: NoticeCode, **params: str) -> Notice:
    return Notice(code, params=params, error=True)


def _list(names: Iterable[str]) -> str:
    return "、".join(sorted(set(names)))
